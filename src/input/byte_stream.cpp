#include "input/byte_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "core/memory_budget.h"
#include "core/utf8.h"

namespace aplomb::input {
namespace {

constexpr std::size_t k_part_bytes = 256U << 10U;    // what one read(2) asks for
constexpr std::size_t k_unpacked_bytes = 1U << 20U;  // what a decompressor hands out at once
constexpr std::size_t k_zstd_window_log_most = 27;   // 128 MiB: zstd's own default limit

class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }

 private:
  int number_;
};

class FileStream final : public ByteStream {
 public:
  /// `size`: of the file when it was opened. It may grow; that it shrinks is told.
  FileStream(int descriptor, std::uint64_t size)
      : file_(descriptor), buffer_(k_part_bytes), size_(size) {}

  std::string_view next() override {
    while (broken_.empty()) {
      if (core::memory_is_short()) {
        broken_ = fmt::format("[file] reading stopped after {} of {} bytes: {}", consumed_, size_,
                              core::why_left_out());
        break;
      }
      const ssize_t got = ::read(file_.get(), buffer_.data(), buffer_.size());
      if (got > 0) {
        consumed_ += static_cast<std::uint64_t>(got);
        return {buffer_.data(), static_cast<std::size_t>(got)};
      }
      if (got == 0) {
        if (consumed_ < size_) {
          broken_ = fmt::format(
              "[file] ended after {} of the {} bytes that it had when it was opened; likely it was "
              "cut or rotated while it was read; read it again",
              consumed_, size_);
        }
        break;
      }
      if (errno != EINTR) {
        broken_ = fmt::format("[file] reading stopped after {} bytes: {}", consumed_,
                              std::strerror(errno));
      }
    }
    return {};
  }
  const std::string& broken() const override { return broken_; }
  std::uint64_t consumed() const override { return consumed_; }

 private:
  FileDescriptor file_;
  std::vector<char> buffer_;
  std::uint64_t size_;
  std::string broken_;
  std::uint64_t consumed_ = 0;
};

class MemoryStream final : public ByteStream {
 public:
  MemoryStream(std::string_view bytes, std::size_t part)
      : rest_(bytes), part_(std::max<std::size_t>(part, 1)) {}

  std::string_view next() override {
    const std::string_view head = rest_.substr(0, part_);
    rest_.remove_prefix(head.size());
    consumed_ += head.size();
    return head;
  }
  const std::string& broken() const override { return broken_; }
  std::uint64_t consumed() const override { return consumed_; }

 private:
  std::string_view rest_;
  std::size_t part_;
  std::string broken_;
  std::uint64_t consumed_ = 0;
};

/// What the decompressors share: the packed bytes not yet used, and the buffer that is handed out.
class PackedStream : public ByteStream {
 public:
  explicit PackedStream(std::unique_ptr<ByteStream> packed)
      : packed_(std::move(packed)), unpacked_(k_unpacked_bytes) {}
  const std::string& broken() const override { return broken_; }
  std::uint64_t consumed() const override { return packed_->consumed(); }

 protected:
  /// More packed bytes, where all are used; false at their end.
  bool refill() {
    if (!input_.empty()) return true;
    input_ = packed_->next();
    if (input_.empty() && !packed_->broken().empty()) broken_ = packed_->broken();
    return !input_.empty();
  }
  void torn(std::string_view who, std::string_view why) {
    broken_ = fmt::format("[{}] the compressed data end after {} bytes of the file: {}", who,
                          consumed(), why);
  }

  std::unique_ptr<ByteStream> packed_;
  std::string_view input_;
  std::vector<char> unpacked_;
  std::string broken_;
  bool done_ = false;
};

/// .gz, of one or several members (`cat a.gz b.gz`, bgzip, pigz). Bytes after the last member that
/// start no further member (padding) are left out, as gzip(1) does.
class GzipStream final : public PackedStream {
 public:
  explicit GzipStream(std::unique_ptr<ByteStream> packed) : PackedStream(std::move(packed)) {
    ready_ = inflateInit2(&state_, 15 + 16) == Z_OK;  // 15: largest window, 16: expect a gzip head
    if (!ready_) torn("gzip", "the decompressor could not be set up");
  }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;
  ~GzipStream() override {
    if (ready_) inflateEnd(&state_);
  }

