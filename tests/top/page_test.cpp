#include "top/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aplomb::top {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

View view_of(const Json& changes) {
  View view;
  view.detail = {{"id", "r1"},
                 {"name", "out/exp-1"},
                 {"state", "running"},
                 {"standing", "unstable"},
                 {"headline", "loss jumps at step 180"},
                 {"fix", "Lower the peak learning rate to 0.0001"},
                 {"step", 240},
                 {"total_steps", 1000},
                 {"last_step_at", 1000.0},
                 {"rate", 2.5},
                 {"eta_s", 304.0},
                 {"can_stop", true},
                 {"claim", "The learning rate is too high (87 %)"},
                 {"series",
                  {{{"name", "loss"}, {"role", "loss"}, {"last", 3.5}},
                   {{"name", "grad_norm"}, {"role", "grad_norm"}, {"last", "NaN"}},
                   {{"name", "lr"}, {"role", "lr"}, {"last", 0.001}}}},
                 {"ranks", Json::array()},
                 {"memory", nullptr},
                 {"log", Json::array()}};
  for (int i = 0; i < 30; ++i) {
    view.detail["log"].push_back(
        {{"n", i}, {"text", "line " + std::to_string(i)}, {"evidence", i == 28}});
  }
  if (changes.is_object()) view.detail.merge_patch(changes);
  view.runs.push_back(view.detail);
  view.chosen = "r1";
  view.now = 1003;
  for (const char* name : {"loss", "grad_norm", "lr"}) {
    Json curve = {{"steps", Json::array()}, {"min", Json::array()}, {"max", Json::array()}};
    for (int i = 0; i < 100; ++i) {
      curve["steps"].push_back(i);
      curve["min"].push_back(i < 90 ? Json(2.0 + i % 5) : Json("NaN"));
      curve["max"].push_back(i < 90 ? Json(3.0 + i % 5) : Json("NaN"));
    }
    view.curves[name] = curve;
  }
  return view;
}

std::string drawn(const View& view, const Size& size) {
  return text(page(view, size), report::Paint(false));
}

TEST(TopPage, SaysWhatIsWrongAndWhatToDoFirst) {
  const std::string shown = drawn(view_of({}), {});
  EXPECT_THAT(shown, ::testing::StartsWith("UNSTABLE  The learning rate is too high (87 %)\n"
                                           "Do        Lower the peak learning rate to 0.0001\n"));
  EXPECT_THAT(shown,
              HasSubstr("running, step 240 of 1000, last 3 s ago, 5 min 4 s left, 2.5 steps/s"));
  EXPECT_THAT(shown, HasSubstr("loss  now 3.5"));
  EXPECT_THAT(shown, HasSubstr("grad_norm  now nan"));
  EXPECT_THAT(shown, HasSubstr("! line 28"));
  EXPECT_THAT(shown, HasSubstr("line 29"));
  EXPECT_THAT(shown, HasSubstr("q quits"));
}

TEST(TopPage, FitsEverySize) {
  View view = view_of({});
  for (int i = 2; i < 12; ++i) {
    Json more = view.detail;
    more["id"] = "r" + std::to_string(i);
    more["name"] = std::string(60, 'x') + std::to_string(i);
    view.runs.push_back(more);
  }
  for (const std::size_t width : {1U, 9U, 20U, 40U, 79U, 80U, 81U, 200U}) {
    for (std::size_t height = 1; height < 60; ++height) {
      for (const bool unicode : {true, false}) {
        const std::vector<Line> lines = page(view, {width, height, unicode});
        ASSERT_EQ(lines.size(), height);
        for (const Line& line : lines) {
          std::size_t columns = 0;
          for (const Span& each : line) columns += report::columns(each.text);
          ASSERT_LE(columns, width) << width << " x " << height;
        }
      }
    }
  }
}

TEST(TopPage, IsPlainWhereTheTerminalKnowsNoMore) {
  View view = view_of({{"fix", "\xC3\xBC 100%|\xE2\x96\x88|"}});
  const std::string shown = drawn(view, {80, 24, false});
  for (const char c : shown) ASSERT_LT(static_cast<unsigned char>(c), 128U);
  EXPECT_THAT(shown, HasSubstr("? 100%|?|"));
  EXPECT_THAT(shown, HasSubstr("*"));
}

