#include "cli/progress.h"

#include <fmt/format.h>

#include <cstdio>

#include "core/text.h"

namespace aplomb::cli {

void Progress::show(std::uint64_t done_bytes, std::uint64_t all_bytes) {
  using namespace std::chrono_literals;
  if (!on_terminal_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - begin_ < 1s || (visible_ && now - shown_ < 100ms)) return;
  shown_ = now;
  visible_ = true;
  const double done = static_cast<double>(done_bytes);
  const double all = static_cast<double>(all_bytes);
  const double rate = done / std::chrono::duration<double>(now - begin_).count();
  const double percent = all_bytes == 0 ? 0 : 100.0 * done / all;
  fmt::print(stderr, "\r\x1b[Kreading {} of {} ({:.0f} %), {}/s", core::show_bytes(done),
             core::show_bytes(all), percent, core::show_bytes(rate));
  std::fflush(stderr);
}

void Progress::clear() {
  if (!visible_) return;
  fmt::print(stderr, "\r\x1b[K");
  visible_ = false;
}

}  // namespace aplomb::cli
