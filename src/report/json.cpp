#include "report/renderer.h"
#include "report/report_json.h"

namespace aplomb::report {
namespace {

class JsonRenderer : public Renderer {
 public:
  std::string slug() const override { return "json"; }
  std::string summary() const override { return "one JSON object, schema aplomb.report/1"; }
  std::string render(const Report& report, const RenderOptions& /*options*/) const override {
    return json_text(report_json(report));
  }
};

}  // namespace

std::unique_ptr<Renderer> make_json_renderer() { return std::make_unique<JsonRenderer>(); }

}  // namespace aplomb::report
