#include "log_text/metric_tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "core/letters.h"
#include "core/text.h"
#include "log_text/number.h"

namespace aplomb::log_text {
namespace {

constexpr std::size_t k_longest_head = 600;
constexpr std::size_t k_most_columns = 64;
// Lines between rows: a validation's lines stand between the epochs of YOLO's table.
constexpr unsigned k_most_misses = 60;

/// Cells between bars, tabs, or blanks (two or more in a head with names of several words).
void split_by_blanks(std::string_view line, bool wide, std::vector<std::string_view>& out) {
  std::size_t at = 0;
  while (at < line.size()) {
    while (at < line.size() && core::is_blank(line[at])) ++at;
    std::size_t end = at;
    while (end < line.size()) {
      const bool gap =
          core::is_blank(line[end]) &&
          (!wide || line[end] == '\t' || (end + 1 < line.size() && core::is_blank(line[end + 1])) ||
           end + 1 == line.size());
      if (gap) break;
      ++end;
    }
    if (end > at) out.push_back(line.substr(at, end - at));
    at = end;
  }
}

void split_by(std::string_view line, char mark, std::vector<std::string_view>& out) {
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(mark, at), line.size());
    out.push_back(core::trim(line.substr(at, end - at)));
    at = end + 1;
  }
}

bool has_digit(std::string_view text) {
  return text.find_first_of("0123456789") != std::string_view::npos;
}

/// `iter,lr,train_bits,val_bits`: cells parted by commas alone.
bool has_commas(std::string_view line) {
  return std::count(line.begin(), line.end(), ',') >= 2 &&
         core::trim(line).find(' ') == std::string_view::npos;
}

/// `epoch  total  rec  kl | val_rec  val_kl`: bars between groups of columns, not between columns.
bool groups_columns(std::string_view line) {
  const std::string_view body = core::trim(line);
  if (body.starts_with('|')) return false;
  for (std::size_t at = 0; at <= body.size();) {
    const std::size_t end = std::min(body.find('|', at), body.size());
    const std::string_view cell = core::trim(body.substr(at, end - at));
    if (cell.find("  ") != std::string_view::npos) return true;
    at = end + 1;
  }
  return false;
}

/// A piece of every name of a column of steps or epochs: heads of other tables are not split.
bool may_count(std::string_view line) {
  static constexpr std::array<std::string_view, 11> k_pieces = {
      "poch", "tep", "ter", "POCH", "TEP", "TER", "pdate", "upd", "rames", "pisode", "it "};
  // ` ep | val_loss | val_acc`: short names count where they come first.
  static constexpr std::array<std::string_view, 5> k_first = {"ep", "it", "i", "e", "n"};
  const std::size_t begin = line.find_first_not_of(" \t#|*");
  const std::size_t end = line.find_first_of(" \t|,", begin);
  const std::string_view first =
      begin == std::string_view::npos ? std::string_view() : line.substr(begin, end - begin);
  const bool named = end != std::string_view::npos &&
                     std::find(k_first.begin(), k_first.end(), first) != k_first.end();
  return named || std::any_of(k_pieces.begin(), k_pieces.end(), [line](std::string_view piece) {
           return line.find(piece) != std::string_view::npos;
         });
}

/// `kl val_recon` among names that two blanks and more part: right-aligned columns of their own width.
bool has_single_blank(std::string_view text) {
  for (std::size_t at = 1; at + 1 < text.size(); ++at) {
    if (text[at] == ' ' && text[at - 1] != ' ' && text[at + 1] != ' ') return true;
  }
  return false;
}

/// What a head line is written with around its names.
std::string_view bare(std::string_view text) {
  while (!text.empty() && (text.front() == '#' || text.front() == '*' || text.front() == '`' ||
                           text.front() == '"' || core::is_blank(text.front())))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == '*' || text.back() == '`' || text.back() == '"' ||
                           text.back() == ':' || core::is_blank(text.back())))
    text.remove_suffix(1);
  return text;
}

/// A name as programs give their columns: `nt_xent`, `val/acc`, `|g|`, `5nn`; no word of a sentence.
bool is_column_name(std::string_view name) {
  bool letter = false;
  for (const char c : name) {
    const bool alpha = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    letter = letter || alpha;
    if (!alpha && !(c >= '0' && c <= '9') &&
        std::string_view("_-./|@%()").find(c) == std::string_view::npos)
      return false;
  }
  return letter;
}

/// Columns parted by tabs or commas, or named behind a `#`: what people write who want a table. Its
/// names may be any.
bool is_meant_as_table(std::string_view line, const std::vector<std::string_view>& names) {
  constexpr std::size_t k_least_columns = 3;
  const bool marked = core::trim(line).starts_with('#') ||
                      line.find('\t') != std::string_view::npos || has_commas(line);
  return marked && names.size() >= k_least_columns &&
         std::all_of(names.begin(), names.end(), is_column_name);
}

