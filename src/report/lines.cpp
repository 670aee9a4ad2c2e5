/// One line a finding, `path:line:1: warning: what [id]`, as compilers write: editors, `grep` and CI
/// jump to it without being taught (docs/trackers.md has the matcher of VS Code).

#include <fmt/format.h>

#include "core/text.h"
#include "report/renderer.h"

namespace aplomb::report {
namespace {

std::string_view level_of(const ReportFinding& finding) {
  if (finding.severity == "note") return "note";
  return finding.severity == "warning" ? "warning" : "error";
}

class LinesRenderer : public Renderer {
 public:
  std::string slug() const override { return "lines"; }
  std::string summary() const override {
    return "findings, one line each, as compilers write them";
  }
  std::string render(const Report& report, const RenderOptions& /*options*/) const override {
    std::string out;
    for (const ReportFinding& each : report.findings) {
      const Evidence place = each.evidence.empty() ? Evidence{} : each.evidence.front();
      std::string what = each.title;
      if (!each.remedies.empty()) what += ". " + each.remedies.front().text;
      out += fmt::format(
          "{}:{}:1: {}: {} [{}]\n", core::sanitize(place.path.empty() ? "aplomb" : place.path),
          place.line > 0 ? place.line : 1, level_of(each), core::sanitize(what), each.id);
    }
    return out;
  }
};

}  // namespace

std::unique_ptr<Renderer> make_lines_renderer() { return std::make_unique<LinesRenderer>(); }

}  // namespace aplomb::report
