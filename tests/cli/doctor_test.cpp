#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "core/version.h"
#include "sandbox/sandbox.h"

namespace aplomb::cli {
namespace {

using test::content;
using test::Folder;
using test::run_program;
using test::Said;
using ::testing::HasSubstr;

nlohmann::json check_of(const Said& said, const std::string& name) {
  const nlohmann::json whole = nlohmann::json::parse(said.out);
  for (const auto& each : whole["checks"]) {
    if (each["name"] == name) return each;
  }
  return {};
}

TEST(DoctorCommand, SaysWhatIsInForce) {
  const Said said = run_program("% doctor --json");
  EXPECT_EQ(check_of(said, "version")["found"], core::version());
  EXPECT_FALSE(check_of(said, "simd")["found"].get<std::string>().empty());
  const sandbox::Probe here = sandbox::probe();
  const bool holds =
      here.in_force.any() && !here.can_execute && !here.can_connect && !here.can_write;
  EXPECT_EQ(check_of(said, "sandbox")["fine"], holds);
}

TEST(DoctorCommand, SaysThatTheSandboxIsSwitchedOff) {
  const Said said = run_program("APLOMB_SANDBOX=off % doctor");
  EXPECT_EQ(said.status, 1);
  EXPECT_THAT(said.out, HasSubstr("switched off"));
  EXPECT_THAT(run_program("% doctor --no-sandbox").out, HasSubstr("switched off"));
}

TEST(DoctorCommand, CommandsThatReadAreConfinedUnlessTheyAreToldNotTo) {
  if (!sandbox::probe().in_force.calls) GTEST_SKIP() << "no seccomp on this machine";
  // It waits to write into a pipe that nobody empties; the kernel is asked about it meanwhile.
  const auto seen = [](const std::string& option) {
    const Folder folder;
    return run_program(
               "mkfifo " + (folder / "pipe") +
               "; % diagnose " APLOMB_SOURCE_DIR "/examples --html /dev/stdout " + option + " >" +
               (folder / "pipe") + " & p=$!; exec 3<" + (folder / "pipe") +
               "; for i in $(seq 30); do sleep 0.1; grep -q 'Seccomp:.2' /proc/$p/status && "
               "echo confined && break; done; exec 3<&-; wait $p")
        .out;
  };
  EXPECT_EQ(seen(""), "confined\n");
  EXPECT_EQ(seen("--no-sandbox"), "");
}

TEST(DoctorCommand, TheInterpreterOfACheckIsStartedFromWithinTheSandbox) {
  const Folder folder;
  const std::string path = folder.write("train.py",
                                        "import torch\nfor x in d:\n  loss = m(x)\n  "
                                        "loss.backward()\n  optimizer.step()\n");
  const Said confined = run_program("% check --json " + path);
  EXPECT_EQ(confined.status, 1);
  EXPECT_EQ(confined.out, run_program("% check --json --no-sandbox " + path).out);
}

TEST(DoctorCommand, WhatWasNamedIsWrittenFromWithinTheSandbox) {
  const Folder folder;
  const std::string run = APLOMB_SOURCE_DIR "/examples/lr-too-high-nan";
  (void)run_program("% diagnose " + run + " --html " + (folder / "r.html") + " --fix " +
                    (folder / "new/fixed/"));
  EXPECT_THAT(content(folder / "r.html"), HasSubstr("<html"));
  EXPECT_TRUE(std::filesystem::exists(folder / "new/fixed"));
  (void)run_program("mkdir " + (folder / "at") + "; cd " + (folder / "at") + "; % diagnose " + run +
                    " --html ../above.html --fix ../fixed/");
  EXPECT_THAT(content(folder / "above.html"), HasSubstr("<html"));
  EXPECT_TRUE(std::filesystem::exists(folder / "fixed"));
  EXPECT_THAT(run_program("cat " + run + "/*.log | % diagnose - --html /dev/stdout").out,
              HasSubstr("<html"));
}

}  // namespace
}  // namespace aplomb::cli
