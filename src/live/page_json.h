#pragma once
/// What the page is told of a run, in the words of docs/design/0009-live-page.md.

#include <aplomb/report.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "live/buckets.h"
#include "record/run.h"

namespace aplomb::live {

using Json = nlohmann::ordered_json;

/// Numbers that JSON has no words for are "NaN", "Infinity", "-Infinity".
Json wire(double value);

/// One line; bytes that are no UTF-8 become U+FFFD, and no text hides a character.
std::string line_of(Json value);

/// A name for each of the run's series, no two alike: the metric's own for the one that stands for
/// it (Run::find()), with rank or file behind it for the others.
std::vector<std::string> page_names(const record::Run& run);
/// `s`, `bytes`, `1/s`; empty where the role says none.
std::string unit_of(record::Role role);

/// The series by which people tell how far the run is; null where there is none.
const record::Series* lead_of(const record::Run& run);

/// Symptoms, restarts, checkpoints, acts of the guard and stages.
Json marks_of(const record::Run& run, const Report& report, const std::vector<std::string>& names);
/// What is known of a run's series beyond the run itself.
struct RankNews {
  std::map<std::size_t, std::int64_t> step;  ///< by place of the series: its last step
  std::map<std::size_t, double> seen_at;     ///< by place: when its last sample came
  std::map<std::string, double> written;     ///< by path: when the file was last written
};
/// Of runs that log each rank by itself: how far each is, and when it was last heard of. A file that several
/// ranks share says nothing of when.
Json ranks_of(const record::Run& run, const RankNews& news);
/// The last known use of memory; null where none is known.
Json memory_of(const record::Run& run);
/// aplomb.report/1 with empty charts: the page asks for series by themselves.
Json report_of_page(const Report& report);
Json buckets_json(const std::string& name, const Buckets& buckets);

}  // namespace aplomb::live
