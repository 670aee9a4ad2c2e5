#include "report/text_chart.h"

#include <algorithm>
#include <cmath>

#include "report/axis.h"

namespace aplomb::report {
namespace {

constexpr std::size_t k_label = 10;  // columns of the scale's labels, blank included
constexpr double k_log_ratio = 100;

struct Scale {
  double low = 0;
  double high = 1;
  bool log = false;
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;

  /// 0 at the bottom, 1 at the top.
  double height_of(double value) const {
    const double v = log ? std::log10(value) : value;
    const double a = log ? std::log10(low) : low;
    const double b = log ? std::log10(high) : high;
    return b > a ? std::clamp((v - a) / (b - a), 0.0, 1.0) : 0.5;
  }
  double along(std::int64_t step) const {
    const auto span = static_cast<double>(last_step) - static_cast<double>(first_step);
    if (span <= 0) return 0;
    return (static_cast<double>(step) - static_cast<double>(first_step)) / span;
  }
};

Scale scale_of(const std::vector<ChartPoint>& points) {
  Scale scale;
  scale.log = wants_log_scale(points);
  scale.first_step = scale.last_step = points.front().step;
  bool any = false;
  for (const ChartPoint& point : points) {
    scale.first_step = std::min(scale.first_step, point.step);
    scale.last_step = std::max(scale.last_step, point.step);
    if (!std::isfinite(point.value)) continue;
    scale.low = any ? std::min(scale.low, point.value) : point.value;
    scale.high = any ? std::max(scale.high, point.value) : point.value;
    any = true;
  }
  return scale;
}

/// The dots of the chart: `per_x` by `per_y` of them make one character.
class Dots {
 public:
  Dots(std::size_t columns, std::size_t rows, bool unicode)
      : per_x_(unicode ? 2 : 1), per_y_(unicode ? 4 : 1), columns_(columns), rows_(rows) {
    on_.resize(columns * per_x_ * rows * per_y_);
    bad_.resize(columns);
  }

  std::size_t x_of(double along) const { return at(along, columns_ * per_x_); }

  void value(double along, double height) {
    const std::size_t x = x_of(along);
    const std::size_t y = at(height, rows_ * per_y_);
    if (drawing_ && x >= last_x_) join(x, y);
    set(x, y);
    last_x_ = x;
    last_y_ = y;
    drawing_ = true;
  }

  void not_finite(double along) {
    bad_[x_of(along) / per_x_] = true;
    drawing_ = false;
  }
  void lift() { drawing_ = false; }

  bool bad(std::size_t column) const { return bad_[column]; }

  /// The character at a column of a row counted from the top; empty where no dot is set.
  std::string character(std::size_t column, std::size_t row) const {
    if (per_x_ == 1) return get(column, rows_ - 1 - row) ? "*" : "";
    // Unicode braille: bit of each dot, by column and by row from the top.
    static constexpr unsigned k_bits[2][4] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};
    unsigned bits = 0;
    for (std::size_t dx = 0; dx < 2; ++dx) {
      for (std::size_t dy = 0; dy < 4; ++dy) {
        const std::size_t y = rows_ * 4 - 1 - (row * 4 + dy);
        if (get(column * 2 + dx, y)) bits |= k_bits[dx][dy];
      }
    }
    if (bits == 0) return "";
    return {'\xE2', static_cast<char>(0xA0U | (bits >> 6U)),
            static_cast<char>(0x80U | (bits & 0x3FU))};
  }

 private:
  static std::size_t at(double part, std::size_t count) {
    return std::min(count - 1, static_cast<std::size_t>(part * static_cast<double>(count)));
  }
  void set(std::size_t x, std::size_t y) { on_[x * rows_ * per_y_ + y] = true; }
  bool get(std::size_t x, std::size_t y) const { return on_[x * rows_ * per_y_ + y]; }
  /// The dots between the last value and this one, so that steep parts stay one line.
  void join(std::size_t x, std::size_t y) {
    const double dx = static_cast<double>(x) - static_cast<double>(last_x_);
    const double dy = static_cast<double>(y) - static_cast<double>(last_y_);
    const double dots = std::max(dx, std::fabs(dy));
    for (double i = 1; i < dots; ++i) {
      set(static_cast<std::size_t>(std::lround(static_cast<double>(last_x_) + dx * i / dots)),
          static_cast<std::size_t>(std::lround(static_cast<double>(last_y_) + dy * i / dots)));
    }
  }

