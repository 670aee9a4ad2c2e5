#include "task/score_series.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <string>

#include "core/text.h"
#include "record/score_course.h"
#include "task/metric_words.h"

namespace aplomb::task {
namespace {

using record::Series;

constexpr std::size_t k_least_measured = 3;  // two may both stand at the start
constexpr std::size_t k_window = 3;          // of first and last values, where there are many
constexpr std::size_t k_many = 9;

// Judgement, in view of outsiders' runs; there are no published bounds.
constexpr std::size_t k_least_stuck = 5;  // evaluations
constexpr double k_stuck_way = 0.05;      // of the way from the first value to 1
constexpr double k_stuck_share = 0.25;    // of the first value
constexpr double k_fair = 0.6;            // of 1: what begins here may be what is to be had
constexpr double k_nothing = 0.02;        // of 1
constexpr double k_still = 0.015;         // of the value, between the largest and the least

bool is_own_score(const Series& series, const MetricWords& words) {
  const bool own = series.role == record::Role::other || series.role == record::Role::eval_metric;
  const bool score = words.part == Part::none || words.part == Part::hits;
  return own && score && series.count >= k_least_measured && !words.extreme &&
         words.role != record::Role::loss;
}

/// The words of the name without those that say which data: `eval_exact_match` -> exact match,
/// `eval/pass@1` -> pass@1.
std::string plain_name(const Series& series) {
  std::string spaced = core::lower(series.raw_name);
  for (char& c : spaced) c = c == '_' || c == '/' || c == '.' ? ' ' : c;
  std::istringstream words(spaced);
  std::string name;
  for (std::string word; words >> word;) {
    if (is_data_word(word)) continue;
    name += (name.empty() ? "" : " ") + word;
  }
  return name;
}

double median_of_three(const double* at) {
  std::array<double, k_window> values{at[0], at[1], at[2]};
  std::sort(values.begin(), values.end());
  return values[1];
}

/// Overlap of held-out masks under its bare name: a score, where no losses stand beside it of which it would be one.
bool is_overlap(const record::Run& run, const Series& series, const MetricWords& words) {
  if (words.formula != "dice" || !words.held_out || core::icontains(series.raw_name, "loss") ||
      series.role == record::Role::eval_loss || series.min < 0 || series.max > 1)
    return false;
  return std::none_of(run.series.begin(), run.series.end(), [&](const Series& other) {
    const MetricWords said = metric_words(other.raw_name);
    return said.held_out && said.role == record::Role::loss && !said.formula.empty() &&
           said.formula != "dice" && said.formula != "objective";
  });
}

/// First, best and last value; of many values each is the median of three, for noise.
record::ScoreCourse course_of(const Series& series, bool more_is_better) {
  record::ScoreCourse course{more_is_better};
  course.share = more_is_better && series.min >= 0 && series.max <= 1;
  const bool smoothed = series.size() >= k_many;
  // An error that was measured many times from early on and stays is told; a share may be at its ceiling.
  course.ends = smoothed && !more_is_better;
  const std::size_t width = smoothed ? k_window : 1;
  for (std::size_t i = 0; i + width <= series.size(); ++i)
    course.add(smoothed ? median_of_three(&series.value[i]) : series.value[i]);
  return course;
}

bool is_told(const record::Run& run, const char* kind) {
  return std::any_of(run.events.begin(), run.events.end(),
                     [&](const record::Event& event) { return event.kind == kind; });
}

void note(record::Run& run, const char* kind, const Series& series, const std::string& name,
          double first, double last) {
  record::Event event;
  event.kind = kind;
  event.severity = core::Severity::note;
  event.text = series.raw_name;
  event.caught["name_text"] = name;
  event.caught["first"] = first;
  event.caught["last"] = last;
  event.caught["count"] = static_cast<double>(series.count);
  event.origin = series.origin(series.size() - 1);
  run.events.push_back(std::move(event));
}

/// The training loss falls to half and less.
bool learns(const record::Run& run) {
  const Series* loss = run.primary(record::Role::loss);
  return loss != nullptr && loss->size() >= k_least_stuck && loss->value.front() > 0 &&
         loss->value.back() < 0.5 * loss->value.front();
}

/// A share of held-out answers that goes a twentieth of its way to 1, and grows by less than a quarter of what it was,
/// from the first of many evaluations on. What is good already, or was never anything, is told by others.
bool is_stuck(const Series& series, const MetricWords& words, const record::ScoreCourse& course) {
  const bool held_out = words.held_out || !core::icontains(series.raw_name, "train");
  if (!course.more_is_better || !course.share || !held_out || series.size() < k_least_stuck)
    return false;
  if (course.first <= k_nothing || course.first >= k_fair) return false;
  const double gained = course.best - course.first;
  return gained < k_stuck_way * (1 - course.first) && gained < k_stuck_share * course.first;
}

/// What an adversarial pair's samples measure, and no loss of either: `pixel std`, `mean-image mse`, `fid`.
bool is_of_samples(const Series& series, const MetricWords& words) {
  static constexpr std::array<std::string_view, 17> k_measures = {
      "fid",      "kid",       "mmd",       "swd",       "is",    "mse",
      "std",      "var",       "variance",  "ssim",      "pixel", "samples",
      "coverage", "diversity", "inception", "generated", "spread"};
  if (words.part != Part::none || series.role == record::Role::loss_component) return false;
  const std::vector<std::string> all = name_words(series.raw_name);
  return std::any_of(all.begin(), all.end(), [](const std::string& word) {
    return std::find(k_measures.begin(), k_measures.end(), word) != k_measures.end();
  });
}

bool is_adversarial(const record::Run& run) {
  const auto has = [&](Part part) {
    return std::any_of(run.series.begin(), run.series.end(), [&](const Series& series) {
      return !series.empty() && metric_words(series.raw_name).part == part;
    });
  };
  return has(Part::discriminator) && has(Part::generator);
}

/// Samples of a generator that learns change; the first of those that do not is told.
void note_still_samples(record::Run& run) {
  if (!is_adversarial(run) || is_told(run, "score-unmoved")) return;
  for (const Series& series : run.series) {
    if (series.size() < k_least_stuck || !std::isfinite(series.min) || !std::isfinite(series.max))
      continue;
    if (series.role != record::Role::other || !is_of_samples(series, metric_words(series.raw_name)))
      continue;
    const double last = series.value.back();
    if (last == 0 || series.max - series.min > k_still * std::fabs(last)) continue;
    note(run, "score-unmoved", series, plain_name(series), series.value.front(), last);
    return;
  }
}

}  // namespace

void note_scores(record::Run& run) {
  const bool learning = learns(run);
  const std::size_t count = run.series.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Series& series = run.series[i];
    const MetricWords words = metric_words(series.raw_name);
    if (series.empty()) continue;
    const bool overlap = series.count >= k_least_measured && is_overlap(run, series, words);
    if (!overlap && !is_own_score(series, words)) continue;
    if (!std::isfinite(series.min) || !std::isfinite(series.max)) continue;
    const std::string name = plain_name(series);
    const record::FoundScore score = record::first_score_name(name);
    if (score.name == nullptr && !overlap) continue;
    const record::ScoreCourse course = course_of(series, overlap || score.name->more_is_better);
    const char* kind = course.judged();
    if (kind == nullptr && learning && is_stuck(series, words, course)) kind = "score-stuck";
    if (kind == nullptr || is_told(run, kind)) continue;
    note(run, kind, series, name, course.first, course.last);
  }
  note_still_samples(run);
}

}  // namespace aplomb::task
