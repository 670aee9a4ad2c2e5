#pragma once
/// The audit of Python programs (python/aplomb/audit), run by the python3 of this machine: isolated,
/// without installed packages, with limits of processor time and memory. The programs are parsed by
/// Python's `ast`; nothing in them is executed or imported. What a finding means stands in
/// knowledge/code (knowledge/code_book.h).
///
///     CodeAudit audit = audit_programs({"train.py"}, {});
///     for (const CodeFinding& each : audit.findings) report.findings.push_back(report_of(each));

#include <aplomb/report.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace aplomb::preflight {

struct CodeFinding {
  struct Place {
    std::uint64_t line = 0;    ///< from 1
    std::uint64_t offset = 0;  ///< of its first byte
  };
  std::string id;  ///< `code.clip-after-step`, of the code book
  /// Wrong whatever the curves say; false: a suspicion.
  bool is_mistake = false;
  std::string path;
  std::vector<Place> places;  ///< the line itself first, then others that show it
  std::string text;           ///< of the line
  std::string title;
  std::string because;
  std::string corrected;  ///< how it should read
  std::string severity;   ///< note | warning | unstable | failed
};

struct CodeAudit {
  struct Trouble {
    std::string path;
    std::string text;  ///< why this program, or a part of it, was not judged
    /// The rules that were left out while the others judged; none: nothing was judged.
    std::vector<std::string> rules = {};
  };
  std::vector<CodeFinding> findings;  ///< in the order of files and lines
  std::vector<Trouble> troubles;
};

struct AuditOptions {
  /// The interpreter: a path, or a name on PATH (3.9 or later).
  std::string python = "python3";
  /// Processor time for all programs together: how long they take does not hang on what else the
  /// machine does. Where the interpreter is missing or fails, each program is a Trouble that says
  /// so; what there was no time for is one too.
  std::chrono::seconds cpu_limit{120};
};

CodeAudit audit_programs(const std::vector<std::string>& paths, const AuditOptions& options);

ReportFinding report_of(const CodeFinding& finding);

}  // namespace aplomb::preflight
