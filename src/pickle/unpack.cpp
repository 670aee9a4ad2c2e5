#include "pickle/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>

namespace aplomb::pickle {
namespace {

constexpr std::size_t k_block = 256U * 1024U;

bool is_deflated(std::string_view bytes) {
  if (bytes.starts_with("\x1f\x8b")) return true;
  return bytes.size() > 2 && bytes[0] == '\x78' &&
         (bytes[1] == '\x01' || bytes[1] == '\x5e' || bytes[1] == '\x9c' || bytes[1] == '\xda');
}

/// Zlib's own streams too, which libarchive does not know. Members one behind the other are one
/// text, as Python's gzip reads them.
bool inflate_all(std::string_view bytes, std::uint64_t most, std::string& out) {
  std::string block(k_block, '\0');
  std::size_t at = 0;
  while (at < bytes.size()) {
    z_stream stream{};
    if (inflateInit2(&stream, 15 + 32) != Z_OK) return false;  // gzip and zlib headers
    stream.next_in =
        reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + at));  // NOLINT: zlib
    const std::size_t given = std::min<std::size_t>(bytes.size() - at, 1U << 31U);
    stream.avail_in = static_cast<uInt>(given);
    int state = Z_OK;
    while (state == Z_OK && out.size() < most) {
      stream.next_out = reinterpret_cast<Bytef*>(block.data());  // NOLINT: zlib
      stream.avail_out = static_cast<uInt>(block.size());
      state = inflate(&stream, Z_NO_FLUSH);
      out.append(block.data(), block.size() - stream.avail_out);
    }
    at += given - stream.avail_in;
    inflateEnd(&stream);
    if (state != Z_STREAM_END) return false;
    // Python takes zeros behind a member for padding.
    while (at < bytes.size() && bytes[at] == '\0') ++at;
    if (at < bytes.size() && !bytes.substr(at).starts_with("\x1f\x8b")) return true;
  }
  return true;
}

struct CloseArchive {
  void operator()(archive* opened) const { archive_read_free(opened); }
};

bool read_filtered(std::string_view bytes, std::uint64_t most, std::string& out) {
  const std::unique_ptr<archive, CloseArchive> opened(archive_read_new());
  if (opened == nullptr) return false;
  // A filter that would start a program of the system answers with a warning: it is not read then.
  constexpr std::array k_filters = {
      &archive_read_support_filter_bzip2, &archive_read_support_filter_xz,
      &archive_read_support_filter_lzma, &archive_read_support_filter_zstd,
      &archive_read_support_filter_lz4};
  for (const auto& filter : k_filters) {
    if (filter(opened.get()) != ARCHIVE_OK) return false;
  }
  archive_entry* entry = nullptr;
  if (archive_read_support_format_raw(opened.get()) != ARCHIVE_OK ||
      archive_read_open_memory(opened.get(), bytes.data(), bytes.size()) != ARCHIVE_OK ||
      archive_read_next_header(opened.get(), &entry) != ARCHIVE_OK) {
    return false;
  }
  std::string block(k_block, '\0');
  while (out.size() < most) {
    const la_ssize_t got = archive_read_data(opened.get(), block.data(), block.size());
    if (got <= 0) return got == 0;
    out.append(block.data(), static_cast<std::size_t>(got));
  }
  return false;
}

}  // namespace

const char* packed_with(std::string_view bytes) {
  if (is_deflated(bytes)) return bytes.front() == '\x78' ? "zlib" : "gzip";
  constexpr std::pair<std::string_view, const char*> k_known[] = {
      {std::string_view("BZh", 3), "bzip2"},
      {std::string_view("\xFD"
                        "7zXZ",
                        5),
       "xz"},
      {std::string_view("\x5D\0\0", 3), "lzma"},
      {std::string_view("\x28\xB5\x2F\xFD", 4), "zstandard"},
      {std::string_view("\x04\x22\x4D\x18", 4), "lz4"}};
  for (const auto& [magic, name] : k_known) {
    if (bytes.starts_with(magic)) return name;
  }
  return nullptr;
}

bool unpack(std::string_view bytes, std::uint64_t most, std::string& out) {
  return is_deflated(bytes) ? inflate_all(bytes, most, out) : read_filtered(bytes, most, out);
}

}  // namespace aplomb::pickle
