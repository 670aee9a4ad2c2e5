#include "train/model/tensor_bytes.h"

#include <utility>

#include "core/pair_table.h"
#include "tensors/mapped_file.h"

namespace aplomb::train::model {
namespace {

constexpr std::pair<const char*, torch::Dtype> k_dtypes[] = {
    {"F32", torch::kFloat32}, {"BF16", torch::kBFloat16}, {"F16", torch::kFloat16},
    {"F64", torch::kFloat64}, {"I64", torch::kInt64},     {"I32", torch::kInt32},
    {"U8", torch::kUInt8},    {"BOOL", torch::kBool}};

}  // namespace

std::optional<torch::Dtype> torch_dtype(const aplomb::tensors::Tensor& stored) {
  if (stored.type == nullptr || !stored.type->is_float) return std::nullopt;
  return core::second_of(k_dtypes, stored.type->name);
}

const char* safetensors_name(torch::Dtype dtype) {
  return core::first_of(k_dtypes, dtype).value_or(nullptr);
}

bool copy_stored(const aplomb::tensors::Tensor& stored, const torch::Tensor& target) {
  const auto dtype = torch_dtype(stored);
  if (!dtype) return false;
  if (stored.count == 0) return true;
  // from_blob takes no const; what it makes is only read.
  if (!stored.stride.empty() && !stored.bytes.empty()) {
    auto* data = const_cast<std::byte*>(
        stored.bytes.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    target.copy_(torch::from_blob(data, stored.shape, stored.stride, *dtype));
  } else {
    std::vector<std::byte> buffer;
    const std::span<const std::byte> elements =
        tensors::raw_elements(stored, 0, stored.count, buffer);
    if (elements.empty()) return false;
    auto* data =
        const_cast<std::byte*>(elements.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    target.copy_(torch::from_blob(data, stored.shape, *dtype));
  }
  if (stored.mapped && !stored.bytes.empty()) tensors::drop_pages(stored.bytes);
  return true;
}

std::optional<torch::Tensor> stored_in_place(const aplomb::tensors::Tensor& stored) {
  const auto dtype = torch_dtype(stored);
  if (!dtype || stored.count == 0 || stored.bytes.empty() || !stored.mapped) return std::nullopt;
  if (!stored.stride.empty() && !tensors::is_contiguous(stored.shape, stored.stride))
    return std::nullopt;
  if (reinterpret_cast<std::uintptr_t>(stored.bytes.data()) % c10::elementSize(*dtype) != 0)
    return std::nullopt;
  if (!tensors::make_private_copies_on_write(stored.bytes)) return std::nullopt;
  tensors::will_read(stored.bytes);
  auto* data = const_cast<std::byte*>(
      stored.bytes.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast): now writable
  return torch::from_blob(data, stored.shape, [owner = stored.owner](void*) {}, *dtype);
}

}  // namespace aplomb::train::model
