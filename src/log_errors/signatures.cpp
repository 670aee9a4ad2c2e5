#include "log_errors/signatures.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/text.h"
#include "tool_tables/quantity.h"

namespace aplomb::log_errors {
namespace {

constexpr std::size_t k_most_text = 400;  // Event::text

/// The part of a long line that the expressions see: mostly what follows the literal.
std::string_view window_around(std::string_view line, std::size_t position) {
  constexpr std::size_t k_before = SignatureMatcher::k_window / 4;
  if (line.size() <= SignatureMatcher::k_window) return line;
  const std::size_t from = position > k_before ? position - k_before : 0;
  return line.substr(from, SignatureMatcher::k_window);
}

/// Runs one expression over the text and adds what its named groups caught; names that are held
/// stay.
bool catch_groups(const RE2& expression, std::string_view text,
                  std::map<std::string, core::Value>& caught) {
  constexpr int k_most_groups = 16;
  re2::StringPiece groups[k_most_groups + 1];
  const int count = std::min(expression.NumberOfCapturingGroups(), k_most_groups);
  const re2::StringPiece piece(text.data(), text.size());
  if (!expression.Match(piece, 0, piece.size(), RE2::UNANCHORED, groups, count + 1)) return false;
  for (const auto& [name, index] : expression.NamedCapturingGroups()) {
    if (index > count || groups[index].data() == nullptr || groups[index].empty()) continue;
    caught.try_emplace(
        name, tool_tables::caught_value(name, {groups[index].data(), groups[index].size()}));
  }
  return true;
}

bool matches(const RE2& expression, std::string_view text) {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), expression);
}

/// A configuration printed in one line holds the words of many symptoms without meaning any.
bool is_dump(std::string_view line) {
  constexpr int k_many = 8;
  int pairs = 0;
  for (std::size_t at = line.find_first_of(":="); at != std::string_view::npos && pairs < k_many;
       at = line.find_first_of(":=", at + 1)) {
    const char before = at == 0 ? ' ' : line[at - 1];
    const bool quoted = before == '\'' || before == '"';
    if (quoted || (line[at] == '=' && before != ' ')) ++pairs;
  }
  return pairs >= k_many;
}

bool same_rank(int a, int b) { return a < 0 || b < 0 || a == b; }

std::string event_key(const Signature& signature, const record::Event& event) {
  std::string key = signature.kind;
  for (const std::string& name : signature.per) {
    if (name == "rank") {
      key += fmt::format("\x1f{}", event.rank);
    } else if (const auto found = event.caught.find(name); found != event.caught.end()) {
      key += '\x1f' + core::show(found->second);
    }
  }
  return key;
}

/// `File "/opt/lib/python3.11/site-packages/torch/nn/functional.py", line 2900, in layer_norm`
bool is_of_library(std::string_view frame) {
  return frame.find("site-packages/") != std::string_view::npos ||
         frame.find("dist-packages/") != std::string_view::npos ||
         frame.find("/torch/") != std::string_view::npos;
}

/// `File "/home/u/model.py", line 42, in forward` -> `model.py:42`
std::string place_in_file(std::string_view frame) {
  const std::string_view path = frame.substr(6, frame.find('"', 6) - 6);
  const std::size_t number = frame.find(", line ");
  std::string place = core::sanitize(path.substr(path.rfind('/') + 1));  // npos + 1 is 0
  if (number == std::string_view::npos) return place;
  const std::string_view digits = frame.substr(number + 7);
  return place + ':' + core::sanitize(digits.substr(0, digits.find_first_not_of("0123456789")));
}

}  // namespace

std::vector<std::string> places_of_frame(std::string_view frame) {
  const SignatureTable& table = SignatureTable::instance();
  std::vector<std::string> places;
  table.filter().scan(frame, [&](std::uint32_t owner, std::size_t) {
    const Signature& signature = *table.all()[owner];
    if (signature.role != SignatureRole::frame || signature.place == "traceback") return;
    if (std::find(places.begin(), places.end(), signature.place) == places.end())
      places.push_back(signature.place);
  });
  return places;
}

void SignatureMatcher::line(std::string_view line, std::uint64_t number, std::uint64_t offset,
                            int rank, record::RunBuilder& build, record::SourceId source) {
  lines_ = std::max(lines_, number);
  if (!open_.empty()) continue_open(line, rank, number, offset);
  tables_.line(line);
  const SignatureTable& table = SignatureTable::instance();
  hits_.clear();
  tries_.resize(table.all().size());
  table.filter().scan(line, [this](std::uint32_t owner, std::size_t position) {
    const bool known =
        std::any_of(hits_.begin(), hits_.end(), [&](const Hit& hit) { return hit.owner == owner; });
    if (!known) hits_.push_back({owner, position});
  });
  std::optional<bool> dump;  // looked at once, and not for words that were tried often enough
  for (const Hit& hit : hits_) {
    const Signature& signature = *table.all()[hit.owner];
    if (signature.role == SignatureRole::symptom) {
      if (++tries_[hit.owner] > k_most_tries) continue;
      if (!dump) dump = is_dump(line);
      if (*dump) continue;
    }
    const std::string_view window = window_around(line, hit.position);
    record::Event event;
    event.kind = signature.kind;
    event.severity = signature.severity;
    event.rank = rank;
    event.step = build.last_step(source);
    event.origin = {source, number, offset};
    if (signature.role != SignatureRole::frame)
      event.text = core::shorten(core::sanitize(core::trim(window)), k_most_text);
    try_signature(signature, window, std::move(event));
  }
}

