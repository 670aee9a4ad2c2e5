#pragma once
/// JSON to text and back, for nlohmann's values. Their parser and writer are templates that cost a
/// second of compile time in each file that uses them; here they are made once.
///
///     Json value = json_from(text);            // value.is_discarded() where it is no JSON
///     std::string text = json_text(value, 2);  // two blanks a level; -1: all in one line
///
/// Text that is no UTF-8 is written with U+FFFD in its place. Thread-safe.

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace aplomb::core {

std::string json_text(const nlohmann::ordered_json& value, int indent = -1);
std::string json_text(const nlohmann::json& value, int indent = -1);
/// The same with every character outside ASCII as \uXXXX.
std::string ascii_json_text(const nlohmann::ordered_json& value);
std::string ascii_json_text(const nlohmann::json& value);

nlohmann::ordered_json ordered_json_from(std::string_view text);
nlohmann::ordered_json ordered_json_from(std::istream& text);
nlohmann::json json_from(std::string_view text);
nlohmann::json json_from(std::istream& text);

}  // namespace aplomb::core
