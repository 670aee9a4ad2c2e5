#include "preflight/code_audit.h"

#include <simdjson.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "knowledge/code_book.h"
#include "knowledge/document.h"
#include "preflight/embedded_python.h"
#include "preflight/run_python.h"
#include "report/evidence.h"

namespace aplomb::preflight {
namespace {

using knowledge::Node;

/// A tree of a million nodes takes 300 MB; a program of that size is no program.
constexpr std::uint64_t k_memory_bytes = std::uint64_t{2} << 30U;
constexpr std::size_t k_most_quote = 200;
/// Of the processor time: then the audit ends by itself and says what it has found so far.
constexpr double k_own_share = 0.7;
/// Time on the wall for each second of processor time, before the process is taken for stuck: a
/// machine that has twenty other things to do on each core is slow, and not stuck.
constexpr int k_wall_factor = 20;

std::string severity_of(const knowledge::CodeEntry& entry, bool is_sure) {
  const core::Severity most = is_sure ? entry.severity : core::Severity::warning;
  return std::string(name(std::min(entry.severity, most)));
}

CodeFinding finding_of(const Node& node, const knowledge::CodeEntry& entry) {
  CodeFinding out;
  const bool is_sure = knowledge::truth_of(node, "sure", true);
  out.id = entry.id;
  out.is_mistake = entry.is_mistake && is_sure;
  out.severity = severity_of(entry, is_sure);
  out.path = knowledge::text_of(node, "path");
  for (const Node& place : knowledge::list_of(node, "places")) {
    const std::vector<Node> numbers = place.items();
    if (numbers.size() == 2)
      out.places.push_back({static_cast<std::uint64_t>(numbers[0].number().value_or(0)),
                            static_cast<std::uint64_t>(numbers[1].number().value_or(0))});
  }
  std::vector<std::pair<std::string, std::string>> values;
  for (const auto& [key, value] : node["values"].members())
    values.emplace_back(key,
                        core::shorten(core::sanitize(value.text().value_or("")), k_most_quote));
  out.text = report::tidy_line(knowledge::text_of(node, "text"), k_most_quote);
  out.title = knowledge::filled_in(entry.title, values);
  out.because = knowledge::filled_in(entry.because, values);
  out.corrected = core::sanitize_lines(knowledge::text_of(node, "corrected"));
  if (out.corrected.empty()) out.corrected = entry.fix;
  return out;
}

/// A note stands once in a file, with all its places: it is of nearly every script, and no news.
void fold_notes(std::vector<CodeFinding>& findings) {
  std::vector<CodeFinding> kept;
  for (CodeFinding& each : findings) {
    const auto same = std::find_if(kept.begin(), kept.end(), [&](const CodeFinding& one) {
      return each.severity == "note" && one.id == each.id && one.path == each.path;
    });
    if (same == kept.end()) {
      kept.push_back(std::move(each));
      continue;
    }
    same->places.insert(same->places.end(), each.places.begin(), each.places.end());
  }
  findings = std::move(kept);
}

void read_answer(const Node& root, CodeAudit& audit) {
  for (const Node& node : knowledge::list_of(root, "findings")) {
    const std::string rule = knowledge::text_of(node, "rule");
    const knowledge::CodeEntry* entry = knowledge::code_book().find(rule);
    if (entry != nullptr) audit.findings.push_back(finding_of(node, *entry));
  }
  fold_notes(audit.findings);
  for (const Node& node : knowledge::list_of(root, "errors")) {
    CodeAudit::Trouble trouble{knowledge::text_of(node, "path"),
                               core::sanitize(knowledge::text_of(node, "text"))};
    for (const Node& rule : knowledge::list_of(node, "rules"))
      trouble.rules.emplace_back(rule.text().value_or(""));
    audit.troubles.push_back(std::move(trouble));
  }
}

}  // namespace

CodeAudit audit_programs(const std::vector<std::string>& paths, const AuditOptions& options) {
  CodeAudit audit;
  if (paths.empty()) return audit;
  const auto all_fail = [&](const std::string& why) {
    for (const std::string& path : paths)
      audit.troubles.push_back({path, "the code was not audited: " + why});
    return audit;
  };
  const std::string& python = options.python;
  const auto seconds = static_cast<std::uint32_t>(options.cpu_limit.count());
  const nlohmann::json request = {{"paths", paths}, {"seconds", seconds * k_own_share}};
  const core::Result<std::string> answer = run_python(
      python, embedded_program(), embedded_request("__main__", request, {seconds, k_memory_bytes}),
      options.cpu_limit * k_wall_factor, Packages::none);
  if (!answer)
    return all_fail(answer.error().code == core::ErrorCode::not_found
                        ? "there is no " + python + " on this machine"
                        : answer.error().text);
  simdjson::dom::parser parser;
  simdjson::dom::element parsed;
  if (parser.parse(*answer).get(parsed) != simdjson::SUCCESS)
    return all_fail(python + " gave no JSON (3.9 or later is needed)");
  read_answer(Node(parsed), audit);
  return audit;
}

ReportFinding report_of(const CodeFinding& finding) {
  ReportFinding out;
  out.id = finding.id;
  out.severity = finding.severity;
  out.title = finding.title;
  out.because = finding.because;
  for (const CodeFinding::Place& place : finding.places) {
    const bool is_first = out.evidence.empty();
    out.evidence.push_back({core::sanitize(finding.path), place.line, std::nullopt,
                            is_first ? finding.text : std::string()});
  }
  if (!finding.corrected.empty())
    out.remedies.push_back({"Write instead:", {}, {{"python", finding.corrected}}});
  const knowledge::CodeEntry* entry = knowledge::code_book().find(finding.id);
  if (entry != nullptr) out.leads_to = entry->leads_to;
  return out;
}

}  // namespace aplomb::preflight