TEST(TopPage, NeverCallsARunHealthyThatStandsStillOrFailed) {
  const auto first = [](const char* state) {
    const std::string shown = drawn(view_of({{"state", state}, {"standing", "healthy"}}), {});
    return shown.substr(0, shown.find(' '));
  };
  EXPECT_EQ(first("running"), "HEALTHY");
  EXPECT_EQ(first("silent"), "SILENT");
  EXPECT_EQ(first("failed"), "FAILED");
  EXPECT_EQ(first("stopped"), "STOPPED");
  EXPECT_EQ(first("unknown"), "AT");
  const std::string silent =
      drawn(view_of({{"state", "silent"}, {"standing", "healthy"}, {"last_step_at", 3.0}}), {});
  EXPECT_THAT(silent, ::testing::StartsWith("SILENT    The run stands still"));
  EXPECT_THAT(silent, HasSubstr("no steps, step 240 of 1000, last 16 min 40 s ago"));
  EXPECT_THAT(silent, Not(HasSubstr("Lower the peak"))) << "advice of when it still ran";
}

TEST(TopPage, TellsRestartsCheckpointsActsOfTheGuardAndTheCost) {
  Json marks = Json::array();
  for (const auto& [kind, step] : {std::pair{"restart", 101},
                                   {"checkpoint", 100},
                                   {"checkpoint", 200},
                                   {"guard", 150},
                                   {"symptom", 9}})
    marks.push_back({{"kind", kind}, {"from", step}, {"to", step}});
  const std::string shown =
      drawn(view_of({{"marks", marks},
                     {"cost", {{"so_far", 12.4}, {"per_hour", 3.0}, {"currency", "EUR"}}}}),
            {100, 24, true});
  EXPECT_THAT(shown, HasSubstr("Marks     1 restart at step 101, 1 act of the guard at step 150, 2 "
                               "checkpoints, the last at step 200\n"));
  EXPECT_THAT(shown, HasSubstr("2.5 steps/s, 12.40 EUR so far\n"));
  EXPECT_THAT(drawn(view_of({{"rate", 1234567.0}, {"last_step_at", 1.0}}), {50, 24, true}),
              Not(HasSubstr("steps/s")))
      << "what has no room is left out whole";
}

TEST(TopPage, KnowsWhatNeedsEyesFirst) {
  const auto rank = [](const char* state, const char* standing) {
    return urgency({{"state", state}, {"standing", standing}});
  };
  EXPECT_LT(rank("silent", "healthy"), rank("running", "healthy"));
  EXPECT_LT(rank("running", "unstable"), rank("running", "warning"));
  EXPECT_LT(rank("running", "healthy"), rank("failed", "failed"));
  EXPECT_LT(rank("failed", "healthy"), rank("ended", "healthy"));
}

TEST(TopPage, NamesTheRanksThatLag) {
  const Json ranks = {{{"rank", 0}, {"step", 240}, {"behind", 0}},
                      {{"rank", 3}, {"step", 180}, {"behind", 60}}};
  EXPECT_THAT(drawn(view_of({{"ranks", ranks}}), {}), HasSubstr("rank 3 is 60 steps behind"));
  const Json one = {{{"rank", 1}, {"step", 239}, {"behind", 1}}};
  EXPECT_THAT(drawn(view_of({{"ranks", one}}), {}), HasSubstr("rank 1 is 1 step behind"));
}

TEST(TopPage, StandsWhateverItIsTold) {
  for (const char* each : {"null", "{}", "[]", R"({"id":3,"series":3,"log":[3],"ranks":{"a":1}})",
                           R"({"series":[3,{"name":"x"}],"report":3,"memory":[]})"}) {
    View view;
    view.detail = Json::parse(each);
    view.runs = Json::array({view.detail, 3});
    EXPECT_EQ(page(view, {}).size(), 24U) << each;
  }
  const std::string shown =
      drawn(view_of({{"headline", "a\x1b[2Jb"}, {"standing", "warning"}, {"report", nullptr}}), {});
  EXPECT_THAT(shown, Not(HasSubstr("\x1b")));
}

TEST(TopPage, SaysHowLong) {
  EXPECT_EQ(duration(12.9), "12 s");
  EXPECT_EQ(duration(200), "3 min 20 s");
  EXPECT_EQ(duration(7500), "2 h 5 min");
  EXPECT_EQ(duration(90000), "1 d 1 h");
}

}  // namespace
}  // namespace aplomb::top
