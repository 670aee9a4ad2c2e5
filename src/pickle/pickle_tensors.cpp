// What torch's and numpy's constructors mean: storages, tensors, arrays, scalars.

#include <algorithm>

#include "core/pair_table.h"
#include "pickle/pickle_machine.h"
#include "scan/element.h"

namespace aplomb::pickle {
namespace {

constexpr std::size_t k_most_axes = 64;
constexpr std::size_t k_most_tensors = 4'000'000;

std::vector<std::int64_t> row_major(const std::vector<std::int64_t>& shape, bool fortran) {
  std::vector<std::int64_t> stride(shape.size(), 1);
  std::int64_t step = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t axis = fortran ? i : shape.size() - 1 - i;
    stride[axis] = step;
    if (__builtin_mul_overflow(step, std::max<std::int64_t>(shape[axis], 1), &step)) step = 0;
  }
  return stride;
}

}  // namespace

/// `f8`, `<f4`, `|b1`, `int64` of numpy.
const tensors::ElementType* numpy_element_type(std::string_view word) {
  if (!word.empty() && (word.front() == '<' || word.front() == '|' || word.front() == '=')) {
    word.remove_prefix(1);
  }
  static constexpr std::pair<std::string_view, std::string_view> k_words[] = {
      {"f8", "F64"}, {"f4", "F32"},  {"f2", "F16"}, {"i8", "I64"},   {"i4", "I32"},
      {"i2", "I16"}, {"i1", "I8"},   {"u8", "U64"}, {"u4", "U32"},   {"u2", "U16"},
      {"u1", "U8"},  {"b1", "BOOL"}, {"c8", "C64"}, {"c16", "C128"}, {"bfloat16", "BF16"}};
  const auto type = core::second_of(k_words, word);
  return type ? tensors::element_type(*type) : tensors::element_type_of_torch(word);
}

bool Machine::integers(const PickleNode& from, std::vector<std::int64_t>& out) const {
  if (from.kind != PickleKind::tuple && from.kind != PickleKind::list) return false;
  if (from.items.size() > k_most_axes) return false;
  for (const NodeId item : from.items) {
    const PickleNode& number = document_.at(item);
    if (number.kind != PickleKind::integer) return false;
    out.push_back(number.number);
  }
  return true;
}

/// ('storage', torch.FloatStorage, key, location, count[, view]); the view of legacy files is None
/// or (key, offset, size).
std::optional<PickleStorage> Machine::storage_of(const PickleNode& id) const {
  if (id.kind != PickleKind::tuple || id.items.size() < 5) return std::nullopt;
  const auto part = [&](std::size_t i) -> const PickleNode& { return document_.at(id.items[i]); };
  if (part(0).kind != PickleKind::text || part(0).text != "storage") return std::nullopt;
  const auto meaning = globals_.find(id.items[1]);
  if (meaning == globals_.end() || meaning->second.kind != GlobalKind::storage) return std::nullopt;
  if (part(2).kind != PickleKind::text || part(4).kind != PickleKind::integer ||
      part(4).number < 0) {
    return std::nullopt;
  }
  PickleStorage storage;
  storage.type = meaning->second.type;
  storage.key = part(2).text;
  storage.location = part(3).text;
  storage.count = static_cast<std::uint64_t>(part(4).number);
  if (id.items.size() > 5 && part(5).kind == PickleKind::tuple && part(5).items.size() == 3) {
    const PickleNode& key = document_.at(part(5).items[0]);
    const PickleNode& offset = document_.at(part(5).items[1]);
    const PickleNode& size = document_.at(part(5).items[2]);
    if (offset.kind != PickleKind::integer || offset.number < 0 ||
        size.kind != PickleKind::integer || size.number < 0) {
      return std::nullopt;
    }
    storage.view_of = storage.key;
    storage.key = key.text;
    storage.view_offset = static_cast<std::uint64_t>(offset.number);
    storage.count = static_cast<std::uint64_t>(size.number);
  }
  return storage;
}

std::optional<NodeId> Machine::tensor_from(const std::vector<NodeId>& arguments) {
  if (arguments.size() < 4) return std::nullopt;
  const PickleNode& storage = node(arguments[0]);
  const PickleNode& offset = node(arguments[1]);
  if (storage.kind != PickleKind::storage || offset.kind != PickleKind::integer ||
      offset.number < 0) {
    return std::nullopt;
  }
  if (document_.tensors.size() >= k_most_tensors) {
    broken("more tensors than any checkpoint holds");
    return std::nullopt;
  }
  PickleTensor tensor;
  tensor.storage = static_cast<std::size_t>(storage.number);
  tensor.type = document_.storages[tensor.storage].type;
  tensor.offset = static_cast<std::uint64_t>(offset.number);
  if (!integers(node(arguments[2]), tensor.shape) || !integers(node(arguments[3]), tensor.stride)) {
    return std::nullopt;
  }
  // _rebuild_tensor_v3 gives the dtype beside an untyped storage.
  for (std::size_t i = 6; i < arguments.size(); ++i) {
    const auto meaning = globals_.find(arguments[i]);
    if (meaning != globals_.end() && meaning->second.kind == GlobalKind::dtype) {
      tensor.type = meaning->second.type;
    }
  }
  PickleNode made;
  made.kind = PickleKind::tensor;
  made.number = static_cast<std::int64_t>(document_.tensors.size());
  document_.tensors.push_back(std::move(tensor));
  push(std::move(made));
  return pop();
}

