#pragma once
/// TerminalPage: what the pages of plan and compare are written with: lines, gaps, and rows with a
/// label at the left and wrapped text beside it.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "report/renderer.h"
#include "report/terminal_text.h"

namespace aplomb::report {

class TerminalPage {
 protected:
  static constexpr std::size_t k_gutter = 10;  ///< columns of the labels

  explicit TerminalPage(const RenderOptions& options)
      : paint_(options.colour),
        width_(static_cast<std::size_t>(std::clamp(options.width, 40, 200))) {}

  void line(std::string_view text) {
    out_ += text;
    out_ += '\n';
  }
  void gap() {
    if (!out_.ends_with("\n\n")) out_ += '\n';
  }
  void row(Style label_style, std::string_view label, Style style, std::string_view text) {
    const std::vector<std::string> lines = wrap(text, width_ - k_gutter);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string_view left = i == 0 ? label : "";
      line(paint_(label_style, left) + std::string(k_gutter - left.size(), ' ') +
           paint_(style, lines[i]));
    }
  }

  Paint paint_;
  std::size_t width_;
  std::string out_;
};

}  // namespace aplomb::report
