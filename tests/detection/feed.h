#pragma once
/// Curves and runs for the tests of detectors: made from seeds, so that a test draws hundreds and
/// is the same each time.

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "detection/detect.h"
#include "detectors/detector.h"
#include "record/run_builder.h"

namespace aplomb::testing {

inline constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double k_inf = std::numeric_limits<double>::infinity();

/// A Run with one artifact; series are given whole, with steps 0, every, 2 * every, ...
class RunOf {
 public:
  RunOf() : build_(run_), source_(build_.open("train.log", "text-log", 0)) {}

  RunOf& with(const std::string& name, record::Role role, const std::vector<double>& values,
              std::int64_t every = 1, std::int64_t from = 0,
              record::StepKind kind = record::StepKind::explicit_) {
    const record::SeriesId id = build_.series(source_, name, name, role, kind);
    std::int64_t step = from;
    for (const double value : values) {
      build_.append(id, step, value, static_cast<std::uint64_t>(step) + 1,
                    static_cast<std::uint64_t>(step) * 80 + 1);
      step += every;
    }
    return *this;
  }
  RunOf& loss(const std::vector<double>& values, std::int64_t every = 1, std::int64_t from = 0) {
    return with("loss", record::Role::loss, values, every, from);
  }
  RunOf& grad_norm(const std::vector<double>& values, std::int64_t every = 1) {
    return with("grad_norm", record::Role::grad_norm, values, every);
  }
  RunOf& at(const std::string& name, record::Role role, std::int64_t step, double value) {
    build_.append(build_.series(source_, name, name, role, record::StepKind::explicit_), step,
                  value, static_cast<std::uint64_t>(step) + 1,
                  static_cast<std::uint64_t>(step) * 80 + 1);
    return *this;
  }
  RunOf& set(const std::string& name, core::Value value) {
    build_.setting({name, std::move(value), name, "", {}});
    return *this;
  }

  aplomb::record::Run& run() { return run_; }
  std::vector<detectors::Symptom> detect() const { return aplomb::detection::detect(run_); }

 private:
  aplomb::record::Run run_;
  record::RunBuilder build_;
  record::SourceId source_;
};

inline const detectors::Symptom* find(const std::vector<detectors::Symptom>& symptoms,
                                      const std::string& id) {
  for (const detectors::Symptom& symptom : symptoms) {
    if (symptom.id == id) return &symptom;
  }
  return nullptr;
}
inline bool has(const std::vector<detectors::Symptom>& symptoms, const std::string& id) {
  return find(symptoms, id) != nullptr;
}

/// The worst severity among the symptoms, `note` where there is none.
inline core::Severity worst(const std::vector<detectors::Symptom>& symptoms) {
  core::Severity most = core::Severity::note;
  for (const detectors::Symptom& symptom : symptoms) most = std::max(most, symptom.severity);
  return most;
}

inline double number(const detectors::Symptom* symptom, const std::string& measure) {
  if (symptom == nullptr) return k_nan;
  const auto found = symptom->measures.find(measure);
  const double* value = found == symptom->measures.end() ? nullptr : core::as_number(found->second);
  return value == nullptr ? k_nan : *value;
}
inline bool flag(const detectors::Symptom* symptom, const std::string& measure) {
  if (symptom == nullptr) return false;
  const auto found = symptom->measures.find(measure);
  return found != symptom->measures.end() && core::is_true(found->second);
}
inline std::string word(const detectors::Symptom* symptom, const std::string& measure) {
  if (symptom == nullptr) return {};
  const auto found = symptom->measures.find(measure);
  const std::string* value =
      found == symptom->measures.end() ? nullptr : core::as_text(found->second);
  return value == nullptr ? std::string() : *value;
}

/// Symptoms as one text: for messages of failed expectations.
inline std::string told(const std::vector<detectors::Symptom>& symptoms) {
  std::string text;
  for (const detectors::Symptom& symptom : symptoms)
    text += std::string(name(symptom.severity)) + " " + symptom.id + ": " + symptom.summary + "\n";
  return text;
}

/// Draws from one seed.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  double normal() { return normal_(engine_); }
  double student3() {
    const double a = normal();
    const double b = normal();
    const double c = normal();
    return normal() / std::sqrt((a * a + b * b + c * c) / 3);
  }
  double uniform(double from, double to) { return from + (to - from) * unit_(engine_); }

 private:
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> unit_;
};

/// `n` values of `shape(i)` plus noise of `sigma` times `noise()`.
inline std::vector<double> curve(std::size_t n, const std::function<double(double)>& shape,
                                 const std::function<double()>& noise) {
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(shape(static_cast<double>(i)) + noise());
  return values;
}

/// The loss of a healthy language model: a power law from `start` to `floor`.
inline double power_law(double i, double start, double floor, double knee = 30) {
  return floor + (start - floor) * std::pow(1 + i / knee, -0.6);
}

}  // namespace aplomb::testing
