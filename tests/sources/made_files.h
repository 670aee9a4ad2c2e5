#pragma once
/// Writers of the binary formats, as small as they can be: what TensorBoard and W&B would write for
/// given samples.

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/crc32c.h"

namespace aplomb::test {

template <class Number>
std::string bytes_of_number(Number number) {
  std::string out(sizeof number, '\0');
  std::memcpy(out.data(), &number, sizeof number);
  return out;
}

/// A TFRecord frame.
inline std::string frame(std::string_view message) {
  const std::string length = bytes_of_number<std::uint64_t>(message.size());
  std::string out = length + bytes_of_number(core::masked_crc32c(length));
  out += message;
  return out + bytes_of_number(core::masked_crc32c(message));
}

inline std::string version_event() {
  std::string message;
  protozero::pbf_writer event(message);
  event.add_double(1, 1.7e9);
  event.add_string(3, "brain.Event:2");
  return frame(message);
}

/// An Event of one Summary value, whose other fields `fill` writes after the tag.
template <class Fill>
std::string value_event(std::int64_t step, std::string_view tag, Fill fill) {
  std::string value;
  protozero::pbf_writer value_writer(value);
  value_writer.add_string(1, tag.data(), tag.size());
  fill(value_writer);
  std::string summary;
  protozero::pbf_writer(summary).add_message(1, value);
  std::string message;
  protozero::pbf_writer event(message);
  event.add_double(1, 1.7e9 + static_cast<double>(step));
  event.add_int64(2, step);
  event.add_message(5, summary);
  return frame(message);
}

inline std::string scalar_event(std::int64_t step, std::string_view tag, float number) {
  return value_event(step, tag,
                     [number](protozero::pbf_writer& value) { value.add_float(2, number); });
}

/// A file of W&B (or SwanLab, by its head): the head, then records cut into pieces at the borders of 32 KiB blocks.
class WandbWriter {
 public:
  explicit WandbWriter(std::string head = std::string(":W&B\xE1\xBE\x00", 7))
      : out_(std::move(head)) {}

  void record(std::string_view bytes) {
    bool first = true;
    do {
      std::size_t room = 32768 - out_.size() % 32768;
      if (room < 7) {
        out_.append(room, '\0');
        room = 32768;
      }
      const std::size_t size = std::min(room - 7, bytes.size());
      const bool last = size == bytes.size();
      const char type = first && last ? 1 : first ? 2 : last ? 4 : 3;
      std::string typed(1, type);
      typed += bytes.substr(0, size);
      const auto crc = static_cast<std::uint32_t>(
          crc32(0, reinterpret_cast<const Bytef*>(typed.data()), static_cast<uInt>(typed.size())));
      out_ += bytes_of_number(crc) + bytes_of_number(static_cast<std::uint16_t>(size)) + typed;
      bytes.remove_prefix(size);
      first = false;
    } while (!bytes.empty());
  }

  /// Items of key and value_json in the message with the given number: 2 history, 5 config.
  void items(protozero::pbf_tag_type kind,
             const std::vector<std::pair<std::string, std::string>>& items) {
    std::string group;
    for (const auto& [key, json] : items) {
      std::string item;
      protozero::pbf_writer writer(item);
      writer.add_string(1, key);
      writer.add_string(16, json);
      protozero::pbf_writer(group).add_message(1, item);
    }
    std::string whole;
    protozero::pbf_writer(whole).add_message(kind, group);
    record(whole);
  }

  void output(std::string_view text) {
    std::string raw;
    protozero::pbf_writer(raw).add_string(3, text.data(), text.size());
    std::string whole;
    protozero::pbf_writer(whole).add_message(13, raw);
    record(whole);
  }

  const std::string& bytes() const { return out_; }

 private:
  std::string out_;
};

}  // namespace aplomb::test
