#pragma once
/// Scripts of these tests that need torch: which Python runs them.

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <string>

namespace aplomb::test {

/// The Python that can import `modules`: $APLOMB_PYTHON, the repository's own environment, or the
/// system's. Empty where none can.
inline std::string python_with(const std::string& modules) {
  const char* named = std::getenv("APLOMB_PYTHON");
  const std::array<std::string, 3> candidates = {named == nullptr ? "" : named,
                                                 APLOMB_SOURCE_DIR "/.venv/bin/python", "python3"};
  for (const std::string& each : candidates) {
    if (each.empty()) continue;
    const std::string probe = fmt::format("{} -c 'import {}' >/dev/null 2>&1", each, modules);
    if (std::system(probe.c_str()) == 0) return each;
  }
  return {};
}

/// Runs tests/checkpoint/SCRIPT FOLDER MORE; what it says goes to FOLDER.said.
inline bool run_script(const std::string& python, const std::string& script,
                       const std::string& folder, const std::string& more = {}) {
  const std::string line = fmt::format("{} {}/tests/checkpoint/{} {} {} >{}.said 2>&1", python,
                                       APLOMB_SOURCE_DIR, script, folder, more, folder);
  return std::system(line.c_str()) == 0;
}

}  // namespace aplomb::test
