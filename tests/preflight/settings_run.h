#pragma once
/// Runs for the tests of the rules: from settings as they stand in an example, or from files.

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "preflight/rule_book.h"
#include "record/run.h"
#include "sources/assemble.h"
#include "sources/collect.h"
#include "sources/derived_settings.h"

namespace aplomb::test {

/// Settings by name; `trainer` names the framework that they are of; `file:NAME` is a file with
/// that text, read as a user's would be.
inline aplomb::Run run_of(const ExampleSettings& example) {
  namespace fs = std::filesystem;
  aplomb::Run run;
  std::string trainer;
  std::string folder;
  for (const auto& [name, value] : example) {
    if (name == "trainer") trainer = show(value);
    if (!name.starts_with("file:")) continue;
    if (folder.empty()) {
      folder = (fs::temp_directory_path() / "aplomb-rule-XXXXXX").string();
      if (::mkdtemp(folder.data()) == nullptr) return run;
    }
    const std::string path = folder + "/" + name.substr(5);
    std::ofstream(path, std::ios::binary) << show(value);
    for (aplomb::Run& part : collect({path}, {})) merge_into(run, std::move(part));
  }
  if (!folder.empty()) fs::remove_all(folder);
  if (run.sources.empty()) run.sources.push_back({"example.yaml", "config-yaml", 1, trainer});
  std::uint64_t line = 0;
  for (const auto& [name, value] : example) {
    if (name == "trainer" || name.starts_with("file:")) continue;
    ++line;
    run.settings.push_back({name, value, name, trainer, {0, line, line}});
  }
  add_derived_settings(run);
  return run;
}

}  // namespace aplomb::test
