#pragma once
/// `--price-per-hour` of the commands that show a run while it trains.

#include <string>

#include "arguments/arguments.h"
#include "core/result.h"
#include "live/cost.h"

namespace aplomb::cli {

class PriceOption {
 public:
  void declare(const arguments::Verb& verb);
  const std::string& word() const { return word_; }
  /// Nothing where none is given. Errors: bad_usage.
  core::Result<std::optional<live::Price>> make() const;

 private:
  std::string word_;
};

}  // namespace aplomb::cli
