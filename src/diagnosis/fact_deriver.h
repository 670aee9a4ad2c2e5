#pragma once
/// The workings of derive_facts(): one class, whose parts stand in files by what they speak of:
/// derived_facts.cpp the run and its configuration, lr_facts.cpp the learning rate and its
/// schedule, loss_facts.cpp the course of the loss.

#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text.h"
#include "diagnosis/diagnosis.h"

namespace aplomb::diagnosis {

/// Reads and writes one table; every derived fact inherits the evidence of those it follows from.
class FactDeriver {
 public:
  FactDeriver(const record::Run& run, FactTable& facts) : run_(run), facts_(facts) {}

  void run() {
    kind();
    precision();
    length();
    batch();
    learning_rate();
    onset();
    progress();
    magnitude();
    schedule();
    boxes();
    reinforcement();
    mistakes();
  }

 private:
  std::optional<double> number(std::string_view name) const {
    const record::Fact* fact = facts_.find(name);
    const double* held = fact == nullptr ? nullptr : core::as_number(fact->value);
    if (held == nullptr || std::isnan(*held)) return std::nullopt;
    return *held;
  }

  std::string text(std::string_view name) const {
    const record::Fact* fact = facts_.find(name);
    const std::string* held = fact == nullptr ? nullptr : core::as_text(fact->value);
    return held == nullptr ? std::string() : core::lower(*held);
  }

  bool truth(std::string_view name) const {
    const record::Fact* fact = facts_.find(name);
    return fact != nullptr && core::is_true(fact->value);
  }

  bool known(std::string_view name) const { return facts_.find(name) != nullptr; }

  void set(std::string name, core::Value value, std::string because,
           std::initializer_list<std::string_view> from = {}) {
    std::vector<record::Origin> evidence;
    for (const std::string_view source : from) {
      const record::Fact* fact = facts_.find(source);
      if (fact == nullptr) continue;
      evidence.insert(evidence.end(), fact->evidence.begin(), fact->evidence.end());
    }
    facts_.set({std::move(name), std::move(value), std::move(because), std::move(evidence)});
  }

  void kind();
  void precision();
  void length();
  void batch();
  void learning_rate();
  void onset();
  void progress();
  void generalisation();
  void climbs_from_start(double drop);
  void magnitude();
  void guess_in_a_scrap(const record::Series& loss);
  void schedule();
  void boxes();
  void sampler_agreement();
  void reward_at_top();
  void mistakes();
  void reinforcement();
  std::optional<double> lr_at(double step) const;
  void lr_path(double peak);
  std::optional<double> weights() const;
  bool trains_adapter() const;
  std::string lr_method() const;
  bool hugging_face_log() const;
  bool has_component(std::initializer_list<std::string_view> parts) const;
  bool has_framework(std::initializer_list<std::string_view> slugs) const;

  const record::Run& run_;
  FactTable& facts_;
};

/// Median of the finite samples of [begin, end); nothing where there is none.
std::optional<double> finite_median(const record::Series& series, std::size_t begin,
                                    std::size_t end);

}  // namespace aplomb::diagnosis
