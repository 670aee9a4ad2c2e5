// Every call with which an output is written or an input is read fails once: the output is whole or
// what stood there before, nothing is left beside it, and the exit status says which.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "cli/program.h"

namespace aplomb::cli {
namespace {

using test::content;
using test::Folder;
using test::run_program;
using test::Said;

const std::string k_run = APLOMB_SOURCE_DIR "/examples/lr-too-high-nan";

std::string failing(const std::string& kind, int at, int error) {
  return "LD_PRELOAD=" APLOMB_FAULTS " APLOMB_FAIL_KIND=" + kind +
         " APLOMB_FAIL_AT=" + std::to_string(at) + " APLOMB_FAIL_WITH=" + std::to_string(error) +
         " ";
}

std::size_t files_in(const Folder& folder) {
  std::size_t count = 0;
  for (const auto& each : std::filesystem::recursive_directory_iterator(folder / ""))
    count += each.is_regular_file() ? 1U : 0U;
  return count;
}

/// Runs `command` (`OUT` stands for its output, in which `before` stands) with each early call of
/// each kind failing; says how often that was told.
std::size_t told_of(const std::string& command, const std::string& before) {
  std::size_t told = 0;
  std::string end;  // of what a run without faults writes
  for (const auto& [kind, error] :
       std::initializer_list<std::pair<const char*, int>>{{"none", 0},
                                                          {"open", EACCES},
                                                          {"write", ENOSPC},
                                                          {"write", EIO},
                                                          {"write", 0},
                                                          {"fsync", EIO},
                                                          {"rename", EIO}}) {
    for (const char* sandbox : {"", "APLOMB_SANDBOX=off "}) {
      for (int at = 1; at <= 2; ++at) {
        const Folder folder;
        const std::string out = before.empty() ? folder / "out" : folder.write("out", before);
        std::string line = command;
        line.replace(line.find("OUT"), 3, out);
        const Said said = run_program(sandbox + failing(kind, at, error) + line);
        const std::string stands = content(out);
        const std::string which = std::string(kind) + " " + std::to_string(at) + " " +
                                  std::to_string(error) + " " + sandbox + said.error;
        EXPECT_TRUE(said.status == 0 || said.status == 1 || said.status == 2) << which;
        if (said.status == 2) {
          ++told;
          EXPECT_EQ(stands, before) << which;
          EXPECT_EQ(files_in(folder), before.empty() ? 0U : 1U) << which;
          continue;
        }
        EXPECT_EQ(files_in(folder), 1U) << which;
        if (stands.starts_with("\x1f\x8b")) {
          EXPECT_EQ(run_program("tar tzf " + out).status, 0) << which;
          continue;
        }
        if (end.empty())
          end = stands.substr(stands.size() - std::min<std::size_t>(stands.size(), 8));
        EXPECT_TRUE(!end.empty() && stands.ends_with(end)) << which;
      }
    }
  }
  return told;
}

#define SKIP_WHERE_NOTHING_IS_PRELOADED()                               \
  if (run_program(failing("none", 1, 0) + "% --version").status != 0) { \
    GTEST_SKIP() << "nothing can be preloaded here (a sanitizer)";      \
  }

TEST(Faults, AnOutputIsWholeOrAsItWasWhicheverCallFails) {
  SKIP_WHERE_NOTHING_IS_PRELOADED();
  EXPECT_GE(told_of("% bundle " + k_run + " --yes -o OUT", "before"), 8U);
  EXPECT_GE(told_of("% diagnose " + k_run + " --html OUT", "before"), 8U);
  EXPECT_GE(told_of("% diagnose " + k_run + " --fix OUT", ""), 8U);
}

TEST(Faults, AnInputThatCannotBeReadToItsEndIsToldAndEndsNothing) {
  SKIP_WHERE_NOTHING_IS_PRELOADED();
  for (const auto& [kind, error] : std::initializer_list<std::pair<const char*, int>>{
           {"read", EIO}, {"read", 0}, {"read-open", EIO}, {"read-open", EMFILE}}) {
    for (int at = 1; at <= 12; ++at) {
      const Said said = run_program(failing(kind, at, error) + "% diagnose " + k_run + " --json");
      EXPECT_TRUE(said.status == 0 || said.status == 1 || said.status == 2)
          << kind << " " << at << " " << error << ": " << said.status << " " << said.error;
      if (error == 0) {
        EXPECT_EQ(said.status, 1);  // a short read is no fault
      }
    }
  }
}

}  // namespace
}  // namespace aplomb::cli
