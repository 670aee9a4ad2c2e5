#include "preflight/code_audit.h"

#include <simdjson.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "knowledge/document.h"
#include "preflight/embedded_python.h"
#include "preflight/run_python.h"
#include "report/evidence.h"

namespace aplomb::preflight {
namespace {

using knowledge::Node;

constexpr std::chrono::seconds k_limit{120};

ReportFinding finding_of(const Node& entry) {
  ReportFinding out;
  out.id = knowledge::text_of(entry, "rule");
  out.severity = knowledge::text_of(entry, "severity");
  out.title = core::sanitize(knowledge::text_of(entry, "title"));
  out.because = core::sanitize(knowledge::text_of(entry, "because"));
  out.evidence.push_back({core::sanitize(knowledge::text_of(entry, "path")),
                          static_cast<std::uint64_t>(knowledge::number_of(entry, "line")),
                          std::nullopt, report::tidy_line(knowledge::text_of(entry, "text"), 200)});
  const std::string corrected = core::sanitize_lines(knowledge::text_of(entry, "corrected"));
  out.remedies.push_back({"Write instead:", {}, {{"python", corrected}}});
  out.leads_to = knowledge::texts_of(entry, "leads_to");
  return out;
}

}  // namespace

CodeAudit audit_programs(const std::vector<std::string>& paths, const std::string& python) {
  CodeAudit audit;
  if (paths.empty()) return audit;
  const auto all_fail = [&](const std::string& why) {
    for (const std::string& path : paths) audit.troubles.push_back({path, why});
    return audit;
  };
  const core::Result<std::string> answer =
      run_python(python, embedded_program(), embedded_request("__main__", paths), k_limit);
  if (!answer)
    return all_fail(answer.error().code == core::ErrorCode::not_found
                        ? "the code was not audited: there is no " + python + " on this machine"
                        : "the code was not audited: " + answer.error().text);
  simdjson::dom::parser parser;
  simdjson::dom::element parsed;
  if (parser.parse(*answer).get(parsed) != simdjson::SUCCESS)
    return all_fail("the code was not audited: " + python +
                    " gave no JSON (3.9 or later is needed)");
  const Node root(parsed);
  for (const Node& entry : knowledge::list_of(root, "findings"))
    audit.findings.push_back(finding_of(entry));
  for (const Node& entry : knowledge::list_of(root, "errors"))
    audit.troubles.push_back(
        {knowledge::text_of(entry, "path"), core::sanitize(knowledge::text_of(entry, "text"))});
  return audit;
}

}  // namespace aplomb::preflight
