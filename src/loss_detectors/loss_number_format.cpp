/// Losses that all are numbers of a 16-bit format: they were computed in it. A mean over a batch in
/// fp32 lies on such a number once in hundreds of times.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "detectors/support.h"

namespace aplomb::loss_detectors {
namespace {

constexpr std::size_t k_least = 8;  // different values
/// ln of the probability that numbers of no such format pass: once in a million logs.
constexpr double k_sure = -14;
constexpr int k_most_decimals = 8;

struct Format {
  const char* name;
  const char* id;
  int significand;  ///< bits of it, the hidden one among them
  int least_exponent;
};
constexpr std::array k_formats{Format{"bf16", "loss.in_bf16", 8, -126},
                               Format{"fp16", "loss.in_fp16", 11, -14}};

const detectors::DetectorSpec& loss_number_format_spec() {
  static const detectors::DetectorSpec spec{
      "loss.number_format",
      {"loss.in_bf16", "loss.in_fp16"},
      "Every logged loss is a number of a 16-bit format",
      "A loss that is computed in bf16 has three digits, and so has all before it: sums lose their "
      "small terms, weights kept so their small updates.",
      "loss 2.0781, 2.0625, 2.0938, 2.0469: steps of 1/64",
      {record::Role::loss},
      {{"least", static_cast<double>(k_least), "values", 3, 100, "fewer may lie there by chance"},
       {"sure", -k_sure, "nats", 5, 50, "one sound log in a million"}},
      {"https://arxiv.org/abs/1905.12322"}};
  return spec;
}

/// The spacing of a format's numbers at a value.
double spacing(double value, const Format& format) {
  const int exponent = std::max(std::ilogb(value), format.least_exponent);
  return std::ldexp(1.0, exponent - format.significand + 1);
}

class LossNumberFormatDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return loss_number_format_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    const detectors::Reading* loss = finite_of(frame, record::Role::loss);
    if (loss == nullptr || loss->value == 0) return;
    const detectors::Sample sample = sample_of(frame, *loss);
    if (count_++ == 0) first_ = sample;
    last_ = sample;
    if (kept_ == values_.size()) return;
    const double size = std::fabs(loss->value);
    if (std::find(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(kept_), size) ==
        values_.begin() + static_cast<std::ptrdiff_t>(kept_))
      values_[kept_++] = size;
  }

  void finish(const detectors::RunContext&, std::vector<detectors::Symptom>& out) override {
    if (kept_ < k_least) return;
    const double unit = std::pow(10.0, -decimals());
    for (const Format& format : k_formats) {
      const double chance = log_chance(format, unit);
      if (chance > k_sure) continue;
      detectors::Symptom symptom;
      symptom.id = format.id;
      symptom.severity = core::Severity::note;
      symptom.series = "loss";
      symptom.first_step = first_.step;
      symptom.last_step = last_.step;
      symptom.measures["values"] = static_cast<double>(kept_);
      symptom.summary = fmt::format("all of {} different losses are numbers of {}: computed in it",
                                    kept_, format.name);
      add_evidence(symptom, first_.origin);
      add_evidence(symptom, last_.origin);
      out.push_back(std::move(symptom));
      return;  // whatever is a number of bf16 is nearly always one of fp16 as well
    }
  }

 private:
  /// Decimals that were printed: the fewest that hold every value.
  int decimals() const {
    for (int digits = 0; digits < k_most_decimals; ++digits) {
      const double scale = std::pow(10.0, digits);
      const bool all = std::all_of(
          values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(kept_), [&](double value) {
            return std::fabs(value * scale - std::round(value * scale)) < 1e-6 * scale;
          });
      if (all) return digits;
    }
    return k_most_decimals;
  }

  /// ln of the probability that as many numbers of no format all lie within rounding of one of it;
  /// 0 where one of them does not.
  double log_chance(const Format& format, double unit) const {
    double log_chance = 0;
    for (std::size_t i = 0; i < kept_; ++i) {
      const double step = spacing(values_[i], format);
      const double off = std::fabs(values_[i] - std::round(values_[i] / step) * step);
      if (off > 0.5001 * unit) return 0;
      log_chance += std::log(std::min(1.0, unit / step));
    }
    return log_chance;
  }

  std::array<double, 256> values_{};
  std::size_t kept_ = 0;
  std::uint64_t count_ = 0;
  detectors::Sample first_;
  detectors::Sample last_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_loss_number_format_detector() {
  return std::make_unique<LossNumberFormatDetector>();
}

}  // namespace aplomb::loss_detectors
