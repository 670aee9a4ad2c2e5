#include "log_text/pair_lines.h"

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "log_text/record_of_pairs.h"

namespace aplomb::log_text {
namespace {

constexpr LineResult k_words{.taken = true, .words = true};

}  // namespace

LineResult PairLines::line(const LogLine& line) {
  const std::vector<Pair>& pairs = finder_.find(line.text);
  if (pairs.empty()) return code_.begins(line.text, line.where.number) ? k_words : LineResult{};
  if (timers(line.text)) return put(line.where);
  if (code_.is_code(line.text, line.where.number)) return k_words;
  if (states_record(line.text, pairs, keys_, line.where.number, queue_.last_line())) {
    gather_record(line.text, pairs, keys_, record_);
    shapes_.learn(line.text, pairs, finder_.tokens(), record_);
    return put(line.where);
  }
  if (prints_settings(line.text, pairs)) return k_words;
  // What stands there may be a sentence that names a step.
  if (place_only(pairs, line.where)) return k_words;
  return learn(line, pairs);
}

/// A sentence that holds one number (`with fp16 the loss is nan`) says more than the number.
LineResult PairLines::put(const Where& where) {
  const bool sentence = record_.samples.size() <= 1 && !record_.place.counts();
  queue_.record(record_, where);
  return {.taken = true, .words = sentence};
}

/// `time (ms) | forward: 376.60 | step: 22880.87`: what DeepSpeed and Megatron print of their
/// timers; here `step` is no count.
bool PairLines::timers(std::string_view text) {
  const std::string_view body = core::trim(text);
  if (!body.starts_with("time (ms)")) return false;
  record_.clear();
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
  return !record_.samples.empty();
}

/// A line that says where the run stands, and whether it says nothing else.
bool PairLines::place_only(const std::vector<Pair>& pairs, const Where& where) {
  constexpr std::size_t k_most_pairs = 4;
  const Place place = place_of_pairs(pairs, keys_);
  const bool says = place.counts() || !std::isnan(place.epoch);
  if (!says || pairs.size() > k_most_pairs) return false;
  queue_.place(place, where.rank);
  return std::all_of(pairs.begin(), pairs.end(), [](const Pair& pair) {
    return pair.meaning != Meaning::metric && pair.meaning != Meaning::unknown;
  });
}

/// A line without a sure key: a record if its shape comes often enough.
LineResult PairLines::learn(const LogLine& line, const std::vector<Pair>& pairs) {
  const Where& where = line.where;
  Learner::Shape* shape = learner_.note(
      line.text, pairs, {where.rank, where.number, where.offset, place_of_pairs(pairs, keys_), {}});
  if (shape == nullptr) return k_words;
  LineResult result;
  for (const Learner::Held& held : shape->held) {
    record_.clear();
    record_.place = held.place;
    for (std::size_t i = 0; i < shape->keys.size(); ++i) {
      if (shape->keys[i] != KeyTable::k_none && keys_[shape->keys[i]].meaning != Meaning::ignored)
        record_.samples.push_back({shape->keys[i], held.values[i]});
    }
    result = put({held.rank, held.number, held.offset});
  }
  shape->held.clear();
  return result;
}

}  // namespace aplomb::log_text
