/// Writing safetensors (the reader's head quotes the format): header length, JSON header padded
/// with spaces to a multiple of 8, tensors without gaps.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "train/model/tensor_bytes.h"
#include "train/model/weights.h"

namespace aplomb::train::model {
namespace {

/// A file under a temporary name until commit(): a reader never sees half of it, and what was there
/// stays if writing fails.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path) : path_(std::move(path)), temporary_(path_ + ".tmp") {
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file_ < 0) note("cannot be created");
  }
  ~AtomicFile() {
    if (file_ >= 0) ::close(file_);
    if (!done_) ::unlink(temporary_.c_str());
  }
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const char> bytes) {
    while (!bytes.empty() && error_.empty()) {
      const ssize_t written = ::write(file_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) {
        note("cannot be written");
        return;
      }
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  /// The file's bytes first, then its name, then the folder that holds the name.
  core::Result<void> commit() {
    if (error_.empty() && ::fsync(file_) != 0) note("cannot be synced");
    if (error_.empty() && ::rename(temporary_.c_str(), path_.c_str()) != 0)
      note("cannot be moved into place");
    if (!error_.empty()) return core::fail(core::ErrorCode::not_writable, error_);
    done_ = true;
    const std::string folder = std::filesystem::path(path_).parent_path().string();
    const int held =
        ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (held >= 0) {
      ::fsync(held);
      ::close(held);
    }
    return {};
  }

 private:
  void note(const char* what) {
    if (error_.empty())
      error_ = fmt::format("[weights] {} {}: {}", path_, what, std::strerror(errno));
  }

  std::string path_;
  std::string temporary_;
  std::string error_;
  int file_ = -1;
  bool done_ = false;
};

}  // namespace

core::Result<void> write_text(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  return file.commit();
}

core::Result<void> write_safetensors(
    const std::string& path, const std::vector<std::pair<std::string, torch::Tensor>>& tensors) {
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"format", "pt"}};
  std::uint64_t end = 0;
  for (const auto& [name, tensor] : tensors) {
    const char* dtype = safetensors_name(tensor.scalar_type());
    if (dtype == nullptr) {
      return core::fail(
          core::ErrorCode::unsupported,
          fmt::format("[weights] {}: {} is of a type that safetensors has no name for", path,
                      name));
    }
    const std::uint64_t begin = end;
    end += tensor.nbytes();
    header[name] = {
        {"dtype", dtype}, {"shape", tensor.sizes().vec()}, {"data_offsets", {begin, end}}};
  }
  std::string head = header.dump();
  head.append((8 - head.size() % 8) % 8, ' ');
  const std::uint64_t length = head.size();  // little-endian, as all targets of this build
  AtomicFile file(path);
  file.write({reinterpret_cast<const char*>(&length), sizeof length});  // NOLINT: bytes of a number
  file.write(head);
  for (const auto& [name, tensor] : tensors) {
    const torch::Tensor whole = tensor.detach().to(torch::kCPU).contiguous();
    file.write({static_cast<const char*>(whole.const_data_ptr()), whole.nbytes()});
  }
  return file.commit();
}

}  // namespace aplomb::train::model
