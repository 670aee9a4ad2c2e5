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

}  // namespace

void note_scores(record::Run& run) {
  for (const Series& series : run.series) {
    const MetricWords words = metric_words(series.raw_name);
    if (series.empty() || !is_own_score(series, words)) continue;
    if (!std::isfinite(series.min) || !std::isfinite(series.max)) continue;
    const std::string name = plain_name(series);
    const record::FoundScore score = record::first_score_name(name);
    if (score.name == nullptr) continue;
    const record::ScoreCourse course = course_of(series, score.name->more_is_better);
    const char* kind = course.judged();
    if (kind == nullptr || is_told(run, kind)) continue;
    record::Event event;
    event.kind = kind;
    event.severity = core::Severity::note;
    event.text = series.raw_name;
    event.caught["name_text"] = name;
    event.caught["first"] = course.first;
    event.caught["last"] = course.last;
    event.caught["count"] = static_cast<double>(series.count);
    event.origin = series.origin(series.size() - 1);
    run.events.push_back(std::move(event));
  }
}

}  // namespace aplomb::task
