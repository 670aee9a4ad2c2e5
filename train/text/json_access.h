#pragma once
/// Members of simdjson's elements with a default: what tokenizer.json and its companions need.

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace aplomb::train::text {

using Json = simdjson::dom::element;

/// The member; nothing where it is missing or null, or `from` is no object.
inline std::optional<Json> member(const Json& from, std::string_view key) {
  Json found;
  if (from.get_object().error() != simdjson::SUCCESS) return std::nullopt;
  if (from[key].get(found) != simdjson::SUCCESS || found.is_null()) return std::nullopt;
  return found;
}
inline std::optional<std::string_view> text_member(const Json& from, std::string_view key) {
  std::string_view text;
  const auto found = member(from, key);
  if (!found || found->get_string().get(text) != simdjson::SUCCESS) return std::nullopt;
  return text;
}
inline bool flag_member(const Json& from, std::string_view key, bool fallback) {
  bool flag = fallback;
  const auto found = member(from, key);
  if (!found || found->get_bool().get(flag) != simdjson::SUCCESS) return fallback;
  return flag;
}
inline std::optional<std::int64_t> whole_member(const Json& from, std::string_view key) {
  std::int64_t number = 0;
  const auto found = member(from, key);
  if (!found || found->get_int64().get(number) != simdjson::SUCCESS) return std::nullopt;
  return number;
}
inline std::optional<simdjson::dom::array> array_member(const Json& from, std::string_view key) {
  simdjson::dom::array list;
  const auto found = member(from, key);
  if (!found || found->get_array().get(list) != simdjson::SUCCESS) return std::nullopt;
  return list;
}

}  // namespace aplomb::train::text
