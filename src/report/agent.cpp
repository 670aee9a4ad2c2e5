/// The report for an assistant: the members of aplomb.report/1 under their own names, fewer and shorter, in at most
/// k_most_bytes, with `left_out` (how many were cut) and `next` (what to ask).

#include <algorithm>
#include <array>
#include <string>

#include "core/json_text.h"
#include "core/text.h"
#include "report/renderer.h"
#include "report/report_json.h"

namespace aplomb::report {
namespace {

using Json = nlohmann::ordered_json;

/// 4,000 tokens at three bytes each, which is less than tokenizers make of English and JSON (near four).
constexpr std::size_t k_most_bytes = 12000;

/// How much is kept of a report; the first that fits is taken.
struct Limits {
  std::size_t causes, symptoms, findings, evidence, remedies, series, runs, text;
};
constexpr std::array<Limits, 5> k_limits = {{{3, 6, 12, 4, 3, 8, 6, 400},
                                             {3, 4, 8, 3, 2, 5, 4, 280},
                                             {2, 3, 5, 2, 2, 3, 3, 200},
                                             {1, 2, 3, 2, 1, 2, 2, 140},
                                             {1, 1, 1, 1, 1, 0, 1, 80}}};

/// Texts are shortened wherever they stand: the longest of them are lines of logs and programs.
void shorten_texts(Json& value, std::size_t most) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text.size() > most) value = core::shorten(core::sanitize_lines(text), most);
  } else if (value.is_structured()) {
    for (Json& each : value) shorten_texts(each, most);
  }
}

class Shaper {
 public:
  Shaper(const Json& report, const Limits& limits) : report_(report), limits_(limits) {}

  Json shaped() {
    Json out = {
        {"schema", report_["schema"]}, {"view", "agent/1"}, {"verdict", report_["verdict"]}};
    out["summary"] = report_["summary"];
    if (report_["runs"].size() > 1) out["runs"] = first("runs", limits_.runs);
    add(out, "causes", causes());
    if (!report_["causes"].empty()) out["unknown_probability"] = report_["unknown_probability"];
    add(out, "findings", findings());
    add(out, "symptoms", symptoms());
    if (report_["verdict"] == "insufficient-evidence") {
      add(out, "missing", first_of(report_["health"]["missing"], limits_.findings, "missing"));
      add(out, "experiments", first("experiments", 2));
    }
    add(out, "series", series());
    add(out, "inputs", inputs());
    if (report_.contains("seen_before")) out["seen_before"] = seen_before();
    if (!left_out_.empty()) out["left_out"] = left_out_;
    out["next"] = next();
    shorten_texts(out, limits_.text);
    make_visible(out);
    return out;
  }

 private:
  static void add(Json& out, const char* name, Json list) {
    if (!list.empty()) out[name] = std::move(list);
  }

  Json first_of(const Json& list, std::size_t most, const char* name) {
    Json out = Json::array();
    for (std::size_t i = 0; i < std::min(most, list.size()); ++i) out.push_back(list[i]);
    if (list.size() > most && name != nullptr) left_out_[name] = list.size() - most;
    return out;
  }
  Json first(const char* name, std::size_t most) { return first_of(report_[name], most, name); }

  /// Only these members of an object, in this order; lists of evidence and remedies cut.
  Json only(const Json& object, std::initializer_list<const char*> names) {
    Json out = Json::object();
    for (const char* name : names) {
      const auto found = object.find(name);
      if (found == object.end() || found->is_null() || (found->is_structured() && found->empty()) ||
          (found->is_string() && found->get_ref<const std::string&>().empty()))
        continue;
      if (std::string_view(name) == "evidence")
        out[name] = evidence(*found);
      else if (std::string_view(name) == "remedies")
        out[name] = first_of(*found, limits_.remedies, nullptr);
      else
        out[name] = *found;
    }
    return out;
  }

  Json evidence(const Json& list) {
    Json out = Json::array();
    for (const Json& each : first_of(list, limits_.evidence, nullptr))
      out.push_back(only(each, {"path", "line", "step", "text"}));
    return out;
  }