void SignatureMatcher::try_signature(const Signature& signature, std::string_view window,
                                     record::Event event) {
  const Signature::Compiled& compiled = signature.compiled();
  if (compiled.require && !catch_groups(*compiled.require, window, event.caught)) return;
  if (compiled.unless && matches(*compiled.unless, window)) return;
  if (signature.role == SignatureRole::frame) {
    note_frame(signature, event);
    return;
  }
  if (signature.role == SignatureRole::table) {
    tables_.offer(signature.table, window, event.origin.line, event.origin.offset);
    return;
  }
  for (const auto& pattern : compiled.patterns) catch_groups(*pattern, window, event.caught);
  if (const auto rank = event.caught.find("rank"); event.rank < 0 && rank != event.caught.end()) {
    if (const double* value = core::as_number(rank->second)) event.rank = static_cast<int>(*value);
  }
  if (signature.role == SignatureRole::root) add_places(event);
  if (signature.lines > 0) {
    open_.push_back({&signature, std::move(event), signature.lines});
  } else {
    keep(signature, std::move(event));
  }
}

void SignatureMatcher::continue_open(std::string_view line, int rank, std::uint64_t number,
                                     std::uint64_t offset) {
  const std::string_view text = line.substr(0, k_window);
  for (Open& open : open_) {
    if (!same_rank(open.event.rank, rank)) continue;
    --open.lines_left;
    if (open.signature->stack) follow_stack(text, {open.event.origin.source, number, offset}, open);
    for (const auto& pattern : open.signature->compiled().patterns)
      catch_groups(*pattern, text, open.event.caught);
  }
  // A message that is complete leaves in the order in which it began.
  while (!open_.empty() && open_.front().lines_left == 0) {
    keep(*open_.front().signature, std::move(open_.front().event));
    open_.erase(open_.begin());
  }
}

void SignatureMatcher::follow_stack(std::string_view line, const record::Origin& at, Open& open) {
  const std::string_view text = core::trim(line);
  if (text.starts_with("File \"")) {
    const bool own = !is_of_library(text);
    open.takes_code = own || !open.has_own;
    open.has_own = open.has_own || own;
    open.frame = place_in_file(text);
    return;
  }
  if (open.frame.empty() || text.find_first_not_of("^~ ") == std::string_view::npos) return;
  if (!line.starts_with("    ") || text.starts_with('(')) {
    open.lines_left = 0;
    return;
  }
  if (!open.takes_code) return;
  open.takes_code = false;
  const std::string code = core::shorten(core::sanitize(text), k_most_text / 2);
  const auto op = open.event.caught.find("op_text");
  const std::string named = op == open.event.caught.end() ? std::string() : core::show(op->second);
  open.event.caught["line_text"] = code;
  open.event.origin = at;
  open.event.text = fmt::format("{}{}{}: {}", named, named.empty() ? "" : " at ", open.frame, code);
}

void SignatureMatcher::note_frame(const Signature& signature, const record::Event& at) {
  if (signature.place == "traceback") {  // a new stack begins: what stood in the one before is told
    std::erase_if(frames_, [&](const Frame& frame) { return same_rank(frame.rank, at.rank); });
    return;
  }
  for (Frame& frame : frames_) {
    if (frame.place != signature.place || frame.rank != at.rank) continue;
    frame.line = at.origin.line;
    return;
  }
  frames_.push_back({signature.place, at.origin.line, at.rank});
}

void SignatureMatcher::add_places(record::Event& event) const {
  for (const Frame& frame : frames_) {
    if (!same_rank(frame.rank, event.rank) || event.origin.line - frame.line > k_frame_reach)
      continue;
    event.caught.try_emplace(frame.place, true);
  }
}

void SignatureMatcher::keep(const Signature& signature, record::Event event) {
  const std::string key = event_key(signature, event);
  if (const auto known = by_key_.find(key); known != by_key_.end()) {
    Kept& kept = kept_[known->second];
    ++kept.times;
    // The first of a kind is often a bare repetition of a later, fuller message: keep the one with
    // the numbers.
    if (kept.first.caught.empty() && !event.caught.empty()) kept.first.caught = event.caught;
    kept.last = std::move(event);
    return;
  }
  std::size_t& of_kind = per_kind_[signature.kind];
  if (kept_.size() >= k_most_events || of_kind >= k_most_per_kind) return;
  ++of_kind;
  by_key_.emplace(key, kept_.size());
  const bool said = signature.role == SignatureRole::symptom && !signature.in_logs;
  kept_.push_back({std::move(event), {}, 1, said, signature.at_end});
}

void SignatureMatcher::finish(record::RunBuilder& build, record::SourceId source) {
  tables_.finish(build, source);
  for (Open& open : open_) keep(*open.signature, std::move(open.event));
  open_.clear();
  std::vector<record::Event> events;
  for (Kept& kept : kept_) {
    if (kept.only_said && lines_ > k_account_lines) continue;
    const std::uint64_t latest = kept.times > 1 ? kept.last.origin.line : kept.first.origin.line;
    if (kept.at_end && (lines_ > latest + k_behind_the_end || build.last_step(source))) continue;
    const auto times = static_cast<double>(kept.times);
    if (kept.times > 1) {
      kept.first.caught["times"] = times;
      events.push_back(std::move(kept.last));
    }
    events.push_back(std::move(kept.first));
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const record::Event& a, const record::Event& b) {
                     return a.origin.offset < b.origin.offset;
                   });
  for (record::Event& event : events) build.event(std::move(event));
  kept_.clear();
  by_key_.clear();
  per_kind_.clear();
  frames_.clear();
}

}  // namespace aplomb::log_errors
