#include "pickle/zip_archive.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <optional>

#include "core/text.h"

// Layout: PKWARE APPNOTE 6.3.9, sections 4.3.7 (local header), 4.3.12 (central directory), 4.3.14
// to 4.3.16 (end records), 4.5.3 (zip64 extra field).

namespace aplomb::pickle {
namespace {

constexpr std::uint64_t k_end_size = 22;
constexpr std::uint64_t k_most_comment = 65535;
constexpr std::uint64_t k_locator_size = 20;
constexpr std::uint64_t k_end64_size = 56;
constexpr std::uint64_t k_central_size = 46;
constexpr std::uint64_t k_local_size = 30;
constexpr std::uint32_t k_in_zip64 = 0xFFFFFFFF;
constexpr std::size_t k_most_entries = 4'000'000;

class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t size() const { return bytes_.size(); }
  bool holds(std::uint64_t at, std::uint64_t count) const {
    return at <= bytes_.size() && count <= bytes_.size() - at;
  }
  std::uint64_t little(std::uint64_t at, std::size_t width) const {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i) {
      value |= std::to_integer<std::uint64_t>(bytes_[at + i]) << (8U * i);
    }
    return value;
  }
  std::string text(std::uint64_t at, std::uint64_t count) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + at, count};  // NOLINT: as text
  }

 private:
  std::span<const std::byte> bytes_;
};

struct Where {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  std::uint64_t count = 0;
};

/// The end record, searched from the end: a comment may follow it.
std::optional<std::uint64_t> find_end(const Bytes& file) {
  if (file.size() < k_end_size) return std::nullopt;
  const std::uint64_t last = file.size() - k_end_size;
  const std::uint64_t first = last > k_most_comment ? last - k_most_comment : 0;
  for (std::uint64_t at = last + 1; at-- > first;) {
    if (file.little(at, 4) == 0x06054b50) return at;
  }
  return std::nullopt;
}

std::optional<Where> directory_of(const Bytes& file) {
  const auto end = find_end(file);
  if (!end) return std::nullopt;
  Where where{file.little(*end + 16, 4), file.little(*end + 12, 4), file.little(*end + 10, 2)};
  if (*end >= k_locator_size && file.little(*end - k_locator_size, 4) == 0x07064b50) {
    const std::uint64_t at = file.little(*end - k_locator_size + 8, 8);
    if (!file.holds(at, k_end64_size) || file.little(at, 4) != 0x06064b50) return std::nullopt;
    where = {file.little(at + 48, 8), file.little(at + 40, 8), file.little(at + 32, 8)};
  }
  return file.holds(where.begin, where.size) ? std::optional(where) : std::nullopt;
}

/// The zip64 extra field: only those of the three that the 32-bit fields leave open, in this order.
bool read_zip64(const Bytes& file, std::uint64_t at, std::uint64_t size, ZipEntry& entry,
                std::uint64_t& local) {
  const std::uint64_t stop = at + size;
  while (at + 4 <= stop) {
    const std::uint64_t id = file.little(at, 2);
    const std::uint64_t length = file.little(at + 2, 2);
    at += 4;
    if (length > stop - at) return false;
    if (id == 1) {
      const std::uint64_t end = at + length;
      for (std::uint64_t* field : {&entry.size, &entry.packed, &local}) {
        if (*field != k_in_zip64) continue;
        if (at + 8 > end) return false;
        *field = file.little(at, 8);
        at += 8;
      }
      return true;
    }
    at += length;
  }
  return entry.size != k_in_zip64 && entry.packed != k_in_zip64 && local != k_in_zip64;
}

class DirectoryReader {
 public:
  DirectoryReader(const Bytes& file, ZipDirectory& out) : file_(file), out_(out) {}

  void read(const Where& where) {
    std::uint64_t at = where.begin;
    const std::uint64_t stop = where.begin + where.size;
    while (at + k_central_size <= stop && file_.little(at, 4) == 0x02014b50) {
      const std::uint64_t name_size = file_.little(at + 28, 2);
      const std::uint64_t extra_size = file_.little(at + 30, 2);
      const std::uint64_t comment_size = file_.little(at + 32, 2);
      const std::uint64_t next = at + k_central_size + name_size + extra_size + comment_size;
      if (next > stop || out_.entries.size() >= k_most_entries) break;
      take(at, name_size, extra_size);
      ++seen_;
      at = next;
    }
    if (seen_ < where.count) {
      out_.findings.add("checkpoint.truncated", core::Severity::failed, at,
                        fmt::format("[zip] the directory lists {} entries, {} could be read",
                                    where.count, seen_));
    }
    check_overlaps();
  }