  std::string_view next() override {
    while (!done_ && broken_.empty()) {
      if (!refill()) {
        if (broken_.empty() && inside_)
          torn("gzip", "cut in the middle, as when the writer was killed");
        break;
      }
      if (!inside_ && members_ > 0 && input_.front() != '\x1f')
        break;  // padding after the last member
      const std::size_t made = inflate_some();
      if (made > 0) return {unpacked_.data(), made};
    }
    done_ = true;
    return {};
  }

 private:
  std::size_t inflate_some() {
    inside_ = true;
    // zlib counts in unsigned int; parts are far smaller. Its input pointer is not const, but it
    // does not write.
    state_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input_.data()));
    state_.avail_in = static_cast<uInt>(input_.size());
    state_.next_out = reinterpret_cast<Bytef*>(unpacked_.data());
    state_.avail_out = static_cast<uInt>(unpacked_.size());
    const int answer = inflate(&state_, Z_NO_FLUSH);
    input_.remove_prefix(input_.size() - state_.avail_in);
    const std::size_t made = unpacked_.size() - state_.avail_out;
    if (answer == Z_STREAM_END) {
      inside_ = false;
      ++members_;
      inflateReset(&state_);
    } else if (answer != Z_OK && answer != Z_BUF_ERROR) {
      torn("gzip", state_.msg != nullptr ? state_.msg : "invalid data");
    }
    return made;
  }

  z_stream state_{};
  bool ready_ = false;
  bool inside_ = false;  ///< a member has begun and not ended
  std::uint64_t members_ = 0;
};

class ZstdStream final : public PackedStream {
 public:
  explicit ZstdStream(std::unique_ptr<ByteStream> packed)
      : PackedStream(std::move(packed)), state_(ZSTD_createDStream(), &ZSTD_freeDStream) {
    if (state_ == nullptr) {
      torn("zstd", "the decompressor could not be set up");
    } else {
      ZSTD_DCtx_setParameter(state_.get(), ZSTD_d_windowLogMax,
                             static_cast<int>(k_zstd_window_log_most));
    }
  }

  std::string_view next() override {
    while (!done_ && broken_.empty()) {
      // A full output buffer may leave bytes inside the decompressor: ask again before reading
      // more.
      if (!pending_ && !refill()) {
        if (broken_.empty() && inside_)
          torn("zstd", "cut in the middle, as when the writer was killed");
        break;
      }
      ZSTD_inBuffer in{input_.data(), input_.size(), 0};
      ZSTD_outBuffer out{unpacked_.data(), unpacked_.size(), 0};
      const std::size_t answer = ZSTD_decompressStream(state_.get(), &out, &in);
      input_.remove_prefix(in.pos);
      if (ZSTD_isError(answer) != 0) {
        torn("zstd", ZSTD_getErrorName(answer));
      } else {
        inside_ = answer != 0;
        pending_ = inside_ && out.pos == out.size;
      }
      if (out.pos > 0) return {unpacked_.data(), out.pos};
    }
    done_ = true;
    return {};
  }

 private:
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> state_;
  bool inside_ = false;
  bool pending_ = false;
};

/// UTF-16 with a byte-order mark (a console log of Windows PowerShell: `python train.py > log.txt`)
/// -> UTF-8.
class Utf16Stream final : public ByteStream {
 public:
  Utf16Stream(std::unique_ptr<ByteStream> wide, bool big_endian)
      : wide_(std::move(wide)), big_endian_(big_endian) {}

  std::string_view next() override {
    text_.clear();
    while (text_.empty()) {
      const std::string_view part = wide_->next();
      if (part.empty()) {
        if (high_ != 0) core::append_utf8(text_, 0xFFFD);
        high_ = 0;
        break;
      }
      text_.reserve(part.size() * 2);
      for (const char byte : part) take(static_cast<unsigned char>(byte));
    }
    return text_;
  }
  const std::string& broken() const override { return wide_->broken(); }
  std::uint64_t consumed() const override { return wide_->consumed(); }

 private:
  void take(unsigned char byte) {
    if (!half_) {
      first_ = byte;
      half_ = true;
      return;
    }
    half_ = false;
    const auto unit =
        static_cast<std::uint32_t>(big_endian_ ? (first_ << 8U) | byte : (byte << 8U) | first_);
    if (unit == 0xFEFF) return;  // the byte-order mark
    const bool low = unit >= 0xDC00 && unit < 0xE000;
    if (high_ != 0) {
      core::append_utf8(text_,
                        low ? 0x10000 + ((high_ - 0xD800) << 10U) + (unit - 0xDC00) : 0xFFFD);
      high_ = 0;
      if (low) return;
    }
    if (unit >= 0xD800 && unit < 0xDC00) {
      high_ = unit;
    } else {
      core::append_utf8(text_, low ? 0xFFFD : unit);
    }
  }

