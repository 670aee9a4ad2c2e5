#include "log_survey/line_survey.h"

#include <algorithm>
#include <initializer_list>

#include "core/bytes.h"
#include "core/decimal.h"
#include "core/literal_filter.h"
#include "core/text.h"
#include "knowledge/framework.h"
#include "log_errors/signature_table.h"
#include "log_text/bars.h"
#include "log_text/digit_shape.h"
#include "log_text/record_of_pairs.h"

namespace aplomb::log_survey {

using log_errors::SignatureTable;
using log_text::Meaning;
using log_text::Prefix;

namespace {

// Shares of the bound. Records get most: they are what the detectors judge.
constexpr std::uint64_t k_head_share = 8;
constexpr std::uint64_t k_tail_share = 8;
constexpr std::uint64_t k_windows_share = 8;
constexpr std::uint64_t k_records_share = 3;
constexpr std::uint64_t k_serious_share = 8;  // of warnings, of failures
constexpr std::uint64_t k_new_share = 8;
constexpr std::uint64_t k_windows = 16;
constexpr std::uint64_t k_block_pays = 16384;   // bytes of the bound for the extremes of one block
constexpr std::uint32_t k_most_new = 2;         // lines of one new shape
constexpr std::uint64_t k_around_bytes = 4096;  // beside a serious line, each way
constexpr std::uint64_t k_merged_bytes = 256;   // a smaller gap is read
constexpr std::size_t k_lines_before_extreme = 3;  // what the detectors hold it against
constexpr std::uint32_t k_most_turns = 1000;       // from a number to none and back, of one metric

core::LiteralFilter filter_of(std::initializer_list<const char*> words) {
  core::LiteralFilter made;
  for (const char* word : words) made.add(word, 0);
  made.build();
  return made;
}

/// What says of a line that something failed, whoever wrote it.
const core::LiteralFilter& failure_words() {
  static const core::LiteralFilter filter =
      filter_of({"error",   "exception",  "traceback", "fatal",         "killed",  "abort",
                 "diverg",  "non-finite", "nonfinite", "not finite",    "infinit", "failed",
                 "failure", "timed out",  "timeout",   "out of memory", "crash",   "core dumped",
                 "corrupt", "preempt",    "evict",     "rollback"});
  return filter;
}

/// What may be harmless, and comes in floods.
const core::LiteralFilter& warning_words() {
  static const core::LiteralFilter filter =
      filter_of({"warning", "signal", "overflow", "underflow", "invalid", "skipping", "skipped",
                 "restart", "resum", "mismatch", "unstable"});
  return filter;
}

bool holds_any(const core::LiteralFilter& filter, std::string_view text) {
  bool hit = false;
  filter.scan(text, [&hit](std::uint32_t, std::size_t) { hit = true; });
  return hit;
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// `nan` or `inf` as a word of its own, in either case.
bool names_no_number(std::string_view text) {
  for (std::size_t i = 0; i + 3 <= text.size(); ++i) {
    const char first = static_cast<char>(text[i] | 0x20);
    if (first != 'n' && first != 'i') continue;
    const std::string_view word = text.substr(i, 3);
    if (!core::iequals(word, "nan") && !core::iequals(word, "inf")) continue;
    const bool begins = i == 0 || !is_letter_or_digit(text[i - 1]);
    const bool ends = i + 3 == text.size() || !is_letter_or_digit(text[i + 3]);
    if (begins && ends) return true;
  }
  return false;
}

/// Bytes of colours and cursor movements as blanks: what stands behind them keeps its place.
std::string_view without_colours(std::string_view text, std::string& plain) {
  if (text.find('\x1b') == std::string_view::npos) return text;
  plain.assign(text);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (plain[i] != '\x1b') continue;
    plain[i++] = ' ';
    if (i >= plain.size() || plain[i] != '[') continue;
    while (i < plain.size() && !(plain[i] >= '@' && plain[i] <= '~' && plain[i] != '['))
      plain[i++] = ' ';
    if (i < plain.size()) plain[i] = ' ';
  }
  return plain;
}

bool is_place(Meaning meaning) {
  return meaning == Meaning::step || meaning == Meaning::epoch || meaning == Meaning::inner;
}

bool is_measured(const Pair& pair) {
  return pair.meaning == Meaning::metric || pair.meaning == Meaning::unknown;
}

}  // namespace

LineSurvey::LineSurvey(std::string_view head, std::uint64_t size, std::uint64_t most_bytes)
    : size_(size),
      most_(std::max<std::uint64_t>(most_bytes, 4096)),
      style_(log_text::prefix_style(head)),
      keys_(knowledge::detect_framework(head)),
      finder_(keys_),
      shapes_(k_slots) {
  bounds_.stretch_end = most_ / k_head_share;
  bounds_.next_window = bounds_.stretch_end + size / (k_windows + 1);
  const auto blocks = std::clamp<std::uint64_t>(most_ / k_block_pays, 16, k_most_blocks);
  bounds_.block_bytes = std::max<std::uint64_t>(size / blocks, 1);
  bounds_.block_end = bounds_.block_bytes;
}

LineSurvey::Shape& LineSurvey::shape_of(std::string_view text) {
  const std::uint64_t hash = log_text::digit_shape(text);
  Shape& shape = shapes_[(hash >> 40U) % k_slots];
  if (shape.hash != hash) {
    shape = Shape{};
    shape.hash = hash;
    look_at(text, shape);
  }
  return shape;
}

/// A shape for the first time.
void LineSurvey::look_at(std::string_view text, Shape& shape) {
  const std::string_view plain = without_colours(text, plain_);
  const Prefix prefix = log_text::read_prefix(plain, style_);
  const std::string_view body = plain.substr(prefix.size);
  shape.bar = log_text::find_bar(body).has_value();
  bars_ = bars_ || shape.bar;
  const std::vector<Pair>& pairs = finder_.find(body);
  shape.placed = std::any_of(pairs.begin(), pairs.end(),
                             [](const Pair& pair) { return is_place(pair.meaning); });
  const bool measured = std::any_of(pairs.begin(), pairs.end(), is_measured);
  if (measured && !log_text::prints_settings(body, pairs)) {
    shape.kind = kind_of(pairs);
    take_fields(text, pairs, prefix.size, shape);
    if (log_text::states_record(body, pairs, keys_, tally_.lines, last_record_line_))
      last_record_line_ = tally_.lines;
  }
  // A metric that is no number is measured; `val_loss nan` may stand in every record.
  shape.gravity = gravity_of(plain, shape.fields == 0);
}

LineSurvey::Gravity LineSurvey::gravity_of(std::string_view text, bool prose) {
  const SignatureTable& known = SignatureTable::instance();
  Gravity gravity = holds_any(warning_words(), text) ? Gravity::warning : Gravity::none;
  known.filter().scan(text, [&](std::uint32_t owner, std::size_t) {
    const bool failed = known.all()[owner]->severity >= core::Severity::unstable;
    gravity = std::max(gravity, failed ? Gravity::failure : Gravity::warning);
  });
  if ((prose && names_no_number(text)) || holds_any(failure_words(), text))
    gravity = Gravity::failure;
  return gravity;
}

std::uint8_t LineSurvey::kind_of(const std::vector<Pair>& pairs) {
  std::uint64_t keys = 0;
  for (const Pair& pair : pairs) {
    if (is_measured(pair)) keys += (pair.key + 1) * 0x9FB21C651E98DF25U;
  }
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    if (kinds_[i].keys == keys) return static_cast<std::uint8_t>(i);
  }
  if (kinds_.size() == k_most_kinds) return k_most_kinds - 1;  // the last holds all others
  kinds_.push_back({});
  kinds_.back().keys = keys;
  return static_cast<std::uint8_t>(kinds_.size() - 1);
}

