#pragma once
/// The Report as a JSON value (schema aplomb.report/1), for the JSON renderer and for the page that
/// draws it.

#include <aplomb/report.h>

#include <nlohmann/json.hpp>

namespace aplomb::report {

/// Members in the contract's order. A number that is not finite becomes null, and where that would
/// lose something a member beside it says what it was: `last_text`, the third item of a chart
/// point.
nlohmann::ordered_json report_json(const Report& report);

/// Texts may come from anywhere: none of them may hide a character or turn a line around
/// (core::sanitize_lines). Done by json_text(); for those who write a value otherwise.
void make_visible(nlohmann::ordered_json& value);

/// Indented by two; a list of plain values (a chart's point, its steps) stays on one line. Always
/// valid UTF-8: bytes that are not become U+FFFD.
std::string json_text(const nlohmann::ordered_json& value);

}  // namespace aplomb::report
