/// SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/), which code review shows beside
/// the lines: one rule for each kind of finding, one result for each finding.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/version.h"
#include "report/renderer.h"
#include "report/report_json.h"

namespace aplomb::report {
namespace {

using Json = nlohmann::ordered_json;

std::string_view level_of(const ReportFinding& finding) {
  if (finding.severity == "note") return "note";
  return finding.severity == "warning" ? "warning" : "error";
}

/// A path as a URI reference (RFC 3986): what may not stand in one is percent-encoded.
std::string uri_of(std::string_view path) {
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = std::isalnum(byte) != 0 || std::string_view("/-._~").find(c) < 5;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return uri;
}

Json location_of(const Evidence& place) {
  Json physical = {{"artifactLocation", {{"uri", uri_of(place.path)}}}};
  if (place.line > 0) {
    physical["region"] = {{"startLine", place.line}};
    if (!place.text.empty()) physical["region"]["snippet"] = {{"text", place.text}};
  }
  return {{"physicalLocation", std::move(physical)}};
}

std::string help_of(const ReportFinding& finding) {
  std::string text = finding.because;
  for (const std::string& each : finding.references) text += "\n" + each;
  return text;
}

std::string message_of(const ReportFinding& finding) {
  std::string text = finding.title;
  if (!text.ends_with('.')) text += '.';
  if (!finding.because.empty()) text += " " + finding.because;
  if (!finding.remedies.empty()) text += " " + finding.remedies.front().text;
  return text;
}

class SarifRenderer : public Renderer {
 public:
  std::string slug() const override { return "sarif"; }
  std::string summary() const override { return "findings for code review (SARIF 2.1.0)"; }
  std::string render(const Report& report, const RenderOptions& /*options*/) const override {
    std::vector<std::string> ids;
    Json rules = Json::array();
    Json results = Json::array();
    for (const ReportFinding& each : report.findings) {
      auto known = std::find(ids.begin(), ids.end(), each.id);
      const auto index = static_cast<std::size_t>(known - ids.begin());
      if (known == ids.end()) {
        ids.push_back(each.id);
        rules.push_back({{"id", each.id},
                         {"shortDescription", {{"text", each.title}}},
                         {"help", {{"text", help_of(each)}}}});
      }
      Json locations = Json::array();
      if (!each.evidence.empty()) locations.push_back(location_of(each.evidence.front()));
      Json result = {{"ruleId", each.id},
                     {"ruleIndex", index},
                     {"level", level_of(each)},
                     {"message", {{"text", message_of(each)}}},
                     {"locations", std::move(locations)}};
      if (each.evidence.size() > 1) {
        Json related = Json::array();
        for (std::size_t i = 1; i < each.evidence.size(); ++i)
          related.push_back(location_of(each.evidence[i]));
        result["relatedLocations"] = std::move(related);
      }
      results.push_back(std::move(result));
    }
    const Json driver = {
        {"name", "aplomb"}, {"version", core::version()}, {"rules", std::move(rules)}};
    return json_text({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                      {"version", "2.1.0"},
                      {"runs", Json::array({{{"tool", {{"driver", driver}}},
                                             {"columnKind", "unicodeCodePoints"},
                                             {"results", std::move(results)}}})}});
  }
};

}  // namespace

std::unique_ptr<Renderer> make_sarif_renderer() { return std::make_unique<SarifRenderer>(); }

}  // namespace aplomb::report
