#pragma once
/// Screen: the whole terminal, by ncurses: lines drawn, keys read, all as it was when it goes.

#include <chrono>
#include <memory>
#include <vector>

#include "core/result.h"
#include "top/page.h"

namespace aplomb::top {

enum class Key { none, quit, up, down, stop, yes, no, resized };

class Screen {
 public:
  /// `unicode`: the terminal's characters are UTF-8. Errors: unsupported, where the terminal is of a kind that
  /// is not known (TERM).
  static core::Result<std::unique_ptr<Screen>> open(bool unicode, bool colour);
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  Size size() const;
  void draw(const std::vector<Line>& lines);
  /// Waits as long as `patience` for a key that means something here.
  Key key(std::chrono::milliseconds patience);

 private:
  class Terminal;
  explicit Screen(std::unique_ptr<Terminal> terminal);
  std::unique_ptr<Terminal> terminal_;
};

}  // namespace aplomb::top
