#pragma once
/// Runs for the tests of the rules: from settings as they stand in an example, or from files.

#include <string>
#include <string_view>

#include "config_text/derived_settings.h"
#include "core/folder.h"
#include "discovery/assemble.h"
#include "discovery/collect.h"
#include "preflight/rule_book.h"
#include "record/run.h"

namespace aplomb::test {

/// Settings by name; `trainer` names the framework that they are of; `file:NAME` is a file with
/// that text, read as a user's would be.
inline aplomb::record::Run run_of(const preflight::ExampleSettings& example) {
  aplomb::record::Run run;
  std::string trainer;
  const Folder folder;
  for (const auto& [name, value] : example) {
    if (name == "trainer") trainer = core::show(value);
    if (!name.starts_with("file:")) continue;
    const std::string path = folder.write(name.substr(5), core::show(value));
    for (aplomb::record::Run& part : discovery::collect({path}, {}))
      discovery::merge_into(run, std::move(part));
  }
  if (run.sources.empty()) run.sources.push_back({"example.yaml", "config-yaml", 1, trainer});
  std::uint64_t line = 0;
  for (const auto& [name, value] : example) {
    if (name == "trainer" || name.starts_with("file:")) continue;
    ++line;
    run.settings.push_back({name, value, name, trainer, {0, line, line}});
  }
  config_text::add_derived_settings(run);
  return run;
}

}  // namespace aplomb::test