/// Those that detectors know first: where a line has more numbers than a shape holds, the others
/// are left out.
void LineSurvey::take_fields(std::string_view text, const std::vector<Pair>& pairs,
                             std::size_t shift, Shape& shape) {
  if (text.size() > k_longest) return;
  for (const bool known : {true, false}) {
    for (const Pair& pair : pairs) {
      const bool has_role = keys_[pair.key].role != record::Role::other;
      if (is_measured(pair) && has_role == known) put_field(pair, shift, shape);
    }
  }
}

void LineSurvey::put_field(const Pair& pair, std::size_t shift, Shape& shape) {
  if (shape.fields == k_most_fields || pair.end - pair.begin > 255) return;
  std::size_t index = 0;
  while (index < watched_.size() && watched_[index].key != pair.key) ++index;
  if (index == watched_.size()) {
    if (index == k_most_watched) return;
    watched_.push_back({});
    watched_.back().key = pair.key;
  }
  shape.at[shape.fields++] = {static_cast<std::uint16_t>(pair.begin + shift),
                              static_cast<std::uint8_t>(pair.end - pair.begin),
                              static_cast<std::uint8_t>(index)};
}

void LineSurvey::line(std::string_view text, Pick at) {
  ++tally_.lines;
  Shape& shape = shape_of(text.substr(0, k_longest));
  if (shape.seen != 0xFFFFFFFFU) ++shape.seen;
  at.before = commonest_seen_;
  if (shape.kind != k_no_kind) {
    Kind& kind = kinds_[shape.kind];
    ++tally_.records;
    ++kind.seen;
    if (shape.kind == commonest_) ++commonest_seen_;
  }
  at.after = commonest_seen_;
  while (at.begin >= bounds_.block_end && bounds_.block_end < size_) close_block();
  stretch(at);
  if (next_too_) add(at);
  next_too_ = false;
  if (shape.kind != k_no_kind) record(text, shape, at);
  words(shape, at);
  remember(at);
}