 private:
  void take(std::uint64_t at, std::uint64_t name_size, std::uint64_t extra_size) {
    ZipEntry entry;
    entry.name = file_.text(at + k_central_size, name_size);
    entry.crc = static_cast<std::uint32_t>(file_.little(at + 16, 4));
    entry.packed = file_.little(at + 20, 4);
    entry.size = file_.little(at + 24, 4);
    std::uint64_t local = file_.little(at + 42, 4);
    const std::uint64_t method = file_.little(at + 10, 2);
    const bool encrypted = (file_.little(at + 8, 2) & 1U) != 0;
    const std::string shown = core::shorten(core::sanitize(entry.name), 80);
    const auto bad = [&](const char* kind, const std::string& what) {
      if (out_.unread.size() < tensors::Findings::k_most) out_.unread.push_back(entry);
      out_.findings.add(kind, core::Severity::failed, at, fmt::format("[zip] {}: {}", shown, what));
    };
    if (!read_zip64(file_, at + k_central_size + name_size, extra_size, entry, local)) {
      return bad("checkpoint.bad-header", "its zip64 sizes are missing");
    }
    entry.header = local;
    entry.offset = local;
    if ((method != 0 && method != 8) || encrypted) {
      return bad("checkpoint.unsupported",
                 encrypted ? "it is encrypted" : fmt::format("compression {} is not read", method));
    }
    entry.stored = method == 0;
    if (!file_.holds(local, k_local_size) || file_.little(local, 4) != 0x04034b50) {
      return bad("checkpoint.bad-offsets", fmt::format("no local header at byte {}", local));
    }
    entry.offset = local + k_local_size + file_.little(local + 26, 2) + file_.little(local + 28, 2);
    if (!file_.holds(entry.offset, entry.packed)) {
      return bad("checkpoint.truncated", fmt::format("{} bytes at {} lie beyond the file's {}",
                                                     entry.packed, entry.offset, file_.size()));
    }
    if (entry.stored && entry.size != entry.packed) {
      return bad("checkpoint.bad-header", fmt::format("stored, but {} bytes in the file and {} of "
                                                      "content",
                                                      entry.packed, entry.size));
    }
    out_.entries.push_back(std::move(entry));
  }

  /// Entries that share bytes: a small file that claims to hold more than it does.
  void check_overlaps() {
    std::vector<const ZipEntry*> order;
    for (const ZipEntry& each : out_.entries) {
      if (each.packed > 0) order.push_back(&each);
    }
    std::sort(order.begin(), order.end(),
              [](const ZipEntry* a, const ZipEntry* b) { return a->offset < b->offset; });
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (order[i]->offset >= order[i - 1]->offset + order[i - 1]->packed) continue;
      out_.findings.add("checkpoint.overlap", core::Severity::failed, order[i]->offset,
                        fmt::format("[zip] {} begins inside {}: no writer makes such an archive",
                                    core::shorten(core::sanitize(order[i]->name), 80),
                                    core::shorten(core::sanitize(order[i - 1]->name), 80)));
    }
  }

  const Bytes& file_;
  ZipDirectory& out_;
  std::uint64_t seen_ = 0;
};

}  // namespace

bool looks_like_zip(std::span<const std::byte> bytes) {
  return bytes.size() >= 4 && Bytes(bytes).little(0, 4) == 0x04034b50;
}

core::Result<ZipDirectory> read_zip_directory(std::span<const std::byte> bytes,
                                              const std::string& path) {
  const Bytes file(bytes);
  const auto where = directory_of(file);
  if (!where) {
    return core::fail(
        core::ErrorCode::bad_format,
        fmt::format("[zip] {} has no directory at its end; the file was cut or is still "
                    "being written",
                    path));
  }
  ZipDirectory directory;
  directory.findings.of(path);
  DirectoryReader(file, directory).read(*where);
  return directory;
}

bool crc_fits(const ZipEntry& entry, std::span<const std::byte> content) {
  constexpr std::size_t k_part = 1U << 30U;  // zlib counts in 32 bits
  uLong crc = crc32(0, nullptr, 0);
  for (std::size_t at = 0; at < content.size(); at += k_part) {
    const auto part = content.subspan(at, std::min(k_part, content.size() - at));
    crc = crc32(crc, reinterpret_cast<const Bytef*>(part.data()),  // NOLINT: zlib's type
                static_cast<uInt>(part.size()));
  }
  return static_cast<std::uint32_t>(crc) == entry.crc;
}

core::Result<std::string> inflate_entry(std::span<const std::byte> bytes, const ZipEntry& entry,
                                        std::uint64_t limit) {
  const std::string shown = core::shorten(core::sanitize(entry.name), 80);
  if (entry.size > limit) {
    return core::fail(core::ErrorCode::too_large,
                      fmt::format("[zip] {} would be {} bytes, more than the {} allowed", shown,
                                  entry.size, limit));
  }
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
    return core::fail(core::ErrorCode::internal, "[zip] zlib cannot start");
  }
  const auto packed = bytes.subspan(entry.offset, entry.packed);
  std::string out;
  std::string block(256 * 1024, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));  // NOLINT: zlib
  std::uint64_t left = packed.size();
  int state = Z_OK;
  while (state == Z_OK) {
    if (stream.avail_in == 0) {
      stream.avail_in = static_cast<uInt>(std::min<std::uint64_t>(left, 1U << 30U));
      left -= stream.avail_in;
    }
    stream.next_out = reinterpret_cast<Bytef*>(block.data());  // NOLINT: zlib
    stream.avail_out = static_cast<uInt>(block.size());
    state = inflate(&stream, Z_NO_FLUSH);
    out.append(block.data(), block.size() - stream.avail_out);
    if (out.size() > entry.size) break;  // more than it claims: a bomb, or damage
  }
  inflateEnd(&stream);
  if (state != Z_STREAM_END || out.size() != entry.size) {
    return core::fail(
        core::ErrorCode::bad_format,
        fmt::format("[zip] {} claims {} bytes and gives {}{}", shown, entry.size, out.size(),
                    state == Z_STREAM_END ? "" : " or more, or is damaged"));
  }
  return out;
}

}  // namespace aplomb::pickle
