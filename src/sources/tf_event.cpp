#include "sources/tf_event.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <protozero/pbf_reader.hpp>

namespace aplomb::sources {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::tag_and_type;

std::string_view view_of(pbf_reader& message) {
  const protozero::data_view bytes = message.get_view();
  return {bytes.data(), bytes.size()};
}

template <class Number>
std::optional<Number> first_of(std::string_view bytes) {
  if (bytes.size() < sizeof(Number)) return std::nullopt;
  Number number{};
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

double half_to_double(std::uint16_t bits) {
  const int exponent = (bits >> 10U) & 0x1F;
  const int mantissa = bits & 0x3FF;
  const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
  if (exponent == 31) return mantissa != 0 ? std::nan("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

double brain_to_double(std::uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U));
}

// tensorflow/core/framework/types.proto
enum DataType : std::int32_t {
  k_float = 1,
  k_double = 2,
  k_int32 = 3,
  k_string = 7,
  k_int64 = 9,
  k_bfloat16 = 14,
  k_half = 19
};

struct Tensor {
  std::int32_t type = 0;
  std::uint64_t elements = 1;
  std::optional<double> number;
  std::string_view text;
};

std::optional<double> from_content(std::int32_t type, std::string_view content) {
  switch (type) {
    case k_float:
      return first_of<float>(content);
    case k_double:
      return first_of<double>(content);
    case k_int32:
      return first_of<std::int32_t>(content);
    case k_int64:
      if (const auto number = first_of<std::int64_t>(content)) return static_cast<double>(*number);
      return std::nullopt;
    case k_half:
      if (const auto bits = first_of<std::uint16_t>(content)) return half_to_double(*bits);
      return std::nullopt;
    case k_bfloat16:
      if (const auto bits = first_of<std::uint16_t>(content)) return brain_to_double(*bits);
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

/// The element count of a TensorShapeProto, at most 2: more than one is all that matters.
std::uint64_t elements_of(pbf_reader shape) {
  std::uint64_t elements = 1;
  while (shape.next(2, pbf_wire_type::length_delimited)) {
    pbf_reader dimension = shape.get_message();
    while (dimension.next(1, pbf_wire_type::varint)) {
      const std::int64_t size = dimension.get_int64();
      if (size != 1) elements = size == 0 ? 0 : 2;
    }
  }
  return elements;
}

/// The first of a repeated number, packed or not.
template <class Number, class Get>
std::optional<double> first_number(pbf_reader& message, Get get) {
  if (message.wire_type() == pbf_wire_type::length_delimited) {
    if (const auto number = first_of<Number>(view_of(message))) return static_cast<double>(*number);
    return std::nullopt;
  }
  return static_cast<double>(get(message));
}

std::optional<double> first_varint(pbf_reader& message) {
  if (message.wire_type() == pbf_wire_type::varint) return static_cast<double>(message.get_int64());
  const auto packed = message.get_packed_int64();
  if (packed.begin() == packed.end()) return std::nullopt;
  return static_cast<double>(*packed.begin());
}

Tensor tensor_of(pbf_reader message) {
  Tensor tensor;
  std::string_view content;
  std::optional<double> bits;  // of a half or a bfloat16
  while (message.next()) {
    switch (message.tag_and_type()) {
      case tag_and_type(1, pbf_wire_type::varint):
        tensor.type = message.get_int32();
        break;
      case tag_and_type(2, pbf_wire_type::length_delimited):
        tensor.elements = elements_of(message.get_message());
        break;
      case tag_and_type(4, pbf_wire_type::length_delimited):
        content = view_of(message);
        break;
      case tag_and_type(5, pbf_wire_type::fixed32):
      case tag_and_type(5, pbf_wire_type::length_delimited):
        tensor.number = first_number<float>(message, [](pbf_reader& m) { return m.get_float(); });
        break;
      case tag_and_type(6, pbf_wire_type::fixed64):
      case tag_and_type(6, pbf_wire_type::length_delimited):
        tensor.number = first_number<double>(message, [](pbf_reader& m) { return m.get_double(); });
        break;
      case tag_and_type(7, pbf_wire_type::varint):
      case tag_and_type(7, pbf_wire_type::length_delimited):
      case tag_and_type(10, pbf_wire_type::varint):
      case tag_and_type(10, pbf_wire_type::length_delimited):
        tensor.number = first_varint(message);
        break;
      case tag_and_type(8, pbf_wire_type::length_delimited):
        tensor.text = view_of(message);
        break;
      case tag_and_type(13, pbf_wire_type::varint):
      case tag_and_type(13, pbf_wire_type::length_delimited):
        bits = first_varint(message);
        break;
      default:
        message.skip();
    }
  }
  if (!content.empty()) tensor.number = from_content(tensor.type, content);
  if (bits && *bits >= 0 && *bits <= 65535) {
    const auto pattern = static_cast<std::uint16_t>(*bits);
    tensor.number = tensor.type == k_bfloat16 ? brain_to_double(pattern) : half_to_double(pattern);
  }
  return tensor;
}

std::string_view plugin_of(pbf_reader metadata) {
  std::string_view plugin;
  while (metadata.next(1, pbf_wire_type::length_delimited)) {
    pbf_reader data = metadata.get_message();
    while (data.next(1, pbf_wire_type::length_delimited)) plugin = view_of(data);
  }
  return plugin;
}

void read_value(pbf_reader value, TfEvent& event) {
  std::string_view tag;
  std::string_view plugin;
  std::optional<double> number;
  std::optional<Tensor> tensor;
  while (value.next()) {
    switch (value.tag_and_type()) {
      case tag_and_type(1, pbf_wire_type::length_delimited):
        tag = view_of(value);
        break;
      case tag_and_type(2, pbf_wire_type::fixed32):
        number = static_cast<double>(value.get_float());
        break;
      case tag_and_type(8, pbf_wire_type::length_delimited):
        tensor = tensor_of(value.get_message());
        break;
      case tag_and_type(9, pbf_wire_type::length_delimited):
        plugin = plugin_of(value.get_message());
        break;
      default:
        value.skip();
    }
  }
  // The plugin is named at a tag's first value only; later ones are told by their shape.
  if (tensor && tensor->elements == 1 && tensor->number &&
      (plugin.empty() || plugin == "scalars")) {
    number = tensor->number;
  }
  if (number) event.scalars.push_back({tag, *number});
  if (tensor && tensor->type == k_string && !tensor->text.empty())
    event.texts.push_back({tag, tensor->text});
}

void read_summary(pbf_reader summary, TfEvent& event) {
  while (summary.next(1, pbf_wire_type::length_delimited)) read_value(summary.get_message(), event);
}

/// A varint of at most five bytes at `p`; moves `p` behind it. False where there is none.
bool small_varint(const unsigned char*& p, const unsigned char* end, std::uint64_t& out) {
  out = 0;
  for (unsigned shift = 0; shift < 35 && p != end; shift += 7) {
    const unsigned char byte = *p++;
    out |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if (byte < 0x80U) return true;
  }
  return false;
}

/// Nearly every event is `wall_time step summary{value{tag simple_value}}` in this very order: no
/// other field. Reads that form without a general parser; false, and nothing changed, where it is
/// another.
bool read_plain(std::string_view message, TfEvent& event) {
  const auto* p = reinterpret_cast<const unsigned char*>(message.data());
  const auto* const end = p + message.size();
  if (message.size() < 24 || *p != 0x09) return false;
  double wall_time_s = 0;
  std::memcpy(&wall_time_s, p + 1, sizeof wall_time_s);
  p += 9;
  std::uint64_t step = 0;
  if (*p == 0x10) {
    ++p;
    if (!small_varint(p, end, step)) return false;
  }
  std::uint64_t size = 0;
  if (p == end || *p++ != 0x2A || !small_varint(p, end, size) ||
      size != static_cast<std::uint64_t>(end - p))
    return false;
  if (p == end || *p++ != 0x0A || !small_varint(p, end, size) ||
      size != static_cast<std::uint64_t>(end - p))
    return false;
  if (p == end || *p++ != 0x0A || !small_varint(p, end, size)) return false;
  constexpr std::uint64_t k_value_bytes = 5;
  if (static_cast<std::uint64_t>(end - p) != size + k_value_bytes || p[size] != 0x15) return false;
  float value = 0;
  std::memcpy(&value, p + size + 1, sizeof value);
  event.wall_time_s = wall_time_s;
  event.step = static_cast<std::int64_t>(step);
  event.scalars.push_back({{reinterpret_cast<const char*>(p), static_cast<std::size_t>(size)},
                           static_cast<double>(value)});
  return true;
}

}  // namespace

bool read_tf_event(std::string_view message, TfEvent& event) {
  event.scalars.clear();
  event.texts.clear();
  event.version = false;
  if (read_plain(message, event)) return true;
  event.step = 0;
  try {
    pbf_reader reader(message.data(), message.size());
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case tag_and_type(1, pbf_wire_type::fixed64):
          event.wall_time_s = reader.get_double();
          break;
        case tag_and_type(2, pbf_wire_type::varint):
          event.step = reader.get_int64();
          break;
        case tag_and_type(3, pbf_wire_type::length_delimited):
          event.version = true;
          reader.skip();
          break;
        case tag_and_type(5, pbf_wire_type::length_delimited):
          read_summary(reader.get_message(), event);
          break;
        default:
          reader.skip();
      }
    }
  } catch (const protozero::exception&) {
    return false;  // protozero's way to say that a length or a varint runs out of the message
  }
  return true;
}

}  // namespace aplomb::sources
