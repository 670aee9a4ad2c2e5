#pragma once
/// Renderer: one view of a Report. One renderer a file; roster.def lists them.

#include <aplomb/report.h>

#include <memory>
#include <string>
#include <vector>

namespace aplomb::report {

struct RenderOptions {
  int width = 80;       ///< columns of the terminal
  bool colour = false;  ///< ANSI colours
  bool unicode = true;  ///< box and block characters
  std::size_t most_causes = 3;
  bool verbose = false;
};

class Renderer {
 public:
  virtual ~Renderer() = default;
  virtual std::string slug() const = 0;  ///< `terminal`, `json`, `html`
  virtual std::string summary() const = 0;
  virtual std::string render(const Report& report, const RenderOptions& options) const = 0;
};

const std::vector<std::unique_ptr<Renderer>>& renderers();
const Renderer* find_renderer(std::string_view slug);

}  // namespace aplomb::report