  std::size_t per_x_, per_y_, columns_, rows_;
  std::vector<bool> on_;
  std::vector<bool> bad_;
  std::size_t last_x_ = 0, last_y_ = 0;
  bool drawing_ = false;
};

void draw(const std::vector<ChartPoint>& points, const Scale& scale, Dots& dots) {
  std::int64_t before = points.front().step;
  for (const ChartPoint& point : points) {
    if (point.step < before) dots.lift();  // a restart: no line back
    before = point.step;
    if (std::isfinite(point.value)) {
      dots.value(scale.along(point.step), scale.height_of(point.value));
    } else {
      dots.not_finite(scale.along(point.step));
    }
  }
}

std::string label(double value) {
  const std::string text = fit(value_label(value), k_label - 1);
  return std::string(k_label - 1 - text.size(), ' ') + text + ' ';
}

/// First and last step at the ends, the marked one at its place between them.
std::string steps_line(const Scale& scale, std::size_t width, const TextChartOptions& options,
                       const Paint& paint) {
  std::string line = std::to_string(scale.first_step);
  const std::string last = std::to_string(scale.last_step);
  std::string mark;
  std::size_t at = 0;
  if (options.mark && *options.mark >= scale.first_step && *options.mark <= scale.last_step) {
    mark = (options.unicode ? "\xE2\x96\xB2 step " : "^ step ") + std::to_string(*options.mark);
    at = std::min(width - 1, static_cast<std::size_t>(scale.along(*options.mark) *
                                                      static_cast<double>(width)));
    const std::size_t size = columns(mark);
    if (at + size > width) {  // no room to its right: the pointer ends the words
      mark = "step " + std::to_string(*options.mark) + (options.unicode ? " \xE2\x96\xB2" : " ^");
      at = at + 1 >= size ? at + 1 - size : 0;
    }
  }
  if (!mark.empty() && at <= line.size()) line.clear();
  line.resize(std::max(line.size(), at), ' ');
  const std::size_t used = line.size() + columns(mark);
  PaintedLine out(paint);
  out.add(Style::dim, std::string(k_label, ' ') + line);
  out.add(Style::bad, mark);
  if (used + 1 + last.size() <= width) {
    out.add(Style::dim, std::string(width - used - last.size(), ' ') + last);
  }
  return out.text();
}

}  // namespace

bool wants_log_scale(const std::vector<ChartPoint>& points) {
  double low = 0;
  double high = 0;
  for (const ChartPoint& point : points) {
    if (!std::isfinite(point.value)) continue;
    if (point.value <= 0) return false;
    low = low == 0 ? point.value : std::min(low, point.value);
    high = std::max(high, point.value);
  }
  return low > 0 && high / low >= k_log_ratio;
}

std::vector<std::string> text_chart(const std::vector<ChartPoint>& points,
                                    const TextChartOptions& options, const Paint& paint) {
  if (points.size() < 2 || options.width < k_label + 10 || options.rows == 0) return {};
  const Scale scale = scale_of(points);
  const std::size_t width = options.width - k_label;
  Dots dots(width, options.rows, options.unicode);
  draw(points, scale, dots);
  const std::string blank(k_label, ' ');
  std::vector<std::string> lines;
  for (std::size_t row = 0; row < options.rows; ++row) {
    PaintedLine line(paint);
    line.add(Style::dim, row == 0                                            ? label(scale.high)
                         : row + 1 == options.rows && scale.low < scale.high ? label(scale.low)
                                                                             : blank);
    for (std::size_t column = 0; column < width; ++column) {
      const std::string dot = dots.character(column, row);
      if (row == 0 && dots.bad(column)) {
        line.add(Style::bad, options.unicode ? "\xC3\x97" : "x");
      } else {
        line.add(dot.empty() ? Style::plain : Style::accent, dot.empty() ? " " : dot);
      }
    }
    lines.push_back(line.text());
  }
  lines.push_back(steps_line(scale, width, options, paint));
  return lines;
}

}  // namespace aplomb::report
