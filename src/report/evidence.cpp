#include "report/evidence.h"

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "knowledge/written_key.h"

namespace aplomb::report {
namespace {

/// The text without ANSI escape sequences: CSI (`ESC [ ... letter`) and OSC (`ESC ] ... BEL`).
std::string without_ansi(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\x1b') {
      out += text[at];
      continue;
    }
    const char kind = at + 1 < text.size() ? text[at + 1] : '\0';
    if (kind == '[') {
      at += 2;
      while (at < text.size() && (text[at] < '@' || text[at] > '~')) ++at;
    } else if (kind == ']') {
      while (at < text.size() && text[at] != '\a') ++at;
    }
  }
  return out;
}

bool same_place(const record::Origin& a, const record::Origin& b) {
  return a.source == b.source && a.line == b.line && (a.line != 0 || a.offset == b.offset);
}

/// The same sample as two artifacts wrote it: logs round, binary formats keep single precision.
bool about_equal(double a, double b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return std::isnan(a) == std::isnan(b);
  return std::fabs(a - b) <= 1e-3 * std::max(std::fabs(a), std::fabs(b));
}

bool holds(const std::vector<Evidence>& found, const Evidence& wanted) {
  return std::any_of(found.begin(), found.end(), [&](const Evidence& each) {
    return each.path == wanted.path && each.line == wanted.line && each.text == wanted.text;
  });
}

}  // namespace

std::string tidy_line(std::string_view text, std::size_t width) {
  std::string clean = core::sanitize(without_ansi(text));
  std::replace(clean.begin(), clean.end(), '\t', ' ');
  return core::shorten(core::trim(clean), width);
}

std::vector<Evidence> EvidenceFinder::find(const std::vector<record::Origin>& origins) const {
  std::vector<Evidence> found;
  for (const record::Origin& origin : origins) {
    if (found.size() >= k_most_lines) break;
    if (origin.source >= run_.sources.size()) continue;
    Evidence evidence = evidence_of(readable(origin));
    if (!holds(found, evidence)) found.push_back(std::move(evidence));
  }
  return found;
}

/// By its step; or by its place, where the other artifact holds as many samples (a progress bar is
/// often one step behind). The values must agree.
std::optional<std::size_t> EvidenceFinder::same_sample(const record::Series& other,
                                                       const Sample& sample) {
  const record::Series& mine = *sample.series;
  const double value = mine.value[sample.index];
  const auto at = std::find(other.step.begin(), other.step.end(), mine.step[sample.index]);
  const auto by_step = static_cast<std::size_t>(at - other.step.begin());
  if (by_step < other.size() && about_equal(other.value[by_step], value)) return by_step;
  const bool by_place =
      other.size() == mine.size() && about_equal(other.value[sample.index], value);
  return by_place ? std::optional(sample.index) : std::nullopt;
}

record::Origin EvidenceFinder::readable(const record::Origin& origin) const {
  if (origin.line != 0) return origin;
  const auto sample = sample_at(origin);
  if (!sample) return origin;
  for (const record::Series& other : run_.series) {
    if (other.name != sample->series->name || other.empty() || other.line.front() == 0) continue;
    if (const auto index = same_sample(other, *sample)) return other.origin(*index);
  }
  return origin;
}

Evidence EvidenceFinder::evidence_of(const record::Origin& origin) const {
  const record::Source& source = run_.sources[origin.source];
  Evidence evidence;
  evidence.path = core::sanitize(source.path);
  evidence.line = origin.line;
  std::string said;  // what was read there, in our words, where the line itself cannot be had
  if (const record::Event* event = event_at(origin)) {
    evidence.step = event->step;
    said = event->text;
  } else if (const auto sample = sample_at(origin)) {
    evidence.step = sample->series->step[sample->index];
    said =
        sample->series->name + " = " + core::show_number(sample->series->value[sample->index], 6);
  } else if (const record::Setting* setting = setting_at(origin)) {
    said = knowledge::show_as_written(*setting);
  }
  if (line_at_ && origin.line != 0) {
    evidence.text = tidy_line(line_at_(source, origin), k_most_columns);
  }
  if (evidence.text.empty()) evidence.text = tidy_line(said, k_most_columns);
  return evidence;
}

std::optional<EvidenceFinder::Sample> EvidenceFinder::sample_at(
    const record::Origin& origin) const {
  for (const record::Series& series : run_.series) {
    if (series.source != origin.source) continue;
    // A reader goes through its artifact once, so the bytes of a series rise.
    const auto at = std::lower_bound(series.offset.begin(), series.offset.end(), origin.offset);
    const auto index = static_cast<std::size_t>(at - series.offset.begin());
    if (index < series.size() && same_place(series.origin(index), origin)) {
      return Sample{&series, index};
    }
  }
  return std::nullopt;
}

const record::Event* EvidenceFinder::event_at(const record::Origin& origin) const {
  for (const record::Event& event : run_.events) {
    if (same_place(event.origin, origin)) return &event;
  }
  return nullptr;
}

const record::Setting* EvidenceFinder::setting_at(const record::Origin& origin) const {
  for (const record::Setting& setting : run_.settings) {
    if (same_place(setting.origin, origin) && !setting.raw_key.empty()) return &setting;
  }
  return nullptr;
}

}  // namespace aplomb::report