/// `grpo step 8/60`, `Epoch 3`: a short line that counts and holds no pair of name and value.
std::optional<Place> counted_by(std::string_view line) {
  constexpr std::size_t k_longest_title = 80;
  static constexpr std::array<std::string_view, 5> k_steps = {"step", "iteration", "iter", "update",
                                                              "it"};
  line = core::trim(line);
  if (line.size() > k_longest_title || line.find('=') != std::string_view::npos)
    return std::nullopt;
  std::vector<std::string_view> words;
  split_by_blanks(line, false, words);
  Place place;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string word = core::lower(bare(words[i]));
    const bool step = std::find(k_steps.begin(), k_steps.end(), word) != k_steps.end();
    if (!step && word != "epoch") continue;
    const Scanned count = scan_number(words[i + 1]);
    if (count.size == 0 || !(count.value >= 0)) continue;
    (step ? place.step : place.epoch) = count.value;
    const std::string_view rest = words[i + 1].substr(count.size);
    const Scanned total = rest.starts_with('/') ? scan_number(rest.substr(1)) : Scanned{};
    if (step && total.size > 0) place.step_total = total.value;
  }
  if (std::isnan(place.step) && std::isnan(place.epoch)) return std::nullopt;
  return place;
}

/// The frame of a table: no letter, no digit.
bool is_frame(std::string_view line) {
  const bool drawn =
      line.find("\u2500") != std::string_view::npos ||  // light, heavy and double bars
      line.find("\u2501") != std::string_view::npos ||
      line.find("\u2550") != std::string_view::npos || line.find("--") != std::string_view::npos ||
      line.find("==") != std::string_view::npos;
  return drawn && std::none_of(line.begin(), line.end(), [](char c) {
           return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
         });
}

}  // namespace

void TableWatch::split(std::string_view line, bool head) {
  parts_.clear();
  if (head) commas_ = line.find('|') == std::string_view::npos && has_commas(line);
  if (commas_) {
    split_by(core::trim(line), ',', parts_);
    return;
  }
  if (head) bars_ = line.find('|') != std::string_view::npos && !groups_columns(line);
  if (!bars_ && line.find('|') != std::string_view::npos) {
    unbarred_.assign(line);
    std::replace(unbarred_.begin(), unbarred_.end(), '|', ' ');
    split_by_blanks(core::trim(unbarred_), false, parts_);
    return;
  }
  if (bars_) {
    line = core::trim(line);
    if (line.starts_with('|')) line.remove_prefix(1);
    if (line.ends_with('|')) line.remove_suffix(1);
    split_by(line, '|', parts_);
    return;
  }
  const bool wide =
      head && !narrow_ &&
      (line.find("  ") != std::string_view::npos || line.find('\t') != std::string_view::npos);
  split_by_blanks(core::trim(line), wide, parts_);
}

bool TableWatch::title(std::string_view line) {
  if (core::trim(line).starts_with('|') || is_frame(line)) return titled_;
  const std::optional<Place> place = counted_by(line);
  titled_ = place.has_value();
  if (place) title_ = *place;
  return titled_;
}

/// The head of a table in bars that has no column of steps, right below a line that counts them.
bool TableWatch::drawn_head(std::string_view line) {
  static constexpr std::array<std::string_view, 5> k_names = {"metric", "metrics", "name", "key",
                                                              "measure"};
  if (!titled_ || !core::trim(line).starts_with('|')) return false;
  split(line, true);
  if (parts_.size() < 2 || parts_.size() > k_most_columns) return false;
  const std::string first = core::lower(bare(parts_[0]));
  const bool pairs =
      parts_.size() == 2 && std::find(k_names.begin(), k_names.end(), first) != k_names.end();
  std::vector<Column> columns;
  std::size_t known = 0;
  for (const std::string_view part : parts_) {
    const std::string_view name = bare(part);
    if (!is_column_name(name)) return false;
    Column column{keys_.find(name, false), Meaning::unknown};
    if (column.key != KeyTable::k_none) column.meaning = keys_[column.key].meaning;
    known += column.meaning == Meaning::metric ? 1 : 0;
    columns.push_back(column);
  }
  constexpr std::size_t k_least_known = 2;  // `loss | reward | n`
  if (!pairs && known < k_least_known) return false;
  for (std::size_t i = 0; !pairs && i < columns.size(); ++i) {
    if (columns[i].key == KeyTable::k_none) columns[i].key = keys_.learn(bare(parts_[i]), false);
  }
  columns_ = std::move(columns);
  shape_ = pairs ? Shape::name_value : Shape::one_row;
  misses_ = 0;
  return true;
}

/// The cells of a head; false where they are no names of columns.
bool TableWatch::names_of(std::string_view line) {
  constexpr std::size_t k_longest_name = 48;
  const std::string_view body = bare(line);
  // `epoch train_loss train_acc  val_loss`: two blanks between groups of names, not between names.
  narrow_ = body.find('_') != std::string_view::npos && body.find("  ") != std::string_view::npos &&
            has_single_blank(body);
  split(body, true);
  if (narrow_ && !std::all_of(parts_.begin(), parts_.end(), is_column_name)) {
    narrow_ = false;
    split(body, true);
  }
  return parts_.size() >= 2 && parts_.size() <= k_most_columns &&
         std::all_of(parts_.begin(), parts_.end(),
                     [](std::string_view part) { return part.size() <= k_longest_name; });
}

