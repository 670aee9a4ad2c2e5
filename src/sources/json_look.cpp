#include "sources/json_look.h"

#include <algorithm>
#include <string>

#include "core/text.h"
#include "sources/metric_names.h"

namespace aplomb::sources {
namespace {

using Kind = input::JsonCursor::Kind;

constexpr std::size_t k_sniffed_lines = 8;

/// Roles that only a result has: a configuration may hold a learning rate, but no loss.
bool is_result(std::string_view key) {
  const record::Role role = name_metric(key).role;
  return role != record::Role::other && role != record::Role::lr && role != record::Role::epoch &&
         role != record::Role::loss_scale && role != record::Role::memory_bytes &&
         role != record::Role::count_;
}

/// Lists under a key: of numbers, or of records.
void look_at_list(input::JsonCursor& json, std::string_view key, JsonLook& look) {
  json.enter_array();
  if (!json.next_element()) return;
  look.columns = look.columns || (json.peek() == Kind::number && is_result(key));
  look.records = look.records || json.peek() == Kind::object;
  json.skip();
  while (json.next_element()) json.skip();
}

/// An object under a key: values by step, or metrics one level below.
void look_inside(input::JsonCursor& json, std::string_view key, JsonLook& look, int depth) {
  input::JsonCursor inside = json;
  std::string_view first;
  inside.enter_object();
  const bool member = inside.next_member(first);
  look.columns = look.columns || (member && is_step_number(first) && is_result(key));
  look.columns = look.columns || (member && first == "start_step");
  look_at(json, look, depth + 1);
}

double how_sure_of(const JsonLook& look, bool of_lines) {
  if (look.columns) return 0.7;
  if (of_lines && look.step && look.metric) return 0.8;
  if (look.result) return of_lines ? 0.7 : 0.5;
  return 0;
}

/// A log may print its settings as one object in a line of its own: what follows are no records.
bool is_a_line_among_others(std::string_view head) {
  constexpr double k_most = 0.5;
  const std::size_t first_end = head.find('\n');
  if (first_end == std::string_view::npos) return false;
  const std::string_view first = core::trim(head.substr(0, first_end));
  input::JsonCursor json(first);
  json.skip();
  if (first.empty() || first.front() != '{' || first.back() != '}' || json.bad()) return false;
  std::size_t lines = 0;
  std::size_t records = 0;
  while (!head.empty()) {
    const std::size_t end = head.find('\n');
    const std::string_view line = core::trim(head.substr(0, end));
    head.remove_prefix(end == std::string_view::npos ? head.size() : end + 1);
    if (line.empty()) continue;
    ++lines;
    if (line.front() == '{') ++records;
  }
  return static_cast<double>(records) < k_most * static_cast<double>(lines);
}

double sniff_lines(std::string_view head) {
  double most = 0;
  for (std::size_t i = 0; i < k_sniffed_lines && !head.empty(); ++i) {
    const std::size_t end = head.find('\n');
    const std::string_view line = core::trim(head.substr(0, end));
    head.remove_prefix(end == std::string_view::npos ? head.size() : end + 1);
    if (line.empty()) continue;
    input::JsonCursor json(line);
    if (line.front() != '{') return most;
    JsonLook look;
    look_at(json, look, 1);
    if (json.bad() && !head.empty()) return most;
    most = std::max(most, how_sure_of(look, true));
  }
  return most;
}

double sniff_document(std::string_view head) {
  input::JsonCursor json(head);
  JsonLook look;
  if (json.peek() == Kind::array) {
    json.enter_array();
    if (!json.next_element() || json.peek() != Kind::object) return 0;
    look_at(json, look, 0);
    return look.step && look.metric ? 0.8 : look.result ? 0.7 : 0;
  }
  look_at(json, look, 0);
  return how_sure_of(look, false);
}

}  // namespace

bool is_step_number(std::string_view key) {
  return !key.empty() &&
         std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
}

void look_at(input::JsonCursor& json, JsonLook& look, int depth) {
  if (!json.enter_object()) return;
  for (std::string_view key; json.next_member(key);) {
    const std::string name(key);
    switch (json.peek()) {
      case Kind::number:
        look.step = look.step || (step_rank(name) > 0 && step_rank(name) < 4);
        look.metric = look.metric || name_metric(name).role != record::Role::other;
        look.result = look.result || is_result(name);
        json.skip();
        break;
      case Kind::array:
        look_at_list(json, name, look);
        break;
      case Kind::object:
        if (depth < 2) {
          look_inside(json, name, look, depth);
        } else {
          json.skip();
        }
        break;
      default:
        json.skip();
    }
  }
}

double sniff_json_metrics(std::string_view head) {
  if (is_a_line_among_others(head)) return 0;
  return std::max(sniff_lines(head), sniff_document(head));
}

}  // namespace aplomb::sources
