#include "live/page_json.h"

#include <gtest/gtest.h>

namespace aplomb::live {
namespace {

record::Event guard_act(const char* kind, std::int64_t step, core::Severity severity) {
  record::Event event;
  event.kind = kind;
  event.severity = severity;
  event.step = step;
  event.text = "step " + std::to_string(step) + ": the guard acted";
  return event;
}

TEST(PageMarks, ActsOfTheGuardStandAtTheirSteps) {
  record::Run run;
  run.events = {guard_act("guard-skip", 30, core::Severity::note),
                guard_act("guard-note", 31, core::Severity::note),
                guard_act("error", 32, core::Severity::failed),
                guard_act("guard-rollback", 40, core::Severity::warning),
                guard_act("guard-halt", 50, core::Severity::failed)};
  const Json marks = marks_of(run, {}, {});
  std::vector<std::pair<std::int64_t, std::string>> acts;
  for (const Json& each : marks) {
    if (each["kind"] == "guard") acts.emplace_back(each["from"], each["severity"]);
  }
  EXPECT_EQ(acts, (std::vector<std::pair<std::int64_t, std::string>>{
                      {50, "error"}, {40, "warning"}, {30, "info"}}));
}

TEST(PageMarks, ThereAreNoMoreThanCanBeSeen) {
  record::Run run;
  for (int i = 0; i < 5000; ++i)
    run.events.push_back(guard_act("guard-clip", i, core::Severity::note));
  const Json marks = marks_of(run, {}, {});
  EXPECT_LE(marks.size(), 300U);
  EXPECT_EQ(marks[0]["from"], 4999) << "the last ones";
}

}  // namespace
}  // namespace aplomb::live
