#pragma once
/// The audit of Python programs (python/aplomb/audit), run by the python3 of this machine. The
/// programs are parsed by Python's `ast`, in isolated mode; nothing in them is executed or
/// imported.
///
///     CodeAudit audit = audit_programs({"train.py"});
///     for (const ReportFinding& finding : audit.findings) ...

#include <aplomb/report.h>

#include <string>
#include <vector>

namespace aplomb::preflight {

struct CodeAudit {
  struct Trouble {
    std::string path;
    std::string text;  ///< why this program was not audited
  };
  std::vector<ReportFinding> findings;  ///< in the order of files and lines
  std::vector<Trouble> troubles;
};

/// `python`: the interpreter, a path or a name on PATH (3.9 or later). Where it is missing, fails
/// or takes longer than two minutes, each program is a Trouble that says so.
CodeAudit audit_programs(const std::vector<std::string>& paths,
                         const std::string& python = "python3");

}  // namespace aplomb::preflight
