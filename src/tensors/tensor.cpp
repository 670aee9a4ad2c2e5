#include "tensors/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "scan/element.h"
#include "tensors/mapped_file.h"

namespace aplomb::tensors {
namespace {

constexpr std::uint64_t k_part_bytes = 4U << 20U;  // between page drops; far above the L2 cache

constexpr std::array<ElementType, 23> k_types = {{
    {"F64", 64, scan::ScalarType::f64, 1, true},
    {"F32", 32, scan::ScalarType::f32, 1, true},
    {"F16", 16, scan::ScalarType::f16, 1, true},
    {"BF16", 16, scan::ScalarType::bf16, 1, true},
    {"F8_E4M3", 8, scan::ScalarType::f8_e4m3, 1, true},
    {"F8_E5M2", 8, scan::ScalarType::f8_e5m2, 1, true},
    {"F8_E4M3FNUZ", 8, std::nullopt, 1, true},
    {"F8_E5M2FNUZ", 8, std::nullopt, 1, true},
    {"F8_E8M0", 8, std::nullopt, 1, true},
    {"F6_E2M3", 6, std::nullopt, 1, true},
    {"F6_E3M2", 6, std::nullopt, 1, true},
    {"F4", 4, std::nullopt, 1, true},
    {"I64", 64, scan::ScalarType::i64, 1, false},
    {"I32", 32, scan::ScalarType::i32, 1, false},
    {"I16", 16, scan::ScalarType::i16, 1, false},
    {"I8", 8, scan::ScalarType::i8, 1, false},
    {"U64", 64, std::nullopt, 1, false},
    {"U32", 32, std::nullopt, 1, false},
    {"U16", 16, std::nullopt, 1, false},
    {"U8", 8, scan::ScalarType::u8, 1, false},
    {"BOOL", 8, scan::ScalarType::boolean, 1, false},
    {"C64", 64, scan::ScalarType::f32, 2, true},
    {"C128", 128, scan::ScalarType::f64, 2, true},
}};

struct TorchName {
  std::string_view torch;
  std::string_view safetensors;
};
constexpr std::array<TorchName, 34> k_torch_names = {{
    {"float64", "F64"},
    {"double", "F64"},
    {"float32", "F32"},
    {"float", "F32"},
    {"float16", "F16"},
    {"half", "F16"},
    {"bfloat16", "BF16"},
    {"float8_e4m3fn", "F8_E4M3"},
    {"float8_e5m2", "F8_E5M2"},
    {"float8_e4m3fnuz", "F8_E4M3FNUZ"},
    {"float8_e8m0fnu", "F8_E8M0"},
    {"float8_e5m2fnuz", "F8_E5M2FNUZ"},
    {"int64", "I64"},
    {"long", "I64"},
    {"int32", "I32"},
    {"int", "I32"},
    {"int16", "I16"},
    {"short", "I16"},
    {"int8", "I8"},
    {"char", "I8"},
    {"uint64", "U64"},
    {"uint32", "U32"},
    {"uint16", "U16"},
    {"uint8", "U8"},
    {"byte", "U8"},
    {"bool", "BOOL"},
    {"complex64", "C64"},
    {"cfloat", "C64"},
    {"complex128", "C128"},
    {"cdouble", "C128"},
    {"complexfloat", "C64"},
    {"complexdouble", "C128"},
    {"untyped", "U8"},
    {"quint8", "U8"},
}};

std::uint64_t bytes_of(const ElementType& type) { return type.bits / 8; }

/// Where the element with this row-major index lies, in elements from the tensor's first.
std::uint64_t place_of(const Tensor& tensor, std::uint64_t index) {
  std::uint64_t place = 0;
  for (std::size_t axis = tensor.shape.size(); axis-- > 0;) {
    const auto extent = static_cast<std::uint64_t>(tensor.shape[axis]);
    place += index % extent * static_cast<std::uint64_t>(tensor.stride[axis]);
    index /= extent;
  }
  return place;
}

template <class Number>
bool read_numbers(const Tensor& tensor, std::uint64_t from, std::span<Number> out) {
  if (tensor.type == nullptr || !tensor.type->scalar || tensor.type->scalars != 1) return false;
  std::vector<std::byte> buffer;
  const auto raw = raw_elements(tensor, from, out.size(), buffer);
  if (raw.empty() && !out.empty()) return false;
  scan::for_each_element(
      {raw.data(), out.size(), *tensor.type->scalar}, 0, out.size(),
      [&](std::uint64_t index, double value) { out[index] = static_cast<Number>(value); });
  return true;
}

}  // namespace

const ElementType* element_type(std::string_view safetensors_name) {
  const auto* found = std::find_if(k_types.begin(), k_types.end(), [&](const ElementType& type) {
    return type.name == safetensors_name;
  });
  return found == k_types.end() ? nullptr : found;
}

const ElementType* element_type_of_torch(std::string_view torch_name) {
  for (const TorchName& each : k_torch_names) {
    if (each.torch == torch_name) return element_type(each.safetensors);
  }
  return nullptr;
}

std::string show_shape(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::optional<std::uint64_t> count_of(std::span<const std::int64_t> shape) {
  // What has elements is bounded by its bytes; what has none by the 32 bits with which BLAS and most
  // kernels count an axis.
  constexpr std::uint64_t k_widest_of_none = 0x7FFFFFFF;
  std::uint64_t count = 1;
  std::uint64_t widest = 0;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    if (extent == 0) empty = true;
    const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1));
    if (__builtin_mul_overflow(count, factor, &count)) return std::nullopt;
    widest = std::max(widest, factor);
  }
  if (!empty) return count;
  if (widest > k_widest_of_none) return std::nullopt;
  return 0;
}

