#include "cli/price_option.h"

namespace aplomb::cli {

void PriceOption::declare(const arguments::Verb& verb) {
  verb.option("--price-per-hour", word_,
              "of all that the run uses, for its cost so far: 2.49, or '2.49 EUR'")
      .value_name("PRICE");
}

core::Result<std::optional<live::Price>> PriceOption::make() const {
  if (word_.empty()) return std::nullopt;
  std::optional<live::Price> price = live::price_from(word_);
  if (price) return price;
  return core::fail(core::ErrorCode::bad_usage,
                    "--price-per-hour " + word_ + " is no price: write 2.49, or '2.49 EUR'");
}

}  // namespace aplomb::cli
