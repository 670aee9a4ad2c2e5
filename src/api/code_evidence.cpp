#include "api/code_evidence.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <optional>

#include "knowledge/code_book.h"
#include "preflight/code_audit.h"

namespace aplomb::api {
namespace {

using preflight::CodeAudit;
using preflight::CodeFinding;

constexpr std::chrono::seconds k_cpu_limit{20};
constexpr std::size_t k_most_places = 8;  // of one finding

/// The user's own program: not one of an installed package.
bool is_program(const record::Source& source) {
  constexpr std::array<std::string_view, 2> k_installed = {"/site-packages/", "/dist-packages/"};
  return source.kind == "python-config" && source.path.ends_with(".py") &&
         source.bytes <= k_most_program_bytes &&
         std::none_of(k_installed.begin(), k_installed.end(), [&](std::string_view each) {
           return source.path.find(each) != std::string::npos;
         });
}

std::vector<std::string> programs_of(const std::vector<record::Run>& runs) {
  std::vector<std::string> paths;
  for (const record::Run& run : runs) {
    for (const record::Source& source : run.sources) {
      const bool is_new = std::find(paths.begin(), paths.end(), source.path) == paths.end();
      if (is_new && paths.size() < k_most_programs && is_program(source))
        paths.push_back(source.path);
    }
  }
  return paths;
}

bool is_of(const record::Fact& fact, record::SourceId source) {
  return std::all_of(fact.evidence.begin(), fact.evidence.end(),
                     [&](const record::Origin& origin) { return origin.source == source; });
}

/// Lines that somebody cut out of a program: they import nothing. The loop around them and what
/// their names stand for is not there to be parsed, so what patterns see in them stands.
bool is_fragment(const record::Run& run, record::SourceId source) {
  return std::none_of(run.facts.begin(), run.facts.end(), [&](const record::Fact& fact) {
    return fact.name == "code.import" && is_of(fact, source);
  });
}

/// A finding of patterns in a program that the audit has parsed: the audit says it, or it is not so.
bool is_replaced(const record::Fact& fact, record::SourceId source) {
  constexpr std::string_view k_mistake = "code.mistake.";
  const bool is_mistake = fact.name.starts_with(k_mistake);
  const std::string id = is_mistake ? "code." + fact.name.substr(k_mistake.size()) : fact.name;
  const knowledge::CodeEntry* entry = knowledge::code_book().find(id);
  return entry != nullptr && !entry->is_sign && !entry->only_fragment && is_of(fact, source);
}

/// One fact a name, with all its places.
void add_fact(record::Run& run, const std::string& name, const CodeFinding& finding,
              record::SourceId source) {
  auto known = std::find_if(run.facts.begin(), run.facts.end(),
                            [&](const record::Fact& fact) { return fact.name == name; });
  if (known == run.facts.end())
    known = run.facts.insert(run.facts.end(), {name, true, finding.title, {}});
  for (const CodeFinding::Place& place : finding.places) {
    if (known->evidence.size() < k_most_places)
      known->evidence.push_back({source, place.line, place.offset});
  }
}

/// What patterns saw stays where the rule that says so was left out.
void add_findings(record::Run& run, record::SourceId source, const CodeAudit& audit,
                  const std::vector<std::string>& left_out) {
  const std::string& path = run.sources[source].path;
  const auto replaced = [&](const record::Fact& fact) {
    const bool is_left_out =
        std::any_of(left_out.begin(), left_out.end(), [&](const std::string& rule) {
          return fact.name == rule || fact.name == knowledge::mistake_fact(rule);
        });
    return !is_left_out && is_replaced(fact, source);
  };
  if (!is_fragment(run, source)) std::erase_if(run.facts, replaced);
  for (const CodeFinding& finding : audit.findings) {
    if (finding.path != path) continue;
    add_fact(run, finding.id, finding, source);
    if (finding.is_mistake) add_fact(run, knowledge::mistake_fact(finding.id), finding, source);
  }
}

/// What was not judged of a program is a Defect of it: no report passes over it in silence. Gives
/// the rules that were left out; nothing where the program was not judged at all.
std::optional<std::vector<std::string>> add_troubles(record::Run& run, record::SourceId source,
                                                     const CodeAudit& audit) {
  std::optional<std::vector<std::string>> left_out = std::vector<std::string>();
  for (const CodeAudit::Trouble& each : audit.troubles) {
    if (each.path != run.sources[source].path) continue;
    run.defects.push_back(
        {source, 0, "not-audited", core::Severity::warning, "[code audit] " + each.text});
    if (each.rules.empty()) left_out.reset();
    if (left_out) left_out->insert(left_out->end(), each.rules.begin(), each.rules.end());
  }
  return left_out;
}

CodeAudit audit_of(const std::vector<std::string>& paths, const std::string& python,
                   AuditMemory* memory) {
  if (memory == nullptr) return preflight::audit_programs(paths, {python, k_cpu_limit});
  std::string key;
  for (const std::string& path : paths) {
    struct stat about{};
    if (::stat(path.c_str(), &about) != 0) about = {};
    key += path + '\n' + std::to_string(about.st_size) + ' ' +
           std::to_string(about.st_mtim.tv_sec) + ' ' + std::to_string(about.st_mtim.tv_nsec) +
           '\n';
  }
  const auto known = memory->find(key);
  if (known != memory->end()) return known->second;
  constexpr std::size_t k_most_remembered = 64;
  if (memory->size() >= k_most_remembered) memory->clear();
  return (*memory)[key] = preflight::audit_programs(paths, {python, k_cpu_limit});
}

}  // namespace

void add_code_evidence(std::vector<record::Run>& runs, const std::string& python,
                       AuditMemory* memory) {
  const std::vector<std::string> paths = programs_of(runs);
  if (paths.empty() || python.empty()) return;
  const CodeAudit audit = audit_of(paths, python, memory);
  for (record::Run& run : runs) {
    for (std::size_t i = 0; i < run.sources.size(); ++i) {
      const auto source = static_cast<record::SourceId>(i);
      if (std::find(paths.begin(), paths.end(), run.sources[i].path) == paths.end()) continue;
      if (const auto left_out = add_troubles(run, source, audit))
        add_findings(run, source, audit, *left_out);
    }
  }
}

}  // namespace aplomb::api