bool is_contiguous(std::span<const std::int64_t> shape, std::span<const std::int64_t> stride) {
  std::int64_t expected = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] != 1 && stride[axis] != expected) return false;
    expected *= shape[axis];
  }
  return true;
}

std::optional<std::uint64_t> extent_of(std::span<const std::int64_t> shape,
                                       std::span<const std::int64_t> stride) {
  if (shape.size() != stride.size()) return std::nullopt;
  std::uint64_t last = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] < 0 || stride[axis] < 0) return std::nullopt;
    if (shape[axis] == 0) return 0;
    std::uint64_t reach = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(shape[axis] - 1),
                               static_cast<std::uint64_t>(stride[axis]), &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return std::nullopt;
    }
  }
  return last + 1;
}

std::span<const std::byte> raw_elements(const Tensor& tensor, std::uint64_t from,
                                        std::uint64_t count, std::vector<std::byte>& buffer) {
  if (tensor.type == nullptr || tensor.type->bits % 8 != 0 || from > tensor.count ||
      count > tensor.count - from || (tensor.bytes.empty() && tensor.source == nullptr)) {
    return {};
  }
  const std::uint64_t width = bytes_of(*tensor.type);
  if (tensor.source != nullptr) {
    buffer.resize(count * width);
    if (!tensor.source->gather(from, count, buffer)) return {};
    return buffer;
  }
  if (tensor.stride.empty()) return tensor.bytes.subspan(from * width, count * width);
  buffer.resize(count * width);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::memcpy(buffer.data() + i * width, tensor.bytes.data() + place_of(tensor, from + i) * width,
                width);
  }
  return buffer;
}

void for_each_part(const Tensor& tensor,
                   const std::function<void(scan::TensorView part, std::uint64_t first)>& visit) {
  if (tensor.type == nullptr || !tensor.type->scalar || tensor.count == 0) return;
  const std::uint64_t width = bytes_of(*tensor.type);
  const std::uint64_t step = std::max<std::uint64_t>(k_part_bytes / width, 1);
  std::vector<std::byte> buffer;
  for (std::uint64_t from = 0; from < tensor.count; from += step) {
    const std::uint64_t count = std::min(step, tensor.count - from);
    const auto raw = raw_elements(tensor, from, count, buffer);
    if (raw.empty()) return;
    const std::uint64_t scalars = tensor.type->scalars;
    visit({raw.data(), count * scalars, *tensor.type->scalar}, from * scalars);
    if (tensor.mapped && tensor.stride.empty()) drop_pages(raw);
  }
}

bool read_elements(const Tensor& tensor, std::uint64_t from, std::span<float> out) {
  return read_numbers(tensor, from, out);
}
bool read_elements(const Tensor& tensor, std::uint64_t from, std::span<double> out) {
  return read_numbers(tensor, from, out);
}

std::uint64_t stored_bytes(const Tensor& tensor) {
  if (tensor.type == nullptr) return 0;
  if (tensor.type->block > 1) return tensor.count / tensor.type->block * tensor.type->block_bytes;
  return tensor.count * tensor.type->bits / 8;
}

namespace {

/// The scales of all blocks, gathered part by part.
std::optional<scan::TensorStats> scan_scales(const Tensor& tensor) {
  const ElementType& type = *tensor.type;
  if (type.scales == 0 || tensor.bytes.empty()) return std::nullopt;
  constexpr std::uint64_t k_blocks = 65536;
  scan::TensorStats all;
  std::vector<std::byte> scales;
  const std::uint64_t blocks = tensor.bytes.size() / type.block_bytes;
  for (std::uint64_t from = 0; from < blocks; from += k_blocks) {
    const std::uint64_t count = std::min(k_blocks, blocks - from);
    const auto part = tensor.bytes.subspan(from * type.block_bytes, count * type.block_bytes);
    scales.clear();
    for (std::uint64_t i = 0; i < count; ++i) {
      for (unsigned scale = 0; scale < type.scales; ++scale) {
        const auto at = part.subspan(i * type.block_bytes + type.scale_at[scale], 2);
        scales.insert(scales.end(), at.begin(), at.end());
      }
    }
    all.add(scan::scan({scales.data(), scales.size() / 2, scan::ScalarType::f16}));
    if (tensor.mapped) drop_pages(part);
  }
  return all;
}

}  // namespace

std::optional<scan::TensorStats> scan_tensor(const Tensor& tensor) {
  if (tensor.type != nullptr && tensor.type->block > 1) return scan_scales(tensor);
  if (tensor.type == nullptr || !tensor.type->scalar || !tensor.has_data()) return std::nullopt;
  scan::TensorStats all;
  for_each_part(tensor, [&](scan::TensorView part, std::uint64_t) { all.add(scan::scan(part)); });
  return all;
}

bool is_widened(const Tensor& before, const Tensor& after) {
  if (before.type == nullptr || after.type == nullptr || !before.type->scalar) return false;
  const scan::ScalarType from = *before.type->scalar;
  return (from == scan::ScalarType::bf16 || from == scan::ScalarType::f16) &&
         after.type->scalar == scan::ScalarType::f32;
}

scan::Difference widened_difference(const Tensor& before, const Tensor& after, std::uint64_t from,
                                    std::uint64_t count) {
  std::vector<float> a(count);
  std::vector<float> b(count);
  if (!read_elements(before, from, std::span(a)) || !read_elements(after, from, std::span(b)))
    return {};
  constexpr scan::ScalarType k_type = scan::ScalarType::f32;
  return scan::difference({a.data(), count, k_type}, {b.data(), count, k_type});
}

}  // namespace aplomb::tensors
