#include "report/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace aplomb::report {
namespace {

constexpr double k_room = 0.06;  // of the range, above and below the line

/// Multiples of `step` from low to high.
std::vector<double> multiples(double low, double high, double step) {
  std::vector<double> out;
  constexpr double k_slack = 1e-9;  // of a step: 0.3 is not lost for being 0.30000000000000004
  const double last = std::floor(high / step + k_slack);
  for (double i = std::ceil(low / step - k_slack); i <= last; ++i) out.push_back(i * step);
  return out;
}

/// The widest of 1, 2 and 5 times a power of ten that gives at least `least` ticks.
std::vector<double> linear_ticks(double low, double high, int least) {
  const double power = std::pow(10.0, std::floor(std::log10((high - low) / least)));
  std::vector<double> out;
  for (const double factor : {10.0, 5.0, 2.0, 1.0, 0.5}) {
    out = multiples(low, high, factor * power);
    if (out.size() >= static_cast<std::size_t>(least)) break;
  }
  return out;
}

std::vector<double> log_ticks(double low, double high, int least) {
  std::vector<double> out;
  const double first = std::ceil(std::log10(low) - 1e-9);
  const double last = std::floor(std::log10(high) + 1e-9);
  if (last - first < 1) return linear_ticks(low, high, least);
  const double every = std::max(1.0, std::floor((last - first) / (least - 1)));
  for (double power = first; power <= last; power += every) out.push_back(std::pow(10.0, power));
  return out;
}

}  // namespace

double Axis::part_of(double value) const {
  const double a = log ? std::log10(low) : low;
  const double b = log ? std::log10(high) : high;
  const double v = log ? std::log10(std::max(value, low)) : value;
  return std::clamp((v - a) / (b - a), 0.0, 1.0);
}

Axis padded_axis(double least, double most, bool log) {
  if (log) {
    const double room = std::max(std::pow(most / least, k_room), 1.05);
    // Finite however extreme the values are.
    return {std::max(least / room, 1e-300), std::min(most * room, 1e300), true};
  }
  double room = (most - least) * k_room;
  if (!(room > 0)) room = least == 0 ? 1 : std::fabs(least) * 0.2;
  return {std::max(least - room, -1e300), std::min(most + room, 1e300), false};
}

std::vector<double> ticks(const Axis& axis, int least) {
  if (!(axis.high > axis.low)) return {axis.low};
  return axis.log ? log_ticks(axis.low, axis.high, least)
                  : linear_ticks(axis.low, axis.high, least);
}

std::string step_label(double step) {
  const double size = std::fabs(step);
  if (size >= 1e9) return core::show_number(step / 1e9, 4) + "G";
  if (size >= 1e6) return core::show_number(step / 1e6, 4) + "M";
  if (size >= 1e4) return core::show_number(step / 1e3, 4) + "k";
  return size == 0 ? "0" : fmt::format("{:.6g}", step);  // never -0
}

std::string value_label(double value) {
  if (std::fabs(value) < 1e-300) return "0";
  std::string text = core::show_number(value, 4);
  const std::size_t e = text.find('e');
  if (e == std::string::npos) return text;
  std::string exponent = text.substr(e + 1);
  const bool negative = exponent.front() == '-';
  exponent.erase(0, std::min(exponent.find_first_not_of("+-0"), exponent.size() - 1));
  return text.substr(0, e) + (negative ? "e-" : "e") + exponent;
}

}  // namespace aplomb::report
