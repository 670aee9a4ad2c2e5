#include "log_text/scanner.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text.h"
#include "knowledge/framework.h"
#include "log_text/prefix.h"

namespace aplomb::log_text {
namespace {

constexpr std::uint64_t k_most_restart_events = 16;
constexpr std::uint64_t k_record_reach = 8;      // lines of one record, head to end
constexpr std::uint64_t k_account_lines = 1000;  // a shorter text may be what a person wrote
constexpr std::uint64_t k_code_reach = 40;       // lines: program text around an assignment

void add_to(Place& place, const Pair& pair, const KeyTable& keys) {
  if (pair.meaning == Meaning::step && std::isnan(place.step)) {
    place.step = pair.value;
    place.step_total = pair.total;
    place.absolute = keys[pair.key].absolute;
  } else if (pair.meaning == Meaning::epoch && std::isnan(place.epoch)) {
    place.epoch = pair.value;
  } else if (pair.meaning == Meaning::inner && std::isnan(place.inner)) {
    place.inner = pair.value;
    place.inner_total = pair.total;
  }
}

bool has_fraction(const Pair& pair) { return !pair.integer; }

/// What begins a line of a program and no line of a log.
bool begins_like_code(std::string_view text) {
  static constexpr std::array<std::string_view, 22> k_heads = {
      "def ", "class ", "import ", "return ",    "elif ",  "else:",   "#include", "//",
      "/*",   "const ", "static ", "constexpr ", "print(", "print0(", "assert ",  "@torch",
      "if (", "for (",  "while ",  "self.",      "with ",  "parser."};
  return std::any_of(k_heads.begin(), k_heads.end(),
                     [text](std::string_view head) { return text.starts_with(head); });
}

/// `name = 0.5`, the whole line.
bool is_assignment(std::string_view text) {
  const std::size_t sign = text.find(" = ");
  if (sign == std::string_view::npos || sign == 0) return false;
  return text.substr(0, sign).find_first_of(" :|,[(") == std::string_view::npos;
}

}  // namespace

LogScanner::LogScanner(std::string_view head, record::RunBuilder& build, record::SourceId source,
                       Reading reading)
    : build_(build),
      source_(source),
      reading_(reading),
      keys_(knowledge::detect_framework(head)),
      finder_(keys_),
      bar_finder_(keys_),
      recorder_(keys_, build, source),
      learner_(keys_),
      tables_(keys_),
      numbered_(is_numbered(head)),
      restarts_(build.run().restarts) {
  if (build.source(source).framework.empty())
    build.source(source).framework = std::string(knowledge::detect_framework(head));
  seconds_key_ = keys_.learn("s/it", false);
}

void LogScanner::line(const Line& line) {
  if (reading_ == Reading::all) words_.line(line.text, line.number, line.offset);
  const Prefix prefix = read_prefix(line.text, numbered_);
  const std::string_view text = line.text.substr(prefix.size);
  const Where where{prefix.rank, line.number, line.offset};
  if (shapes_.match(text, matched_)) {
    put_line(matched_, where);
    return;
  }
  body(text, where, 0);
}

void LogScanner::body(std::string_view text, const Where& where, int depth) {
  if (core::trim(text).empty()) return;
  // Every line whose shape is not that of metrics seen before: what people write of a run often
  // holds numbers too.
  if (depth == 0) {
    if (reading_ == Reading::all)
      signatures_.line(text, where.number, where.offset, where.rank, build_, source_);
    said_nothing_ = false;
    if (known_dull(text, where.number)) {
      unexplained(text, where);
      return;
    }
  }
  if (traces_.line(text, where.rank, where.number, where.offset, records_)) {
    unexplained(text, where);
    return;
  }
  if (bar(text, where, depth)) return;
  if (tables_.open() && table_row(text, where, nullptr)) return;
  // A sentence that holds one number (`with fp16 the loss is nan`) says more than the number.
  const bool metrics = scan(finder_, text, where, nullptr);
  if (!metrics || (record_.samples.size() <= 1 && !record_.place.counts()))
    unexplained(text, where);
  if (depth == 0 && said_nothing_) dull_.note(text);
}

/// Whether such a line has been looked at before in vain, and nothing is open that it may belong
/// to.
bool LogScanner::known_dull(std::string_view text, std::uint64_t number) const {
  return number > k_account_lines && !tables_.open() && !traces_.open() && dull_.knows(text);
}

/// A row of the open table; YOLO's carry the bar of their epoch.
bool LogScanner::table_row(std::string_view text, const Where& where, const Bar* bar) {
  Place place;
  if (bar != nullptr && text.ends_with(':')) text.remove_suffix(1);
  if (!tables_.row(text, place, cells_)) return false;
  release(nullptr);
  flush_bar();
  if (bar != nullptr) {
    place.inner = bar->count;
    place.inner_total = bar->total;
  }
  recorder_.begin(place, where.rank, where.number, where.offset);
  ++records_;
  for (const TableWatch::Cell& cell : cells_) recorder_.sample(cell.key, cell.value);
  note_restart(where);
  return true;
}

/// Whether the line was one of metrics, or at least said where the run stands.
bool LogScanner::scan(PairFinder& finder, std::string_view text, const Where& where,
                      const Place* known_place) {
  const std::vector<Pair>& pairs = finder.find(text);
  if (pairs.empty()) {
    if (known_place != nullptr) return false;
    if (begins_like_code(core::trim(text))) {
      last_code_line_ = where.number;
      return false;
    }
    said_nothing_ = !tables_.head(text);
    return !said_nothing_;
  }
  if (known_place == nullptr && timers(text, where)) return true;
  if (is_code(text, where.number)) return false;
  if (is_record(text, pairs, where.number)) {
    gather(text, pairs);
    if (known_place == nullptr) {
      shapes_.learn(text, pairs, finder.tokens(), record_);
      put_line(record_, where);
    } else {
      record_.place = *known_place;
      put(record_, where);
    }
    return true;
  }
  if (known_place != nullptr) return false;
  if (place_only(pairs, where)) return false;
  return learn(text, pairs, where);
}

bool LogScanner::is_code(std::string_view text, std::uint64_t number) {
  const std::string_view body = core::trim(text);
  if (begins_like_code(body) || body.ends_with(';') || body.ends_with("){")) {
    last_code_line_ = number;
    return true;
  }
  const bool near = last_code_line_ != 0 && number - last_code_line_ < k_code_reach;
  return near && is_assignment(body);
}

bool LogScanner::is_record(std::string_view text, const std::vector<Pair>& pairs,
                           std::uint64_t number) const {
  bool counts = false;
  bool epoch = false;
  bool known = false;
  bool fraction = false;
  int weight = 0;
  for (const Pair& pair : pairs) {
    if (pair.meaning == Meaning::metric) {
      weight += keys_[pair.key].weight;
      known = true;
    } else if (pair.meaning == Meaning::unknown && pair.joint == Joint::sign) {
      fraction = fraction || has_fraction(pair);
    }
    // Settings are never NaN.
    if (pair.joint == Joint::sign && std::isnan(pair.value)) weight += 2;
    counts = counts || pair.meaning == Meaning::step || pair.meaning == Meaning::inner;
    epoch = epoch || pair.meaning == Meaning::epoch;
  }
  if (weight >= 2 || (counts && (known || fraction)) || (epoch && weight > 0)) return true;
  // ` >>> lr: 0.01` below the head of its record.
  const bool below = last_record_line_ != 0 && number - last_record_line_ <= k_record_reach;
  return known && below && (text.front() == ' ' || text.front() == '\t' || text.front() == '>');
}

/// `time (ms) | forward: 376.60 | step: 22880.87`: what DeepSpeed and Megatron print of their
/// timers; here `step` is no count.
bool LogScanner::timers(std::string_view text, const Where& where) {
  const std::string_view body = core::trim(text);
  if (!body.starts_with("time (ms)")) return false;
  record_.place = Place{};
  record_.samples.clear();
  record_.train_loss = false;
  for (std::size_t at = body.find('|'); at != std::string_view::npos;) {
    const std::size_t end = std::min(body.find('|', at + 1), body.size());
    const std::string_view cell = core::trim(body.substr(at + 1, end - at - 1));
    at = end < body.size() ? end : std::string_view::npos;
    const std::size_t colon = cell.find(": ");
    if (colon == std::string_view::npos) continue;
    const auto value = core::parse_number(core::trim(cell.substr(colon + 2)));
    if (!value) continue;
    timer_name_.assign("time/");
    timer_name_ += cell.substr(0, colon);
    record_.samples.push_back({keys_.learn(timer_name_, false), *value * 1e-3});
  }
  if (record_.samples.empty()) return false;
  put_line(record_, where);
  return true;
}

/// The samples and the place that the pairs of a line stand for.
void LogScanner::gather(std::string_view text, const std::vector<Pair>& pairs) {
  record_.place = Place{};
  record_.samples.clear();
  record_.train_loss = false;
  for (const Pair& pair : pairs) {
    add_to(record_.place, pair, keys_);
    KeyId key = pair.key;
    if (pair.meaning == Meaning::unknown)
      key = keys_.learn(text.substr(pair.key_begin, pair.key_end - pair.key_begin), false);
    if (key == KeyTable::k_none || keys_[key].meaning == Meaning::ignored) continue;
    const bool sampled = pair.meaning == Meaning::metric || pair.meaning == Meaning::unknown ||
                         (pair.meaning == Meaning::epoch && has_fraction(pair));
    if (!sampled) continue;
    const bool again =
        !pair.more && std::any_of(record_.samples.begin(), record_.samples.end(),
                                  [key](const Sample& sample) { return sample.key == key; });
    if (again) continue;
    record_.samples.push_back({key, pair.value});
    record_.train_loss = record_.train_loss || keys_[key].role == record::Role::loss;
  }
}

void LogScanner::put(const Record& record, const Where& where) {
  recorder_.begin(record.place, where.rank, where.number, where.offset);
  ++records_;
  last_record_line_ = where.number;
  for (const Sample& sample : record.samples) recorder_.sample(sample.key, sample.value);
  note_restart(where);
}

/// A line that says where the run stands and nothing else: the lines below it stand there too.
bool LogScanner::place_only(const std::vector<Pair>& pairs, const Where& where) {
  constexpr std::size_t k_most_pairs = 4;
  Place place;
  for (const Pair& pair : pairs) add_to(place, pair, keys_);
  const bool says = place.counts() || !std::isnan(place.epoch);
  if (!says || pairs.size() > k_most_pairs) return false;
  release(nullptr);
  flush_bar();
  recorder_.context(place, where.rank);
  return std::all_of(pairs.begin(), pairs.end(), [](const Pair& pair) {
    return pair.meaning != Meaning::metric && pair.meaning != Meaning::unknown;
  });
}

/// A line without a sure key: a record if its shape comes often enough.
bool LogScanner::learn(std::string_view text, const std::vector<Pair>& pairs, const Where& where) {
  Place place;
  for (const Pair& pair : pairs) add_to(place, pair, keys_);
  Learner::Shape* shape =
      learner_.note(text, pairs, {where.rank, where.number, where.offset, place, {}});
  if (shape == nullptr) return false;
  for (const Learner::Held& held : shape->held) {
    record_.place = held.place;
    record_.train_loss = false;
    record_.samples.clear();
    for (std::size_t i = 0; i < shape->keys.size(); ++i) {
      if (shape->keys[i] != KeyTable::k_none && keys_[shape->keys[i]].meaning != Meaning::ignored)
        record_.samples.push_back({shape->keys[i], held.values[i]});
    }
    put_line(record_, {held.rank, held.number, held.offset});
  }
  shape->held.clear();
  return true;
}

void LogScanner::say_restart(const Where& where) {
  restarts_ = build_.run().restarts;
  if (++restart_events_ > k_most_restart_events) return;
  record::Event event;
  event.kind = "restart";
  event.rank = where.rank;
  event.step = recorder_.tracker(where.rank).step();
  event.text = "the step goes back: the run starts again, or another run begins";
  event.origin = {source_, where.number, where.offset};
  build_.event(std::move(event));
}

void LogScanner::unexplained(std::string_view text, const Where& where) {
  if (reading_ != Reading::all) return;
  settings_.line(text, where.number, where.offset, build_, source_);
  claims_.line(text, where.number, where.offset);
}

void LogScanner::finish() {
  release(nullptr);
  flush_bar();
  recorder_.finish();
  traces_.finish(build_, source_, records_);
  signatures_.finish(build_, source_);
  settings_.finish(build_, source_);
  claims_.finish(build_, source_);
  words_.finish(build_, source_);
}

}  // namespace aplomb::log_text
