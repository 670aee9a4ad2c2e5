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

/// How a command fared with each call of a kind failing in turn, until none failed any more.
struct Sweep {
  int failures = 0;
  std::string wrong;  ///< where it ended by a signal, hung, or left half an output
};

std::string output_left(const Folder& folder, const std::string& out, const std::string& whole,
                        bool killed) {
  for (const auto& each : std::filesystem::directory_iterator(folder / "")) {
    const std::string name = each.path().filename().string();
    if (name == "mark" || name == "out") continue;
    if (!killed || !name.starts_with(".out.")) return "left " + name;
  }
  const std::string stands = content(out);
  if (stands.empty()) return {};
  if (stands.starts_with("\x1f\x8b"))
    return run_program("tar tzf " + out).status == 0 ? "" : "half an archive";
  return stands.ends_with(whole) ? "" : "half an output";
}

/// `OUT` in the command stands for its output. The first forty calls one by one, then so much
/// further each time: allocations are a hundred thousand.
Sweep sweep(const std::string& command, const std::string& kind, int error, double growth = 1) {
  Sweep result;
  std::string whole;
  for (int at = 1; at < 10'000'000;
       at = at < 40 ? at + 1 : std::max(at + 1, static_cast<int>(at * growth))) {
    const Folder folder;
    const std::string out = folder / "out";
    std::string line = command;
    if (const auto place = line.find("OUT"); place != std::string::npos)
      line.replace(place, 3, out);
    if (at == 1) {
      run_program("APLOMB_SANDBOX=off " + line);
      const std::string all = content(out);
      whole = all.substr(all.size() - std::min<std::size_t>(all.size(), 8));
      std::filesystem::remove_all(out);
    }
    const Said said = run_program(
        "APLOMB_SANDBOX=off APLOMB_FAIL_FROM=examples/ APLOMB_FAIL_MARK=" + (folder / "mark") +
        " timeout 60 env " + failing(kind, at, error) + line);
    if (!std::filesystem::exists(folder / "mark")) return result;
    ++result.failures;
    const bool killed = kind == "kill";
    std::string wrong = killed || (said.status >= 0 && said.status <= 2)
                            ? output_left(folder, out, whole, killed)
                            : "status " + std::to_string(said.status);
    if (!wrong.empty())
      result.wrong += kind + " " + std::to_string(at) + ": " + wrong + " " + said.error + "\n";
  }
  return result;
}

const std::string k_checkpoints = APLOMB_SOURCE_DIR "/examples/bf16-frozen-norms";

TEST(Faults, EveryCallOfAReaderMayFailOnce) {
  SKIP_WHERE_NOTHING_IS_PRELOADED();
  const std::string newest = k_checkpoints + "/checkpoint-400";
  for (const std::string& command :
       {"% diagnose --json " + k_run, "% ckpt scan " + newest, "% ckpt precision " + newest,
        "% ckpt diff " + k_checkpoints + "/checkpoint-200 " + newest,
        "% check " + k_run + "/training_args.json"}) {
    for (const auto& [kind, error] : std::initializer_list<std::pair<const char*, int>>{
             {"read-open", EMFILE}, {"mmap", ENOMEM}}) {
      EXPECT_EQ(sweep(command, kind, error).wrong, "") << command;
    }
    EXPECT_EQ(sweep(command, "read", EIO, 1.2).wrong, "") << command;
    const Sweep memory = sweep(command, "malloc", 0, 2);
    EXPECT_EQ(memory.wrong, "") << command;
    EXPECT_GT(memory.failures, 10) << command;
  }
}

TEST(Faults, AWriterMayFailOrBeKilledAtEveryCall) {
  SKIP_WHERE_NOTHING_IS_PRELOADED();
  const std::string newest = k_checkpoints + "/checkpoint-400";
  for (const std::string& command :
       {"% bundle " + k_run + " --yes -o OUT", "% diagnose " + k_run + " --html OUT",
        "% diagnose " + k_run + " --fix OUT", "% ckpt scan " + newest + " --write-manifest OUT"}) {
    for (const auto& [kind, error] :
         std::initializer_list<std::pair<const char*, int>>{{"open", EACCES},
                                                            {"write", ENOSPC},
                                                            {"write", EIO},
                                                            {"fsync", EIO},
                                                            {"rename", EIO},
                                                            {"kill", 0}}) {
      const Sweep found = sweep(command, kind, error);
      EXPECT_EQ(found.wrong, "") << command;
      EXPECT_GE(found.failures, 1) << command << " " << kind;
    }
    EXPECT_EQ(sweep(command, "malloc", 0, 2).wrong, "") << command;
  }
}

/// `ulimit -f` and quotas: the system's answer is a signal unless somebody asks for the error.
TEST(Faults, AFileThatMayNotGrowIsAnErrorAndNoSignal) {
  for (const std::string& command :
       {"% bundle " + k_run + " --yes -o OUT", "% diagnose " + k_run + " --html OUT"}) {
    for (const char* most : {"0", "1"}) {
      const Folder folder;
      std::string line = command;
      line.replace(line.find("OUT"), 3, folder / "out");
      const Said said =
          run_program("(ulimit -f " + std::string(most) + "; " + line + " >/dev/null 2>/dev/null)");
      EXPECT_EQ(said.status, 2) << line;  // 153: ended by the signal
      EXPECT_FALSE(std::filesystem::exists(folder / "out"));
    }
  }
}

/// A folder of several files: whichever call fails or is the last, what has its name is whole.
TEST(Faults, AConvertedCheckpointNeverHoldsHalfAFile) {
  SKIP_WHERE_NOTHING_IS_PRELOADED();
  for (const char* kind : {"write", "rename", "kill"}) {
    for (int at = 1; at <= 60; at += 3) {
      const Folder folder;
      const std::string line = "% ckpt convert " + k_checkpoints + "/checkpoint-400 " +
                               (folder / "out") + " --dtype bfloat16";
      const Said said = run_program("APLOMB_SANDBOX=off " + failing(kind, at, ENOSPC) + line);
      for (const auto& each : std::filesystem::recursive_directory_iterator(folder / "")) {
        const std::string path = each.path().string();
        if (path.ends_with(".safetensors") && each.path().filename().string().front() != '.') {
          EXPECT_EQ(run_program("% ckpt optimizer " + path).error.find("cut"), std::string::npos)
              << kind << at << said.error;
        }
      }
    }
  }
}

}  // namespace
}  // namespace aplomb::cli
