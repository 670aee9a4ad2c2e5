#include "live/cost.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace aplomb::live {
namespace {

constexpr std::size_t k_longest_currency = 8;  // bytes

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

bool is_currency(std::string_view word) {
  return word.size() <= k_longest_currency && std::all_of(word.begin(), word.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte >= 0x80U || byte == '$' || (byte >= 'A' && byte <= 'Z') ||
                  (byte >= 'a' && byte <= 'z');
         });
}

}  // namespace

std::optional<Price> price_from(std::string_view text) {
  const std::size_t begin = text.find_first_of("0123456789.");
  if (begin == std::string_view::npos) return std::nullopt;
  const std::string_view before = trimmed(text.substr(0, begin));
  text.remove_prefix(begin);
  Price price;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), price.per_hour,
                                            std::chars_format::fixed);
  if (fault != std::errc() || !std::isfinite(price.per_hour)) return std::nullopt;
  const std::string_view behind = trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
  if ((!before.empty() && !behind.empty()) || !is_currency(before) || !is_currency(behind))
    return std::nullopt;
  price.currency = before.empty() ? behind : before;
  return price;
}

nlohmann::ordered_json cost_json(const Price& price, std::optional<double> began, double ended) {
  nlohmann::ordered_json so_far = nullptr;
  if (began && ended >= *began)
    so_far = std::round(100 * price.per_hour * (ended - *began) / 3600) / 100;
  return {{"so_far", so_far}, {"per_hour", price.per_hour}, {"currency", price.currency}};
}

std::optional<double> born(const std::string& path) {
  struct statx about{};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_BTIME, &about) != 0 ||
      (about.stx_mask & STATX_BTIME) == 0)
    return std::nullopt;
  return static_cast<double>(about.stx_btime.tv_sec) +
         1e-9 * static_cast<double>(about.stx_btime.tv_nsec);
}

}  // namespace aplomb::live
