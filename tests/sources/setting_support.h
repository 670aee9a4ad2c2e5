#pragma once
/// What the tests of settings readers share.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>

#include "sources/reader_support.h"

namespace aplomb::test {

/// Everything that a text sets, by canonical name, as shown to people; of several the last.
inline std::map<std::string, std::string> settings_of(std::string_view reader,
                                                      std::string_view text,
                                                      std::string path = "artifact") {
  const aplomb::record::Run run = read_with(reader, text, 1U << 20U, std::move(path));
  std::map<std::string, std::string> found;
  for (const record::Setting& setting : run.settings)
    found[setting.name] = core::show(setting.value);
  return found;
}

/// Expects that the text sets these, whatever else it sets; gives all that it sets.
inline std::map<std::string, std::string> expect_settings(
    std::string_view reader, std::string_view text,
    const std::map<std::string, std::string>& wanted) {
  auto found = settings_of(reader, text);
  for (const auto& [name, value] : wanted)
    EXPECT_EQ(found.contains(name) ? found.at(name) : "nothing", value) << name;
  return found;
}

}  // namespace aplomb::test
