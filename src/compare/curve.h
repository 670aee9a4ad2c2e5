#pragma once
/// Curve: one metric of one run over an axis, one value a place; and two Curves side by side.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/run.h"

namespace aplomb::compare {

enum class Axis { step, tokens };

/// In rising order of `at`. A step that was done again after a restart counts with its last value.
/// Values may be NaN or Inf.
struct Curve {
  std::vector<double> at;  ///< steps (exact: below 2^53) or tokens
  std::vector<double> value;
  std::size_t size() const { return at.size(); }
};

/// `kind`: how to take the steps; an ordinal one numbers the samples.
Curve curve_of(const record::Series& series, record::StepKind kind);

/// The canonical name (knowledge/series.yaml) of running counts of tokens, whatever a trainer calls
/// them.
constexpr std::string_view k_tokens_seen = "tokens_seen";

/// How many tokens a run has seen by each step: from a running count that it logs, or else from the
/// tokens of a step that its settings state. Nothing where it tells neither.
class TokenClock {
 public:
  static std::optional<TokenClock> of(const record::Run& run);
  /// The same metric over tokens.
  Curve over_tokens(const Curve& over_steps) const;

 private:
  Curve count_;  // tokens by step; empty where per_step_ says it
  double per_step_ = 0;
};

/// Values of two curves at the places that both have.
struct Pairs {
  std::vector<double> at;
  std::vector<double> a;
  std::vector<double> b;
  /// No places in common: A's values are linear between its neighbours. Then equality means
  /// nothing.
  bool between = false;
  std::size_t size() const { return at.size(); }
};

/// Whether statistics may be made of the two: both finite, and so far from the largest double that
/// no sum or square of their differences overflows.
bool is_usable(double a, double b);

/// At equal places; where those are fewer than half of what the shorter curve has in the common
/// range, at B's places in it.
Pairs pair(const Curve& a, const Curve& b);

/// The curve at these places (rising), linear between neighbours; NaN outside of it.
std::vector<double> values_at(const Curve& curve, const std::vector<double>& places);

}  // namespace aplomb::compare