/// Head, windows and tail: every line of them.
void LineSurvey::stretch(const Pick& at) {
  if (at.begin < bounds_.stretch_end || at.end + most_ / k_tail_share >= size_) {
    add(at);
    return;
  }
  if (commonest_ == k_no_kind) choose_commonest();
  if (at.begin < bounds_.next_window) return;
  bounds_.stretch_end = at.begin + most_ / k_windows_share / k_windows;
  bounds_.next_window = at.begin + size_ / (k_windows + 1);
  add(at);
}

/// By what the head has: the records that are counted where lines state no step.
void LineSurvey::choose_commonest() {
  std::size_t best = 0;
  for (std::size_t i = 1; i < kinds_.size(); ++i) {
    if (kinds_[i].seen > kinds_[best].seen) best = i;
  }
  commonest_ = static_cast<std::uint8_t>(kinds_.empty() ? k_most_kinds : best);
}

void LineSurvey::record(std::string_view text, const Shape& shape, const Pick& at) {
  for (std::size_t i = 0; i < shape.fields; ++i) measure(text, shape.at[i], at);
  if (at.begin < bounds_.stretch_end) return;  // read anyhow
  Kind& kind = kinds_[shape.kind];
  if (kind.seen % kind.stride != 0) return;
  Pick taken = bars_ ? with_lines_before(at, 1, k_around_bytes) : at;
  next_too_ = bars_;
  if (!shape.placed && place_fresh_) {
    kind.picks.push_back(place_);
    kind.bytes += place_.end - place_.begin;
    place_fresh_ = false;
  }
  kind.picks.push_back(taken);
  kind.bytes += taken.end - taken.begin;
  if (kind.bytes > most_ / k_records_share) thin(kind);
}

/// Every second pick goes.
void LineSurvey::thin(Kind& kind) {
  kind.stride *= 2;
  kind.bytes = 0;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < kind.picks.size(); i += 2) {
    kind.picks[kept] = kind.picks[i];
    kind.bytes += kind.picks[kept].end - kind.picks[kept].begin;
    ++kept;
  }
  kind.picks.resize(kept);
}

void LineSurvey::measure(std::string_view text, const Field& field, const Pick& at) {
  Watched& watched = watched_[field.watched];
  double value = 0;
  const std::string_view number = text.substr(field.begin, field.size);
  const bool bad = core::read_decimal(number, value) == 0;
  if (bad != watched.was_bad && watched.turns < k_most_turns) {
    ++watched.turns;
    add(with_lines_before(at, k_lines_before_extreme, k_around_bytes));
  }
  watched.was_bad = bad;
  if (bad) {
    if (!watched.bad) watched.first_bad = at;
    watched.bad = true;
    return;
  }
  if (!watched.any || value < watched.least) {
    watched.least = value;
    watched.lowest = with_lines_before(at, k_lines_before_extreme, k_around_bytes);
  }
  if (!watched.any || value > watched.most) {
    watched.most = value;
    watched.highest = with_lines_before(at, k_lines_before_extreme, k_around_bytes);
  }
  watched.any = true;
}

void LineSurvey::close_block() {
  for (Watched& watched : watched_) {
    if (watched.any) {
      add(watched.lowest);
      add(watched.highest);
    }
    if (watched.bad) add(watched.first_bad);
    watched.any = false;
    watched.bad = false;
  }
  bounds_.block_end += bounds_.block_bytes;
}

