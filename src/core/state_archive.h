#pragma once
/// StateArchive: one description of an object's state for both directions, so that what is written
/// and what is read cannot drift apart.
///
///     void serialize(StateArchive& archive) {       // called to save and to load
///       archive.field(count_);
///       archive.field(level_);
///       if (archive.reading() && count_ > k_most) archive.reject();
///     }
///
/// Numbers are written little-endian with their own width; doubles keep every bit. Reading checks
/// every length: foreign bytes end in `ok() == false`, never in a read beyond them. What was read
/// before that is of no use then; load into a copy.

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace aplomb::core {

class StateArchive {
 public:
  /// Writes.
  StateArchive() : reading_(false) {}
  /// Reads; the bytes must outlive the archive.
  explicit StateArchive(std::string_view bytes) : reading_(true), in_(bytes) {}

  bool reading() const { return reading_; }
  bool ok() const { return ok_; }
  void reject() { ok_ = false; }
  /// Reading: all bytes were used.
  bool at_end() const { return in_.empty(); }
  std::string take() { return std::move(out_); }

  void field(bool& value) {
    std::uint8_t byte = value ? 1 : 0;
    word(byte);
    if (byte > 1) reject();
    value = byte == 1;
  }
  void field(double& value) {
    auto bits = std::bit_cast<std::uint64_t>(value);
    word(bits);
    value = std::bit_cast<double>(bits);
  }
  template <class Number>
    requires std::is_integral_v<Number>
  void field(Number& value) {
    auto bits = static_cast<std::make_unsigned_t<Number>>(value);
    word(bits);
    value = static_cast<Number>(bits);
  }
  void field(std::string& value) {
    auto size = static_cast<std::uint32_t>(value.size());
    word(size);
    if (!reading_) {
      out_ += value;
    } else if (size > in_.size()) {
      reject();
    } else {
      value = in_.substr(0, size);
      in_.remove_prefix(size);
    }
  }

 private:
  template <class Unsigned>
  void word(Unsigned& value) {
    if (!reading_) {
      for (std::size_t i = 0; i < sizeof value; ++i)
        out_ += static_cast<char>((static_cast<std::uint64_t>(value) >> (8 * i)) & 0xFFU);
      return;
    }
    value = 0;
    if (in_.size() < sizeof value) return reject();
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < sizeof value; ++i)
      bits |= std::uint64_t{static_cast<unsigned char>(in_[i])} << (8 * i);
    value = static_cast<Unsigned>(bits);
    in_.remove_prefix(sizeof value);
  }

  bool reading_;
  bool ok_ = true;
  std::string out_;
  std::string_view in_;
};

}  // namespace aplomb::core