/// dtype('f8', False, True), with the state (3, '<', ...) where it was built.
const tensors::ElementType* Machine::numpy_type(const PickleNode& dtype) const {
  if (dtype.kind != PickleKind::object || dtype.items.size() < 3) return nullptr;
  const PickleNode& arguments = document_.at(dtype.items[1]);
  if (arguments.items.empty()) return nullptr;
  const PickleNode& state = document_.at(dtype.items[2]);
  if (state.kind == PickleKind::tuple && state.items.size() > 1 &&
      document_.at(state.items[1]).text == ">") {
    return nullptr;  // big-endian: kept as an opaque object
  }
  return numpy_element_type(document_.at(arguments.items[0]).text);
}

std::optional<NodeId> Machine::numpy_scalar(const std::vector<NodeId>& arguments) {
  if (arguments.size() != 2) return std::nullopt;
  const tensors::ElementType* type = numpy_type(node(arguments[0]));
  const std::string_view raw = node(arguments[1]).text;
  if (type == nullptr || !type->scalar || type->scalars != 1 || raw.size() != type->bits / 8) {
    return std::nullopt;
  }
  double value = 0;
  scan::for_each_element({raw.data(), 1, *type->scalar}, 0, 1,
                         [&](std::uint64_t, double element) { value = element; });
  PickleNode made;
  made.kind = type->is_float ? PickleKind::real : PickleKind::integer;
  made.number = static_cast<std::int64_t>(value);
  if (type->is_float) made.set_real(value);
  push(std::move(made));
  return pop();
}

std::optional<NodeId> Machine::numpy_array(const PickleNode& dtype, const PickleNode& shape,
                                           std::string_view raw, bool fortran) {
  PickleTensor tensor;
  tensor.type = numpy_type(dtype);
  if (tensor.type == nullptr || !integers(shape, tensor.shape)) return std::nullopt;
  const auto count = tensors::count_of(tensor.shape);
  if (!count || *count > raw.size() || *count * (tensor.type->bits / 8) != raw.size()) {
    return std::nullopt;
  }
  tensor.stride = row_major(tensor.shape, fortran);
  tensor.storage = document_.storages.size();
  PickleStorage storage;
  storage.type = tensor.type;
  storage.count = *count;
  storage.bytes = raw;
  storage.inside = true;
  document_.storages.push_back(std::move(storage));
  PickleNode made;
  made.kind = PickleKind::tensor;
  made.number = static_cast<std::int64_t>(document_.tensors.size());
  document_.tensors.push_back(std::move(tensor));
  push(std::move(made));
  return pop();
}

/// The state of an ndarray: (version, shape, dtype, is_fortran, bytes). The object becomes the
/// tensor.
bool Machine::build_array(NodeId object, NodeId state) {
  const PickleNode& to = node(object);
  if (to.kind != PickleKind::object || kind_of(to.items[0]) != GlobalKind::numpy_array)
    return false;
  const PickleNode& parts = node(state);
  if (parts.kind != PickleKind::tuple || parts.items.size() != 5) return false;
  const PickleNode& raw = node(parts.items[4]);
  if (raw.kind != PickleKind::bytes) return false;
  const auto made = numpy_array(node(parts.items[2]), node(parts.items[1]), raw.text,
                                node(parts.items[3]).number != 0);
  if (!made) return false;
  PickleNode tensor = node(*made);
  node(object) = std::move(tensor);
  return true;
}

/// _codecs.encode(text, 'latin1'): how protocol 2 writes bytes. The text is UTF-8 here.
std::optional<NodeId> Machine::encoded(const std::vector<NodeId>& arguments) {
  if (arguments.empty() || node(arguments[0]).kind != PickleKind::text) return std::nullopt;
  if (arguments.size() > 1 && node(arguments[1]).text != "latin1") return std::nullopt;
  const std::string_view utf8 = node(arguments[0]).text;
  if (!charge(utf8.size())) return std::nullopt;
  std::string raw;
  raw.reserve(utf8.size());
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto byte = static_cast<unsigned char>(utf8[i]);
    if (byte < 0x80) {
      raw += utf8[i];
    } else if ((byte == 0xC2 || byte == 0xC3) && i + 1 < utf8.size()) {
      const auto next = static_cast<unsigned char>(utf8[++i]);
      raw += static_cast<char>(((byte & 0x03U) << 6U) | (next & 0x3FU));
    } else {
      return std::nullopt;
    }
  }
  PickleNode made;
  made.kind = PickleKind::bytes;
  made.text = document_.owned.emplace_back(std::move(raw));
  push(std::move(made));
  return pop();
}

}  // namespace aplomb::pickle
