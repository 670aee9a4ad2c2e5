#include "discovery/file_kind.h"

#include <algorithm>
#include <array>
#include <string>

#include "core/text.h"
#include "input/json_cursor.h"
#include "sources/metric_names.h"

namespace aplomb::discovery {
namespace {

std::string_view leaf_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Moves past the next line and gives it without its end.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view line = core::trim(rest.substr(0, end));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

bool says_the_run(std::string_view name) {
  return sources::step_rank(name) > 0 || sources::is_bookkeeping(name) ||
         sources::name_metric(name).role != record::Role::other;
}

/// The keys of a hub's metadata between `---` and `---`
/// (huggingface.co/docs/hub/model-cards, "Model card metadata").
bool is_model_card(const sources::Sniff& artifact) {
  if (!core::iequals(leaf_of(artifact.path), "README.md")) return false;
  std::string_view rest = artifact.head;
  if (take_line(rest) != "---") return false;
  static constexpr std::array<std::string_view, 9> k_keys = {
      "library_name:", "base_model:",  "pipeline_tag:", "license:", "licence:",
      "model_name:",   "model-index:", "tags:",         "datasets:"};
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    if (line == "---") return false;
    if (std::any_of(k_keys.begin(), k_keys.end(),
                    [&](std::string_view key) { return line.starts_with(key); }))
      return true;
  }
  return false;
}

/// The words of `text`, parted by one blank: a terminal's page is wrapped at its width.
std::string unwrapped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (!blank) {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  return out;
}

/// JSON with a schema of aplomb that concludes something. The state of a run of `aplomb train` has a
/// schema too, and is evidence.
bool is_conclusion(std::string_view opening) {
  input::JsonCursor json(opening);
  if (json.peek() != input::JsonCursor::Kind::object) return false;
  json.enter_object();
  std::string_view key;
  if (!json.next_member(key) || key != "schema") return false;
  const std::string_view schema = json.text().value_or("");
  static constexpr std::array<std::string_view, 4> k_schemas = {"aplomb.report/", "aplomb.compare/",
                                                                "aplomb.plan/", "aplomb.lab/"};
  return std::any_of(k_schemas.begin(), k_schemas.end(),
                     [&](std::string_view each) { return schema.starts_with(each); });
}

/// A report as one of the renderers writes it, from its first byte on: what a log holds further
/// down is the log's own.
bool is_own_output(const sources::Sniff& artifact) {
  const std::string_view head = core::trim(artifact.head);
  constexpr std::size_t k_opening = 512;
  const std::string opening = unwrapped(head.substr(0, k_opening));
  if (is_conclusion(opening)) return true;
  if (core::lower(opening).starts_with("<!doctype html") &&
      opening.find("<meta name=\"generator\" content=\"aplomb ") != std::string::npos)
    return true;
  static constexpr std::array<std::string_view, 4> k_verdicts = {"HEALTHY ", "WARNING ",
                                                                 "UNSTABLE ", "FAILED "};
  if (std::none_of(k_verdicts.begin(), k_verdicts.end(),
                   [&](std::string_view word) { return head.starts_with(word); }))
    return false;
  return unwrapped(head).find(" More: --verbose") != std::string::npos;
}

bool is_number(std::string_view cell) { return core::parse_number(cell).has_value(); }

std::string_view bare(std::string_view cell) {
  cell = core::trim(cell);
  const bool quoted = cell.size() >= 2 && (cell.front() == '"' || cell.front() == '\'') &&
                      cell.back() == cell.front();
  return quoted ? cell.substr(1, cell.size() - 2) : cell;
}

/// What data sets have as well: a time and an acceleration say no run without a loss or a step.
bool says_little(std::string_view name) {
  static constexpr std::array<std::string_view, 5> k_names = {"t", "time", "acc", "accuracy",
                                                              "score"};
  return std::any_of(k_names.begin(), k_names.end(),
                     [name](std::string_view each) { return core::iequals(name, each); });
}

/// A header of two columns or more, none of which a run would log. A table without a header is left
/// to the reader.
bool is_data_csv(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  std::string_view first = take_line(head);
  const std::string_view second = take_line(head);
  if (first.empty() || second.empty()) return false;
  constexpr std::string_view k_delimiters = ",\t;|";
  const std::size_t at = first.find_first_of(k_delimiters);
  if (at == std::string_view::npos) return false;
  const char delimiter = first[at];
  while (true) {
    const std::size_t end = first.find(delimiter);
    const std::string_view cell = bare(first.substr(0, end));
    if (is_number(cell) || (says_the_run(cell) && !says_little(cell))) return false;
    if (end == std::string_view::npos) break;
    first.remove_prefix(end + 1);
  }
  // A log whose first line holds a comma is no table: its rows have other numbers of cells.
  return second.find(delimiter) != std::string_view::npos;
}

/// Names of the text columns in the dataset formats of TRL and the Hugging Face Hub
/// (huggingface.co/docs/trl/dataset_formats), and of Alpaca and SQuAD.
bool is_data_member(std::string_view key) {
  static constexpr std::array<std::string_view, 15> k_names = {
      "prompt",        "completion", "chosen",      "rejected", "messages",
      "conversations", "text",       "instruction", "question", "answer",
      "answers",       "context",    "input_ids",   "labels",   "output"};
  return std::find(k_names.begin(), k_names.end(), key) != k_names.end();
}

/// The first line is an object with a member of a data set and none of a run: what a trainer logs
/// of its completions has their step or reward beside them.
bool is_data_jsonl(std::string_view head) {
  input::JsonCursor json(take_line(head));
  if (json.peek() != input::JsonCursor::Kind::object) return false;
  json.enter_object();
  bool data = false;
  for (std::string_view key; json.next_member(key);) {
    const std::string name(key);
    if (json.peek() == input::JsonCursor::Kind::number && says_the_run(name)) return false;
    data = data || is_data_member(name);
    json.skip();
  }
  return data && !json.bad();
}

}  // namespace

FileKind kind_of(const sources::Sniff& artifact) {
  if (is_own_output(artifact)) return FileKind::own_output;
  if (is_model_card(artifact)) return FileKind::model_card;
  const std::string name = core::lower(leaf_of(artifact.path));
  const bool table =
      (name.ends_with(".csv") || name.ends_with(".tsv")) && is_data_csv(artifact.head);
  const bool rows = name.ends_with(".jsonl") && is_data_jsonl(artifact.head);
  return table || rows ? FileKind::data_table : FileKind::evidence;
}

std::string_view why_left_out(FileKind kind) {
  switch (kind) {
    case FileKind::model_card:
      return "[file] a model card: its tags and its text are no evidence of the run";
    case FileKind::own_output:
      return "[file] a report of aplomb: what was concluded before is no evidence";
    case FileKind::data_table:
      return "[file] rows of a data set: no column is a metric or a step";
    case FileKind::evidence:
      break;
  }
  return {};
}

}  // namespace aplomb::discovery
