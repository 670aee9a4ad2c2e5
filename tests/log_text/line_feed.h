#pragma once
/// Lines fed one by one to what gathers events from them, and the events.

#include <cstdint>
#include <string>
#include <vector>

#include "record/run_builder.h"

namespace aplomb::log_text::test {

/// `Gatherer`: takes line(text, number, offset), then finish(build, source).
template <typename Gatherer>
std::vector<record::Event> events_of_lines(const std::vector<std::string>& lines) {
  record::Run run;
  record::RunBuilder build(run);
  const record::SourceId source = build.open("train.log", "text-log", 0);
  Gatherer gatherer;
  std::uint64_t number = 0;
  for (const std::string& line : lines) {
    ++number;
    gatherer.line(line, number, number * 100);
  }
  gatherer.finish(build, source);
  return run.events;
}

}  // namespace aplomb::log_text::test