/// What a line says beside its numbers.
void LineSurvey::words(const Shape& shape, const Pick& at) {
  if (shape.gravity != Gravity::none) return serious_line(shape, at);
  if (lines_after_ > 0) {
    --lines_after_;
    add(at);
    return;
  }
  if (shape.kind != k_no_kind) return;
  if (shape.placed) {
    place_ = at;
    place_fresh_ = true;
  }
  if (shape.bar || shape.seen > k_most_new) return;
  if (spent_.on_new + (at.end - at.begin) > so_far(most_ / k_new_share, at) + most_ / 64) {
    if (shape.seen == 1) ++tally_.new_left;
    return;
  }
  spent_.on_new += at.end - at.begin;
  add(at);
}

void LineSurvey::serious_line(const Shape& shape, const Pick& at) {
  ++tally_.serious;
  const bool due = shape.seen <= k_most_alike || (shape.seen & (shape.seen - 1)) == 0;
  if (!due) {
    if (lines_after_ > 0) add(at);
    if (lines_after_ > 0) --lines_after_;
    return;
  }
  const std::uint64_t bytes = at.end - at.begin;
  // A flood of warnings leaves room for what comes later, and the first of a shape for twice as much.
  const std::uint64_t allowed = so_far(most_ / k_serious_share, at) + most_ / 32;
  std::uint64_t& taken = spent_.serious[static_cast<std::size_t>(shape.gravity)];
  if (taken + bytes > (shape.seen == 1 ? 2 : 1) * allowed) {
    ++tally_.serious_left;
    return;
  }
  if (taken > allowed / 2) {
    taken += bytes;
    return add(at);
  }
  const Pick whole = with_lines_before(at, k_lines_around - 1, k_around_bytes);
  const bool within = !picks_.empty() && picks_.back().end >= whole.begin;
  taken += within ? bytes : whole.end - whole.begin;
  lines_after_ = k_lines_around;
  add(whole);
}

/// The share of `whole` that is due where so much of the log has been seen.
std::uint64_t LineSurvey::so_far(std::uint64_t whole, const Pick& at) const {
  const double passed = static_cast<double>(at.end) / static_cast<double>(size_ + 1);
  return static_cast<std::uint64_t>(static_cast<double>(whole) * passed);
}

void LineSurvey::remember(const Pick& at) { ring_[remembered_++ % k_lines_around] = at; }

/// `at` with so many of the lines before it.
Pick LineSurvey::with_lines_before(const Pick& at, std::size_t lines, std::uint64_t bytes) const {
  Pick out = at;
  for (std::size_t i = 1; i <= lines && i <= remembered_ && i < k_lines_around; ++i) {
    const Pick& before = ring_[(remembered_ - i) % k_lines_around];
    if (at.begin - before.begin > bytes) break;
    out.begin = before.begin;
    out.line = before.line;
    out.before = before.before;
    out.inside = before.inside;
  }
  return out;
}

void LineSurvey::add(const Pick& pick) {
  if (!picks_.empty() && pick.begin >= picks_.back().begin && pick.begin <= picks_.back().end) {
    if (pick.end > picks_.back().end) {
      picks_.back().end = pick.end;
      picks_.back().after = pick.after;
    }
    return;
  }
  picks_.push_back(pick);
}

std::vector<Pick> LineSurvey::finish() {
  bounds_.block_end = size_;
  close_block();
  std::uint64_t bytes = 0;
  for (const Kind& kind : kinds_) bytes += kind.bytes;
  while (bytes > most_ / k_records_share) {
    Kind& widest =
        *std::max_element(kinds_.begin(), kinds_.end(),
                          [](const Kind& a, const Kind& b) { return a.bytes < b.bytes; });
    bytes -= widest.bytes;
    thin(widest);
    bytes += widest.bytes;
    if (widest.picks.size() <= 1) break;
  }
  for (const Kind& kind : kinds_) {
    tally_.records_picked += kind.picks.size();
    picks_.insert(picks_.end(), kind.picks.begin(), kind.picks.end());
  }
  std::sort(picks_.begin(), picks_.end(),
            [](const Pick& a, const Pick& b) { return a.begin < b.begin; });
  std::vector<Pick> joined;
  for (const Pick& pick : picks_) {
    if (!joined.empty() && pick.begin <= joined.back().end + k_merged_bytes) {
      if (pick.end > joined.back().end) {
        joined.back().end = pick.end;
        joined.back().after = pick.after;
      }
      continue;
    }
    joined.push_back(pick);
  }
  return joined;
}

}  // namespace aplomb::log_survey