  std::unique_ptr<ByteStream> wide_;
  bool big_endian_;
  std::string text_;
  bool half_ = false;
  unsigned char first_ = 0;
  std::uint32_t high_ = 0;
};

/// Hands out the bytes that were looked at first, then the rest: how a stream's kind is told
/// without seeking.
class PeekedStream final : public ByteStream {
 public:
  explicit PeekedStream(std::unique_ptr<ByteStream> inner)
      : inner_(std::move(inner)), head_(inner_->next()) {}
  std::string_view head() const { return head_; }
  std::string_view next() override { return std::exchange(fresh_, false) ? head_ : inner_->next(); }
  const std::string& broken() const override { return inner_->broken(); }
  std::uint64_t consumed() const override { return inner_->consumed(); }

 private:
  std::unique_ptr<ByteStream> inner_;
  std::string_view head_;
  bool fresh_ = true;
};

bool starts_with(std::string_view bytes, std::string_view magic) {
  return bytes.substr(0, magic.size()) == magic;
}

core::Error cannot_open(const std::string& path, int reason) {
  const core::ErrorCode code = reason == ENOENT || reason == ENOTDIR
                                   ? core::ErrorCode::not_found
                                   : core::ErrorCode::not_readable;
  return {code, fmt::format("[file] cannot open {}: {}", path, std::strerror(reason))};
}

}  // namespace

core::Result<std::unique_ptr<ByteStream>> open_bytes(const std::string& path) {
  // O_NONBLOCK: opening a FIFO without a writer must not hang; it changes nothing for regular
  // files.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return tl::unexpected<core::Error>(cannot_open(path, errno));
  struct stat about{};
  if (::fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode)) {
    ::close(descriptor);
    return core::fail(
        core::ErrorCode::not_readable,
        fmt::format("[file] {} is not a regular file (a folder, device, pipe or socket)", path));
  }
  ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
  return unpacked(
      std::make_unique<FileStream>(descriptor, static_cast<std::uint64_t>(about.st_size)));
}

std::unique_ptr<ByteStream> unpacked(std::unique_ptr<ByteStream> bytes) {
  constexpr int k_most_layers = 2;  // a .gz of a .zst; deeper nests are a bomb, not a log
  for (int layer = 0; layer < k_most_layers; ++layer) {
    auto peeked = std::make_unique<PeekedStream>(std::move(bytes));
    const std::string_view head = peeked->head();
    if (starts_with(head, "\x1f\x8b\x08")) {
      bytes = std::make_unique<GzipStream>(std::move(peeked));
    } else if (starts_with(head, "\x28\xb5\x2f\xfd")) {
      bytes = std::make_unique<ZstdStream>(std::move(peeked));
    } else if (starts_with(head, std::string_view("\xff\xfe\0\0", 4))) {
      return peeked;  // UTF-32: no trainer writes it
    } else if (starts_with(head, "\xff\xfe") || starts_with(head, "\xfe\xff")) {
      const bool big_endian = head[0] == '\xfe';
      return std::make_unique<Utf16Stream>(std::move(peeked), big_endian);
    } else {
      return peeked;
    }
  }
  return bytes;
}

std::unique_ptr<ByteStream> bytes_of(std::string_view bytes, std::size_t part) {
  return std::make_unique<MemoryStream>(bytes, part);
}

core::Result<std::string> read_all(ByteStream& bytes, std::uint64_t limit) {
  std::string all;
  for (std::string_view part; !(part = bytes.next()).empty();) {
    if (all.size() + part.size() > limit) {
      return core::fail(
          core::ErrorCode::too_large,
          fmt::format("[file] larger than the {} bytes that are read at once", limit));
    }
    all += part;
  }
  return all;
}

std::string read_at_most(ByteStream& bytes, std::uint64_t limit, bool& cut) {
  std::string all;
  cut = false;
  for (std::string_view part; !cut && !(part = bytes.next()).empty();) {
    const auto room = static_cast<std::size_t>(limit - all.size());
    cut = part.size() > room;
    all += part.substr(0, room);
  }
  return all;
}

}  // namespace aplomb::input
