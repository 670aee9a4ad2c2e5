#include "checkpoint/coded_tensor.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

namespace aplomb::checkpoint {
namespace {

class Coded final : public tensors::ElementSource {
 public:
  Coded(TensorCode code, std::uint64_t block)
      : code_(std::move(code)), block_(block), packed_(code_.values.size() == 16) {}

  bool gather(std::uint64_t from, std::uint64_t count, std::span<std::byte> out) const override {
    std::vector<float> values(count);
    if (code_.values.empty() ? !tensors::read_elements(code_.codes, from, std::span<float>(values))
                             : !look_up(from, values)) {
      return false;
    }
    const std::uint64_t first = from / block_;
    std::vector<float> scales(count == 0 ? 0 : (from + count - 1) / block_ - first + 1);
    if (!tensors::read_elements(code_.scales, first, std::span<float>(scales))) return false;
    for (std::uint64_t i = 0; i < count; ++i) values[i] *= scales[(from + i) / block_ - first];
    std::memcpy(out.data(), values.data(), count * sizeof(float));
    return true;
  }

 private:
  bool look_up(std::uint64_t from, std::span<float> values) const {
    const std::uint64_t first = packed_ ? from / 2 : from;
    const std::uint64_t end = packed_ ? (from + values.size() + 1) / 2 : from + values.size();
    std::vector<std::byte> buffer;
    const auto raw = tensors::raw_elements(code_.codes, first, end - first, buffer);
    if (raw.size() != end - first) return false;
    for (std::uint64_t i = 0; i < values.size(); ++i) {
      const std::uint64_t at = from + i;
      const auto byte =
          std::to_integer<unsigned>(raw[static_cast<std::size_t>((packed_ ? at / 2 : at) - first)]);
      const unsigned code = !packed_ ? byte : at % 2 == 0 ? byte >> 4U : byte & 15U;
      values[static_cast<std::size_t>(i)] = code_.values[code];
    }
    return true;
  }

  TensorCode code_;
  std::uint64_t block_;
  bool packed_;
};

std::vector<float> table_of(const tensors::Tensor& tensor) {
  if (tensor.count > 256) return {};
  std::vector<float> values(tensor.count);
  if (!tensors::read_elements(tensor, 0, std::span<float>(values))) values.clear();
  return values;
}

const tensors::Tensor* named(const std::map<std::string, tensors::Tensor>& tensors,
                             const std::string& key) {
  const auto found = tensors.find(key);
  return found == tensors.end() ? nullptr : &found->second;
}

/// `state1` with `qmap1` and `absmax1`, or `max1` for the whole tensor; itself where it is plain.
std::optional<tensors::Tensor> state_numbered(const std::map<std::string, tensors::Tensor>& tensors,
                                              char number) {
  const tensors::Tensor* state = named(tensors, std::string("state") + number);
  if (state == nullptr || state->type == nullptr) return std::nullopt;
  if (state->type->is_float) return *state;
  const tensors::Tensor* map = named(tensors, std::string("qmap") + number);
  const tensors::Tensor* scale = named(tensors, std::string("absmax") + number);
  if (scale == nullptr) scale = named(tensors, std::string("max") + number);
  if (map == nullptr || scale == nullptr) return std::nullopt;
  return decode_tensor({*state, table_of(*map), *scale}, state->shape);
}

}  // namespace

std::optional<tensors::Tensor> decode_tensor(TensorCode code, std::vector<std::int64_t> shape) {
  const auto count = tensors::count_of(shape);
  const tensors::Tensor& codes = code.codes;
  if (!count || codes.type == nullptr || codes.type->bits != 8 || !codes.has_data()) {
    return std::nullopt;
  }
  const std::size_t values = code.values.size();
  const std::uint64_t held = values == 16 ? codes.count * 2 : codes.count;
  const bool sane = (values == 256 || values == 16 || (values == 0 && codes.type->is_float)) &&
                    held == *count && code.scales.count > 0 && code.scales.count <= *count;
  if (!sane) return std::nullopt;
  // Blocks are powers of two where the last one may be shorter; torchao's divide the tensor.
  const std::uint64_t scales = code.scales.count;
  std::uint64_t block = *count / scales;
  if (*count % scales != 0) block = std::bit_ceil(block + 1);
  if ((*count + block - 1) / block != scales) return std::nullopt;
  tensors::Tensor tensor;
  tensor.type = tensors::element_type("F32");
  tensor.count = *count;
  tensor.shape = std::move(shape);
  tensor.mapped = false;
  tensor.file = codes.file;
  tensor.offset = codes.offset;
  tensor.source = std::make_shared<const Coded>(std::move(code), block);
  return tensor;
}

void decode_states(std::map<std::string, tensors::Tensor>& tensors) {
  auto first = state_numbered(tensors, '1');
  if (!first) return;
  auto second = state_numbered(tensors, '2');
  std::erase_if(tensors, [](const auto& each) {
    const std::string_view key = each.first;
    return key.ends_with('1') || key.ends_with('2');
  });
  tensors.insert_or_assign(second ? "exp_avg" : "state1", std::move(*first));
  if (second) tensors.insert_or_assign("exp_avg_sq", std::move(*second));
}

}  // namespace aplomb::checkpoint
