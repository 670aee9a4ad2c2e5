#include "train/loop/tensor_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "checkpoint/safetensors.h"
#include "tensors/mapped_file.h"
#include "train/model/tensor_bytes.h"

namespace aplomb::train::loop {
namespace {

/// A file descriptor that is written to until the first failure, whose errno is kept.
class Output {
 public:
  explicit Output(const std::string& path)
      : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)),
        failed_(file_ < 0 ? errno : 0) {}
  ~Output() {
    if (file_ >= 0) ::close(file_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(const void* data, std::size_t size) {
    const char* at = static_cast<const char*>(data);
    while (size > 0 && failed_ == 0) {
      const ssize_t put = ::write(file_, at, size);
      if (put < 0) {
        if (errno != EINTR) failed_ = errno;
        continue;
      }
      at += put;
      size -= static_cast<std::size_t>(put);
    }
  }
  int finish() {
    if (failed_ == 0 && ::fsync(file_) != 0) failed_ = errno;
    if (file_ >= 0 && ::close(std::exchange(file_, -1)) != 0 && failed_ == 0) failed_ = errno;
    return failed_;
  }

 private:
  int file_;
  int failed_;
};

std::string header_of(const std::vector<NamedTensor>& tensors, const FileMetadata& metadata) {
  nlohmann::ordered_json header;
  for (const auto& [key, text] : metadata) header["__metadata__"][key] = text;
  std::size_t at = 0;
  for (const NamedTensor& each : tensors) {
    const std::size_t size = each.tensor.nbytes();
    header[each.name] = {{"dtype", model::safetensors_name(each.tensor.scalar_type())},
                         {"shape", each.tensor.sizes().vec()},
                         {"data_offsets", {at, at + size}}};
    at += size;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // tensors begin aligned
  return text;
}

core::Result<void> fits(const NamedTensor& wanted, const tensors::Tensor* found,
                        const std::string& path) {
  if (found == nullptr) {
    return core::fail(
        core::ErrorCode::bad_format,
        fmt::format("[checkpoint] {} lacks {}: it is of another run", path, wanted.name));
  }
  const auto shape = wanted.tensor.sizes();
  const bool same =
      std::equal(shape.begin(), shape.end(), found->shape.begin(), found->shape.end());
  if (same && found->type->name == model::safetensors_name(wanted.tensor.scalar_type()) &&
      found->bytes.size() == wanted.tensor.nbytes()) {
    return {};
  }
  return core::fail(
      core::ErrorCode::bad_format,
      fmt::format("[checkpoint] {}: {} is {} {} there and {} {} here; the run was started "
                  "with other options",
                  path, wanted.name, found->type->name, tensors::show_shape(found->shape),
                  model::safetensors_name(wanted.tensor.scalar_type()),
                  tensors::show_shape(shape)));
}

}  // namespace

core::Result<void> save_tensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                                const FileMetadata& metadata) {
  const std::string header = header_of(tensors, metadata);
  Output out(path);
  std::uint64_t size = header.size();
  out.write(&size, sizeof size);  // little-endian, as every machine that LibTorch runs on
  out.write(header.data(), header.size());
  for (const NamedTensor& each : tensors) {
    const at::Tensor flat = each.tensor.detach().cpu().contiguous();
    out.write(flat.const_data_ptr(), flat.nbytes());
  }
  const int failed = out.finish();
  if (failed == 0) return {};
  return core::fail(
      core::ErrorCode::not_writable,
      fmt::format("[checkpoint] writing {}: {}{}", path, std::strerror(failed),
                  failed == ENOSPC ? "; make room, or give another --output-dir" : ""));
}

core::Result<void> load_tensors(const std::string& path, const std::vector<NamedTensor>& into) {
  auto opened = tensors::MappedFile::open(path);
  if (!opened) return tl::unexpected(opened.error());
  const auto file = checkpoint::read_safetensors((*opened)->bytes(), *opened, path);
  if (!file) return tl::unexpected(file.error());
  std::map<std::string_view, const tensors::Tensor*> by_name;
  for (const tensors::Tensor& each : file->tensors) by_name[each.name] = &each;
  std::vector<const tensors::Tensor*> found;
  for (const NamedTensor& each : into) {
    const auto at = by_name.find(each.name);
    found.push_back(at == by_name.end() ? nullptr : at->second);
    if (auto fit = fits(each, found.back(), path); !fit) return fit;
  }
  if (found.size() != by_name.size()) {
    return core::fail(
        core::ErrorCode::bad_format,
        fmt::format("[checkpoint] {} holds {} tensors, this run has {}: it is of another "
                    "run",
                    path, by_name.size(), found.size()));
  }
  const at::NoGradGuard no_gradients;
  for (std::size_t i = 0; i < into.size(); ++i) {
    at::Tensor host = at::empty(into[i].tensor.sizes(), into[i].tensor.options().device(at::kCPU));
    if (host.numel() > 0)
      std::memcpy(host.mutable_data_ptr(), found[i]->bytes.data(), found[i]->bytes.size());
    at::Tensor to = into[i].tensor.detach();
    to.copy_(host);
  }
  return {};
}

}  // namespace aplomb::train::loop
