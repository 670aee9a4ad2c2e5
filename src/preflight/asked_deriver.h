#pragma once
/// The workings of add_asked_facts(): one class, whose parts stand in files by what they speak of:
/// asked_facts.cpp the course of the run, asked_sizes.cpp what must fit together.

#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnosis/diagnosis.h"
#include "record/run.h"

namespace aplomb::preflight {

/// Reads and writes one table; every fact inherits the places of those that it follows from.
class Asked {
 public:
  using Names = std::initializer_list<std::string_view>;

  Asked(const record::Run& run, diagnosis::FactTable& facts) : run_(run), facts_(facts) {}

  void all() {
    trainer();
    method();
    size();
    batch();
    length();
    schedule();
    cadence();
    order();
    generation();
    lengths();
    adapter();
    tokens();
    evaluation();
    logits();
    precision();
    disagreement();
    driver();
  }

 private:
  std::optional<double> number(std::string_view name) const {
    const record::Fact* fact = facts_.find(name);
    const double* held = fact == nullptr ? nullptr : core::as_number(fact->value);
    if (held == nullptr || !std::isfinite(*held)) return std::nullopt;
    return *held;
  }
  std::optional<double> positive(std::string_view name) const {
    const auto held = number(name);
    return held && *held > 0 ? held : std::nullopt;
  }
  std::string text(std::string_view name) const {
    const record::Fact* fact = facts_.find(name);
    const std::string* held = fact == nullptr ? nullptr : core::as_text(fact->value);
    return held == nullptr ? std::string() : *held;
  }
  bool truth(std::string_view name) const {
    const record::Fact* fact = facts_.find(name);
    return fact != nullptr && core::is_true(fact->value);
  }
  void set(std::string name, core::Value value, std::string because, Names from = {}) {
    std::vector<record::Origin> evidence;
    for (const std::string_view source : from) {
      const record::Fact* fact = facts_.find(source);
      if (fact == nullptr) continue;
      evidence.insert(evidence.end(), fact->evidence.begin(), fact->evidence.end());
    }
    facts_.set({std::move(name), std::move(value), std::move(because), std::move(evidence)});
  }

  bool known(std::string_view name) const { return facts_.find(name) != nullptr; }

  void trainer();
  void method();
  void size();
  void batch();
  void length();
  void schedule();
  void cadence();
  void order();
  void best_checkpoint();
  void generation();
  void lengths();
  void adapter();
  void tokens();
  void evaluation();
  void logits();
  void precision();
  void disagreement();
  void driver();
  std::optional<double> ranks() const;

  const record::Run& run_;
  diagnosis::FactTable& facts_;
};

}  // namespace aplomb::preflight
