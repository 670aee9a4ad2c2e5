#include "preflight/code_audit.h"

#include <simdjson.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "knowledge/document.h"
#include "preflight/audit_files.h"
#include "preflight/run_python.h"
#include "report/evidence.h"

namespace aplomb {
namespace {

using simdjson::dom::element;

constexpr std::chrono::seconds k_limit{120};

/// Imports the package from what it is handed, never from the disk, and runs its main().
constexpr const char* k_bootstrap = R"(
import importlib.abc, importlib.util, json, sys
given = json.load(sys.stdin)
class Embedded(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name in given["sources"]:
            return importlib.util.spec_from_loader(name, self, is_package=name == "aplomb_audit")
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        exec(compile(given["sources"][module.__name__], "<" + module.__name__ + ">", "exec"), module.__dict__)
sys.meta_path.insert(0, Embedded())
from aplomb_audit.__main__ import main
main(given["paths"])
)";

std::string request(const std::vector<std::string>& paths) {
  nlohmann::json sources = nlohmann::json::object();
  for (std::size_t i = 0; i < k_audit_file_count; ++i) {
    const std::string name = k_audit_files[i].name;
    sources[name == "__init__" ? "aplomb_audit" : "aplomb_audit." + name] = k_audit_files[i].text;
  }
  const nlohmann::json all = {{"sources", std::move(sources)}, {"paths", paths}};
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

ReportFinding finding_of(element entry) {
  ReportFinding out;
  out.id = knowledge::text_of(entry, "rule");
  out.severity = knowledge::text_of(entry, "severity");
  out.title = sanitize(knowledge::text_of(entry, "title"));
  out.because = sanitize(knowledge::text_of(entry, "because"));
  out.evidence.push_back({sanitize(knowledge::text_of(entry, "path")),
                          static_cast<std::uint64_t>(knowledge::number_of(entry, "line")),
                          std::nullopt, tidy_line(knowledge::text_of(entry, "text"), 200)});
  const std::string corrected = sanitize_lines(knowledge::text_of(entry, "corrected"));
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
  const Result<std::string> answer = run_python(python, k_bootstrap, request(paths), k_limit);
  if (!answer)
    return all_fail(answer.error().code == ErrorCode::not_found
                        ? "the code was not audited: there is no " + python + " on this machine"
                        : "the code was not audited: " + answer.error().text);
  simdjson::dom::parser parser;
  element root;
  if (parser.parse(*answer).get(root) != simdjson::SUCCESS)
    return all_fail("the code was not audited: " + python +
                    " gave no JSON (3.9 or later is needed)");
  for (const element entry : knowledge::list_of(root, "findings"))
    audit.findings.push_back(finding_of(entry));
  for (const element entry : knowledge::list_of(root, "errors"))
    audit.troubles.push_back(
        {knowledge::text_of(entry, "path"), sanitize(knowledge::text_of(entry, "text"))});
  return audit;
}

}  // namespace aplomb