  Json seen_before() {
    Json seen = report_["seen_before"];
    if (seen["ended_by"].is_object())
      seen["ended_by"]["changed"] = first_of(seen["ended_by"]["changed"], 6, "changed settings");
    return seen;
  }

  Json causes() {
    Json out = Json::array();
    for (const Json& each : first("causes", limits_.causes))
      out.push_back(
          only(each, {"id", "title", "probability", "because", "evidence", "remedies", "verify"}));
    return out;
  }
  Json findings() {
    Json out = Json::array();
    for (const Json& each : first("findings", limits_.findings))
      out.push_back(
          only(each, {"id", "severity", "title", "because", "evidence", "remedies", "leads_to"}));
    return out;
  }
  Json symptoms() {
    Json out = Json::array();
    for (const Json& each : first("symptoms", limits_.symptoms))
      out.push_back(only(each, {"id", "severity", "first_step", "last_step", "series", "summary"}));
    return out;
  }
  Json series() {
    Json out = Json::array();
    for (const Json& each : first("series", limits_.series))
      out.push_back(only(each, {"name", "role", "points", "first_step", "last_step", "min", "max",
                                "first", "last", "last_text", "nonfinite"}));
    return out;
  }

  /// Files that were not read, and why, come before those that were.
  Json inputs() {
    Json warned = Json::array();
    for (const Json& each : report_["inputs"]) {
      if (!each["warnings"].empty())
        warned.push_back({{"path", each["path"]},
                          {"kind", each["kind"]},
                          {"warnings", first_of(each["warnings"], 1, nullptr)}});
    }
    return first_of(warned, limits_.symptoms, "inputs with warnings");
  }

  /// What to ask next, as commands: what the report's own words leave open.
  Json next() const {
    Json out = Json::array();
    const Json& causes = report_["causes"];
    const Json& findings = report_["findings"];
    if (!causes.empty()) out.push_back("aplomb explain " + causes[0]["id"].get<std::string>());
    if (!findings.empty()) out.push_back("aplomb explain " + findings[0]["id"].get<std::string>());
    const bool sets = [&] {
      for (const Json* list : {&causes, &findings}) {
        for (const Json& each : *list)
          for (const Json& remedy : each["remedies"])
            if (!remedy["set"].empty()) return true;
      }
      return false;
    }();
    if (sets)
      out.push_back(
          "the same command with --fix OUT: the first remedy written into a copy of the "
          "configuration");
    if (report_["verdict"] == "insufficient-evidence") {
      const auto bring = report_["summary"].find("bring");
      if (bring != report_["summary"].end()) out.push_back("bring: " + bring->get<std::string>());
    }
    if (report_["runs"].size() > 1) out.push_back("one run alone: name its folder");
    if (!left_out_.empty()) out.push_back("the same command with --json: the whole report");
    return out;
  }

  const Json& report_;
  const Limits& limits_;
  Json left_out_ = Json::object();
};

class AgentRenderer : public Renderer {
 public:
  std::string slug() const override { return "agent"; }
  std::string summary() const override {
    return "the report for an assistant: members of aplomb.report/1, at most 12,000 bytes, with "
           "what to ask next";
  }
  std::string render(const Report& report, const RenderOptions& /*options*/) const override {
    const Json whole = report_json(report);
    std::string text;
    for (const Limits& limits : k_limits) {
      text = core::json_text(Shaper(whole, limits).shaped()) + "\n";
      if (text.size() <= k_most_bytes) return text;
    }
    // Maps of a stranger's making (settings that remedies set, the summary's names) are all that is left to be large.
    return core::json_text(Json{{"schema", whole["schema"]},
                                {"view", "agent/1"},
                                {"verdict", whole["verdict"]},
                                {"next", {"the same command with --json: the whole report"}}}) +
           "\n";
  }
};

}  // namespace

std::unique_ptr<Renderer> make_agent_renderer() { return std::make_unique<AgentRenderer>(); }

}  // namespace aplomb::report
