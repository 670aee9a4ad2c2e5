#pragma once
/// Laying out text on a terminal: how wide it is, where it breaks, how it is coloured.

#include <string>
#include <string_view>
#include <vector>

namespace aplomb::report {

/// Columns that UTF-8 text takes: wide East Asian characters and emoji two, combining marks none.
std::size_t columns(std::string_view text);

/// The head of the text that takes at most `width` columns; ends in `...` where something was cut.
std::string fit(std::string_view text, std::size_t width);

/// The tail likewise, for paths: `.../checkpoint-500/trainer_state.json`.
std::string fit_tail(std::string_view text, std::size_t width);

/// Lines of at most `width` columns, broken at blanks; a word that is longer is cut into pieces.
/// Line ends of the text are kept. At least one line.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

enum class Style { plain, bold, dim, good, warn, bad, accent };

/// Puts ANSI colours around text, or leaves it as it is.
class Paint {
 public:
  explicit Paint(bool on) : on_(on) {}
  std::string operator()(Style style, std::string_view text) const;

 private:
  bool on_;
};

/// A line put together piece by piece: neighbours of one style share their codes, blanks at its end
/// go.
class PaintedLine {
 public:
  explicit PaintedLine(const Paint& paint) : paint_(paint) {}
  void add(Style style, std::string_view text);
  std::string text();

 private:
  const Paint& paint_;
  Style style_ = Style::plain;
  std::string piece_;
  std::string done_;
};

}  // namespace aplomb::report
