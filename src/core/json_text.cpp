#include "core/json_text.h"

#include <istream>
#include <nlohmann/json.hpp>

namespace aplomb::core {
namespace {

constexpr auto k_replace = nlohmann::json::error_handler_t::replace;

}  // namespace

std::string json_text(const nlohmann::ordered_json& value, int indent) {
  return value.dump(indent, ' ', false, k_replace);
}

std::string json_text(const nlohmann::json& value, int indent) {
  return value.dump(indent, ' ', false, k_replace);
}

std::string ascii_json_text(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', true, k_replace);
}

std::string ascii_json_text(const nlohmann::json& value) {
  return value.dump(-1, ' ', true, k_replace);
}

nlohmann::ordered_json ordered_json_from(std::string_view text) {
  return nlohmann::ordered_json::parse(text, nullptr, false);
}

nlohmann::ordered_json ordered_json_from(std::istream& text) {
  return nlohmann::ordered_json::parse(text, nullptr, false);
}

nlohmann::json json_from(std::string_view text) {
  return nlohmann::json::parse(text, nullptr, false);
}

nlohmann::json json_from(std::istream& text) { return nlohmann::json::parse(text, nullptr, false); }

}  // namespace aplomb::core
