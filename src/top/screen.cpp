#include "top/screen.h"

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <string>

#define NCURSES_NOMACROS 1
#include <curses.h>

namespace aplomb::top {
namespace {

using report::Style;

constexpr short k_pairs = 4;

/// The pair of colours of a style; 0: the terminal's own.
short pair_of(Style style) {
  switch (style) {
    case Style::good:
      return 1;
    case Style::warn:
      return 2;
    case Style::bad:
      return 3;
    case Style::accent:
      return 4;
    default:
      return 0;
  }
}

attr_t attribute_of(Style style) {
  if (style == Style::bold || style == Style::bad) return WA_BOLD;
  return style == Style::dim ? WA_DIM : WA_NORMAL;
}

}  // namespace

class Screen::Terminal {
 public:
  Terminal(SCREEN* screen, bool unicode, bool colour) : screen_(screen), unicode_(unicode) {
    ::cbreak();
    ::noecho();
    ::keypad(stdscr, true);
    ::curs_set(0);
    ::set_escdelay(50);
    colour_ = colour && ::has_colors() && ::start_color() == OK && ::use_default_colors() == OK;
    if (!colour_) return;
    static constexpr short k_colours[k_pairs] = {COLOR_GREEN, COLOR_YELLOW, COLOR_RED, COLOR_CYAN};
    for (short i = 0; i < k_pairs; ++i) ::init_pair(static_cast<short>(i + 1), k_colours[i], -1);
  }
  ~Terminal() {
    ::endwin();
    ::delscreen(screen_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  Size size() const {
    return {static_cast<std::size_t>(std::max(1, ::getmaxx(stdscr))),
            static_cast<std::size_t>(std::max(1, ::getmaxy(stdscr))), unicode_};
  }

  void draw(const std::vector<Line>& lines) const {
    ::werase(stdscr);
    const int height = ::getmaxy(stdscr);
    for (int y = 0; y < height && static_cast<std::size_t>(y) < lines.size(); ++y) {
      ::wmove(stdscr, y, 0);
      for (const Span& each : lines[static_cast<std::size_t>(y)]) {
        ::wattr_set(stdscr, attribute_of(each.style), colour_ ? pair_of(each.style) : short{0},
                    nullptr);
        ::waddnstr(stdscr, each.text.c_str(), -1);
      }
    }
    ::wattr_set(stdscr, WA_NORMAL, 0, nullptr);
    ::wrefresh(stdscr);
  }

  static Key key(std::chrono::milliseconds patience) {
    ::wtimeout(stdscr, static_cast<int>(patience.count()));
    switch (::wgetch(stdscr)) {
      case 'q':
      case 'Q':
      case 3:  // Ctrl-C, where the terminal gives it as a key
        return Key::quit;
      case KEY_UP:
      case 'k':
        return Key::up;
      case KEY_DOWN:
      case 'j':
        return Key::down;
      case 's':
        return Key::stop;
      case 'y':
        return Key::yes;
      case 'n':
      case 27:  // Escape
        return Key::no;
      case KEY_RESIZE:
        return Key::resized;
      default:
        return Key::none;
    }
  }

 private:
  SCREEN* screen_;
  bool unicode_;
  bool colour_ = false;
};

core::Result<std::unique_ptr<Screen>> Screen::open(bool unicode, bool colour) {
  // Of the locale only how characters are written: one that is not installed here does no harm.
  if (unicode) std::setlocale(LC_CTYPE, "C.UTF-8");
  SCREEN* screen = ::newterm(nullptr, stdout, stdin);
  if (screen == nullptr) {
    const char* kind = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): nobody sets it here
    return core::fail(core::ErrorCode::unsupported,
                      "[top] the terminal " + std::string(kind == nullptr ? "" : kind) +
                          " is not known here (TERM); --once prints one picture");
  }
  return std::unique_ptr<Screen>(new Screen(std::make_unique<Terminal>(screen, unicode, colour)));
}

Screen::Screen(std::unique_ptr<Terminal> terminal) : terminal_(std::move(terminal)) {}
Screen::~Screen() = default;
Size Screen::size() const { return terminal_->size(); }
void Screen::draw(const std::vector<Line>& lines) { terminal_->draw(lines); }
Key Screen::key(std::chrono::milliseconds patience) { return Terminal::key(patience); }

}  // namespace aplomb::top