bool TableWatch::head(std::string_view line) {
  if (line.size() > k_longest_head || !may_count(line)) return false;
  if (line.find('=') != std::string_view::npos || !names_of(line)) return false;
  std::vector<Column> columns;
  bool counts = false;
  bool metric = false;
  for (const std::string_view part : parts_) {
    const std::string_view name = bare(part);
    Column column;
    // The loss of a table of its addends: YOLO of old.
    if (!name.empty()) column.key = keys_.find(name == "total" ? "total_loss" : name, false);
    if (column.key != KeyTable::k_none) column.meaning = keys_[column.key].meaning;
    if (column.key == KeyTable::k_none && has_digit(name) && core::parse_number(name)) return false;
    const bool place = column.meaning == Meaning::step || column.meaning == Meaning::epoch;
    counts = counts || place;
    metric = metric || column.meaning == Meaning::metric;
    columns.push_back(column);
  }
  if (!counts || !(metric || is_meant_as_table(line, parts_))) return false;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].key == KeyTable::k_none && !bare(parts_[i]).empty())
      columns[i].key = keys_.learn(bare(parts_[i]), false);
  }
  columns_ = std::move(columns);
  shape_ = Shape::rows;
  misses_ = 0;
  return true;
}

/// A row of a table under a title, in the place that the title counts.
bool TableWatch::titled_row(Record& out) {
  if (parts_.size() != columns_.size()) {
    columns_.clear();  // what follows is something else
    return false;
  }
  bool taken = true;
  if (shape_ == Shape::name_value) {
    const std::string_view name = bare(parts_[0]);
    Column column{is_column_name(name) ? keys_.find(name, false) : KeyTable::k_none};
    if (column.key == KeyTable::k_none && is_column_name(name))
      column.key = keys_.learn(name, false);
    taken = column.key != KeyTable::k_none && take_cell(bare(parts_[1]), column, out);
  } else {
    for (std::size_t i = 0; i < columns_.size(); ++i) take_cell(bare(parts_[i]), columns_[i], out);
    columns_.clear();  // rows under it would be of the same step: a comparison of other things
  }
  out.place = title_;
  titled_ = titled_ && shape_ == Shape::name_value;
  return taken && !out.samples.empty();
}

bool TableWatch::take_cell(std::string_view cell, const Column& column, Record& out) const {
  const Scanned found = scan_number(cell);
  if (found.size == 0) return false;
  const std::string_view rest = cell.substr(found.size);
  if (column.meaning == Meaning::step || column.meaning == Meaning::epoch) {
    const bool count = rest.empty() || rest.front() == '/' || rest.front() == ',';
    if (!count || !(found.value >= 0)) return false;
    (column.meaning == Meaning::step ? out.place.step : out.place.epoch) = found.value;
    return true;
  }
  const auto unit = unit_of(rest);
  if (!rest.empty() && !unit) return rest.front() == '/' || rest.front() == ':';
  if (column.key == KeyTable::k_none || column.meaning == Meaning::ignored) return true;
  const Key& key = keys_[column.key];
  const bool time = key.role == record::Role::step_time_s || key.role == record::Role::data_time_s;
  const bool memory = key.role == record::Role::memory_bytes;
  const bool measured = unit && ((time && unit->dimension == Dimension::time_s) ||
                                 (memory && unit->dimension == Dimension::bytes));
  out.samples.push_back({column.key, found.value * (measured ? unit->factor : key.scale)});
  return true;
}

bool TableWatch::row(std::string_view line, Record& out) {
  out.clear();
  if (shape_ != Shape::rows && is_frame(line)) return false;
  split(line, false);
  if (shape_ != Shape::rows) return titled_row(out);
  // The last head may span more cells than the rows do, by a bar or a time at the end, or by a list
  // of numbers (`action freq` above `0.10 0.18 0.72`).
  const bool more =
      !bars_ && parts_.size() > columns_.size() &&
      (parts_.size() == columns_.size() + 1 ||
       std::all_of(parts_.begin() + static_cast<std::ptrdiff_t>(columns_.size()), parts_.end(),
                   [](std::string_view cell) { return scan_number(cell).size == cell.size(); }));
  const bool fits = parts_.size() == columns_.size() || more;
  bool taken = fits;
  for (std::size_t i = 0; taken && i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    const bool count = column.meaning == Meaning::step || column.meaning == Meaning::epoch;
    const bool number = take_cell(bare(parts_[i]), column, out);
    taken = number || !count;
  }
  taken = taken && !out.samples.empty() &&
          (!std::isnan(out.place.step) || !std::isnan(out.place.epoch));
  if (!taken && ++misses_ > k_most_misses) columns_.clear();
  if (taken) misses_ = 0;
  return taken;
}

}  // namespace aplomb::log_text
