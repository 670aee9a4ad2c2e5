// docs/security.md names a test for each promise: each of them exists.

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

#include "cli/program.h"

namespace aplomb::test {
namespace {

TEST(SecurityPage, NamesOnlyTestsThatExist) {
  std::set<std::string> tests;
  const std::regex definition(R"(TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\))");
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(APLOMB_SOURCE_DIR "/tests")) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string text = content(entry.path().string());
    for (std::sregex_iterator at(text.begin(), text.end(), definition), end; at != end; ++at)
      tests.insert((*at)[1].str() + "." + (*at)[2].str());
  }
  const std::string page = content(APLOMB_SOURCE_DIR "/docs/security.md");
  const std::regex named(R"(`([A-Z]\w+\.[A-Z]\w+)`)");
  std::size_t count = 0;
  for (std::sregex_iterator at(page.begin(), page.end(), named), end; at != end; ++at) {
    ++count;
    EXPECT_TRUE(tests.contains((*at)[1].str())) << (*at)[1].str();
  }
  EXPECT_GE(count, 40U);
}

}  // namespace
}  // namespace aplomb::test
