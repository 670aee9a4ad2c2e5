#pragma once
/// What a run has cost so far, where its price was told.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace aplomb::live {

/// Of all that a run uses, for an hour.
struct Price {
  double per_hour = 0;
  std::string currency;  ///< as it was written: `EUR`, `$`; may be empty
};

/// `2.49`, `2.49 EUR`, `$2.49`. Nothing of anything else.
std::optional<Price> price_from(std::string_view text);

/// `{"so_far", "per_hour", "currency"}`, rounded to hundredths; `so_far` is null where the beginning is not known.
nlohmann::ordered_json cost_json(const Price& price, std::optional<double> began, double ended);

/// When a file was made, in seconds since 1970; nothing where its file system does not tell.
std::optional<double> born(const std::string& path);

}  // namespace aplomb::live
