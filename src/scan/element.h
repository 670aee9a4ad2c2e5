#pragma once
/// One element: how each scalar type is read, and how one value enters the statistics.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "scan/scan.h"

namespace aplomb::scan {

template <class T>
T load(const void* data, std::uint64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * sizeof(T), sizeof(T));
  return value;
}

/// Calls visit(double) for the elements [from, to) in order. Every type but i64 is exact in a
/// double; i64 rounds.
template <class Visit>
void for_each_element(TensorView tensor, std::uint64_t from, std::uint64_t to, Visit visit) {
  const auto all = [&](auto read) {
    for (std::uint64_t i = from; i < to; ++i) visit(i, read(i));
  };
  const void* data = tensor.data;
  switch (tensor.type) {
    case ScalarType::f64:
      return all([&](std::uint64_t i) { return load<double>(data, i); });
    case ScalarType::f32:
      return all([&](std::uint64_t i) { return static_cast<double>(load<float>(data, i)); });
    case ScalarType::f16:
      return all([&](std::uint64_t i) {
        return numerics::decode(numerics::Format::fp16, load<std::uint16_t>(data, i));
      });
    case ScalarType::bf16:
      return all([&](std::uint64_t i) {
        return static_cast<double>(
            std::bit_cast<float>(static_cast<std::uint32_t>(load<std::uint16_t>(data, i)) << 16U));
      });
    case ScalarType::f8_e4m3:
      return all([&](std::uint64_t i) {
        return numerics::decode(numerics::Format::fp8_e4m3, load<std::uint8_t>(data, i));
      });
    case ScalarType::f8_e5m2:
      return all([&](std::uint64_t i) {
        return numerics::decode(numerics::Format::fp8_e5m2, load<std::uint8_t>(data, i));
      });
    case ScalarType::i64:
      return all([&](std::uint64_t i) { return static_cast<double>(load<std::int64_t>(data, i)); });
    case ScalarType::i32:
      return all([&](std::uint64_t i) { return static_cast<double>(load<std::int32_t>(data, i)); });
    case ScalarType::i16:
      return all([&](std::uint64_t i) { return static_cast<double>(load<std::int16_t>(data, i)); });
    case ScalarType::i8:
      return all([&](std::uint64_t i) { return static_cast<double>(load<std::int8_t>(data, i)); });
    case ScalarType::u8:
      return all([&](std::uint64_t i) { return static_cast<double>(load<std::uint8_t>(data, i)); });
    case ScalarType::boolean:
      return all([&](std::uint64_t i) { return load<std::uint8_t>(data, i) != 0 ? 1.0 : 0.0; });
  }
}

/// The histogram's bin of a finite magnitude.
inline std::size_t exponent_bin(double magnitude) {
  if (magnitude < 0x1p-126) return 0;
  const auto exponent = static_cast<int>(std::bit_cast<std::uint64_t>(magnitude) >> 52U) - 1023;
  return exponent > 127 ? 255 : static_cast<std::size_t>(exponent + 127);
}

inline void add_element(TensorStats& stats, std::uint64_t index, double value) {
  if (!std::isfinite(value)) {
    if (stats.first_nonfinite < 0) stats.first_nonfinite = static_cast<std::int64_t>(index);
    ++(std::isnan(value) ? stats.nan : stats.inf);
    return;
  }
  const double magnitude = std::fabs(value);
  stats.sum += value;
  stats.sum_squares += value * value;
  if (magnitude > stats.max_abs) stats.max_abs = magnitude;
  if (magnitude == 0) {
    ++stats.zeros;
  } else if (magnitude < stats.min_abs) {
    stats.min_abs = magnitude;
  }
  ++stats.exponents[exponent_bin(magnitude)];
}

/// The elements [from, to) one after the other; indices count from the tensor's start.
inline void add_elements(TensorStats& stats, TensorView tensor, std::uint64_t from,
                         std::uint64_t to) {
  stats.count += to - from;
  for_each_element(tensor, from, to,
                   [&](std::uint64_t index, double value) { add_element(stats, index, value); });
}

}  // namespace aplomb::scan
