#pragma once
/// The live view of runs as lines of a terminal: a function of what the live page is told
/// (docs/design/0009-live-page.md) and of the terminal's size. Draws nothing itself: screen.h does, or
/// text() for a single picture.

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/terminal_text.h"

namespace aplomb::top {

using Json = nlohmann::json;

struct Span {
  report::Style style = report::Style::plain;
  std::string text;
};
using Line = std::vector<Span>;

struct View {
  Json runs = Json::array();           ///< summaries, in the order of the list
  Json detail;                         ///< of the chosen run
  std::map<std::string, Json> curves;  ///< by series name: steps, min, max
  std::string chosen;                  ///< id
  double now = 0;                      ///< seconds since 1970
  std::string notice;                  ///< takes the place of the keys below
  bool may_stop = false;
};

struct Size {
  std::size_t width = 80;
  std::size_t height = 24;
  bool unicode = true;
};

/// Exactly `height` lines of at most `width` columns, so that a terminal that shrank shows the head of the
/// page still.
std::vector<Line> page(const View& view, const Size& size);

/// Names of the series that page() draws of this run, in order; their curves are asked for.
std::vector<std::string> drawn_series(const Json& detail);

/// Of a summary: the smaller, the sooner somebody should look; runs that stand still or go wrong now are 0.
int urgency(const Json& run);

std::string text(const std::vector<Line>& lines, const report::Paint& paint);

/// `12 s`, `3 min 20 s`, `2 h 5 min`, `4 d 1 h`.
std::string duration(double seconds);

}  // namespace aplomb::top
