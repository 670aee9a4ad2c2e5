// Memory and time of each command over inputs of size n, 2n and 4n. Memory that grows with the input
// beyond what is promised, or time that grows faster than the input, fails here before a user's file
// of a gigabyte does. The sizes are small, so that the whole runs in seconds; times are fitted with
// wide margins, as the machine that runs the tests does other things too.

#include <gtest/gtest.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>

#include "cli/program.h"

extern char** environ;  // NOLINT(readability-identifier-naming): POSIX

namespace aplomb::test {
namespace {

struct Cost {
  int status = -1;
  double seconds = 0;  ///< of the processors
  double mib = 0;      ///< largest resident set
};

/// Runs the program without a shell, as wait4() counts one process alone. What the test itself has held
/// counts as the child's (it begins as a copy), so inputs are written in small pieces.
Cost cost_of(std::vector<std::string> words) {
  words.insert(words.begin(), APLOMB_BINARY);
  std::vector<char*> list;
  for (std::string& each : words) list.push_back(each.data());
  list.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  for (const int stream : {1, 2})
    posix_spawn_file_actions_addopen(&quiet, stream, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  Cost cost;
  if (posix_spawn(&child, APLOMB_BINARY, &quiet, nullptr, list.data(), environ) == 0) {
    int status = 0;
    rusage used{};
    wait4(child, &status, 0, &used);
    cost.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    cost.seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
    cost.mib = static_cast<double>(used.ru_maxrss) / 1024;
  }
  posix_spawn_file_actions_destroy(&quiet);
  return cost;
}

struct Growth {
  std::string name;
  std::string file;                                       ///< of the input
  std::function<void(std::ofstream&, std::size_t)> fill;  ///< so many pieces
  std::size_t pieces = 0;                                 ///< n
  std::vector<std::string> words;                         ///< `@` stands for the file
  double most_mib_more = 8;                               ///< from n to 4n
};

/// Sanitizers keep what was freed: memory is not theirs to judge.
constexpr bool k_judges_memory =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    false;
#else
    true;
#endif

void check(const Growth& growth) {
  const Folder folder;
  std::array<Cost, 3> costs;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const std::string path = folder / (std::to_string(i) + growth.file);
    {
      std::ofstream out(path, std::ios::binary);
      growth.fill(out, growth.pieces << i);
    }
    std::vector<std::string> words = growth.words;
    std::replace(words.begin(), words.end(), std::string("@"), path);
    costs[i] = cost_of(words);
    ASSERT_GE(costs[i].status, 0) << growth.name << " ended by a signal at "
                                  << (growth.pieces << i);
    ASSERT_LE(costs[i].status, 2) << growth.name;
  }
  const double more = costs[2].mib - costs[0].mib;
  if (k_judges_memory) {
    EXPECT_LE(more, growth.most_mib_more) << growth.name << ": " << costs[0].mib << ", "
                                          << costs[1].mib << ", " << costs[2].mib << " MiB";
  }
  // Of four times the input a linear program takes four times as long, a quadratic one sixteen
  // times; what every start costs is taken off, and what is too short to tell is let go.
  const Cost start = cost_of({"--version"});
  const double first = costs[0].seconds - start.seconds;
  const double last = costs[2].seconds - start.seconds;
  constexpr double k_short_s = 0.5;
  if (last < k_short_s) return;
  const double power = std::log(last / std::max(first, 0.01)) / std::log(4.0);
  EXPECT_LE(power, 1.6) << growth.name << ": " << costs[0].seconds << ", " << costs[1].seconds
                        << ", " << costs[2].seconds << " s";
}

/// Weights of so many tensors of two numbers.
void safetensors(std::ofstream& out, std::size_t count) {
  std::string head = "{";
  for (std::size_t i = 0; i < count; ++i) {
    head += (i > 0 ? ",\"" : "\"");
    head += "model.layers." + std::to_string(i / 8) + ".x" + std::to_string(i % 8) +
            R"(.weight":{"dtype":"F32","shape":[2],"data_offsets":[)" + std::to_string(i * 8) +
            "," + std::to_string(i * 8 + 8) + "]}";
  }
  head += "}";
  const std::uint64_t size = head.size();
  out.write(reinterpret_cast<const char*>(&size), sizeof size);
  out << head;
  for (std::size_t i = 0; i < count; ++i) {
    const std::array<float, 2> pair = {1.0F, static_cast<float>(i % 97)};
    out.write(reinterpret_cast<const char*>(pair.data()), sizeof pair);
  }
}

using Lines = std::function<std::string(std::size_t)>;
auto lines(Lines line) {
  return [line = std::move(line)](std::ofstream& out, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) out << line(i) << '\n';
  };
}
std::string no(std::size_t i) { return std::to_string(i); }

TEST(GrowthOfDiagnose, MetricsOfEverNewNames) {
  check({"names",
         ".jsonl",
         lines([](std::size_t i) {
           return R"({"step":)" + no(i) + R"(,"loss":2.0,"m)" + no(i) + R"(":1})";
         }),
         10000,
         {"diagnose", "@"}});
}
TEST(GrowthOfDiagnose, SettingsThatAreLoggedAtEveryStep) {
  check({"settings",
         ".log",
         lines([](std::size_t i) {
           return "learning_rate: " + no(i % 7 + 1) + "e-" + no(i % 5 + 1) +
                  "\nbatch_size: " + no(i + 1);
         }),
         20000,
         {"diagnose", "@"}});
}
TEST(GrowthOfDiagnose, Ranks) {
  check({"ranks",
         ".log",
         lines([](std::size_t i) { return "[rank" + no(i) + "]: step " + no(i) + " loss 2.0"; }),
         20000,
         {"diagnose", "@"}});
}
TEST(GrowthOfDiagnose, Tracebacks) {
  check({"tracebacks",
         ".log",
         lines([](std::size_t i) {
           return "Traceback (most recent call last):\n  File \"/a/x" + no(i) + ".py\", line " +
                  no(i) + ", in f" + no(i) + "\n    g()\nValueError: bad " + no(i);
         }),
         10000,
         {"diagnose", "@"}});
}
TEST(GrowthOfDiagnose, Events) {
  check({"events",
         ".log",
         lines([](std::size_t i) {
           return "RuntimeError: CUDA out of memory. Tried to allocate " + no(i) + ".00 GiB";
         }),
         10000,
         {"diagnose", "@"}});
}
TEST(GrowthOfDiagnose, KeysOfLogLines) {
  check({"keys",
         ".log",
         lines([](std::size_t i) { return "step " + no(i) + " loss 2.0 key_" + no(i) + ": 1.5"; }),
         10000,
         {"diagnose", "@"}});
}
TEST(GrowthOfDiagnose, KeysOfAConfiguration) {
  check({"config",
         ".yaml",
         lines([](std::size_t i) { return "x" + no(i) + ":\n  learning_rate: " + no(i + 1); }),
         20000,
         {"diagnose", "@"},
         16});
}
TEST(GrowthOfDiagnose, StepsOfARun) {
  check({"steps",
         ".log",
         lines([](std::size_t i) { return "step " + no(i) + " loss " + no(2 + i % 3) + ".5"; }),
         100000,
         {"diagnose", "@"},
         24});
}

/// Of one line no more is held than LineReader gives (16 MiB): 16, 32 and 64 MiB cost alike.
TEST(GrowthOfDiagnose, ALineOfJson) {
  const auto text = [](std::ofstream& out, std::size_t count) {
    out << R"({"step":1,"loss":2.0,"text":")";
    const std::string piece(1U << 20U, 'x');
    for (std::size_t i = 0; i < count; ++i) out << piece;
    out << "\"}\n{\"step\":2,\"loss\":1.9}\n";
  };
  check({"text", ".jsonl", text, 16, {"diagnose", "@"}});
  const auto numbers = [](std::ofstream& out, std::size_t count) {
    out << R"({"loss":[)";
    std::string piece;
    while (piece.size() < (1U << 20U)) piece += "2,";
    for (std::size_t i = 0; i < count; ++i) out << piece;
    out << "1]}\n";
  };
  check({"numbers", ".json", numbers, 16, {"diagnose", "@"}});
}
TEST(GrowthOfDiagnose, ALineOfJsonTakesNoMoreThan64Mib) {
  if (!k_judges_memory) GTEST_SKIP();
  const Folder folder;
  const std::string path = folder / "long.jsonl";
  std::ofstream out(path);
  out << R"({"step":1,"loss":2.0,"text":")";
  const std::string piece(1U << 20U, 'x');
  for (int i = 0; i < 96; ++i) out << piece;
  out << "\"}\n{\"step\":2,\"loss\":1.9}\n";
  out.close();
  const Cost cost = cost_of({"diagnose", path});
  EXPECT_LE(cost.mib, 64);
  EXPECT_NE(run_program("% diagnose " + path + " --json").out.find("\"points\": 2"),
            std::string::npos);
}

TEST(GrowthOfCkpt, TensorsOfAScan) {
  // 37,500 tensors more, each with a histogram of 2 KiB in the statistics and in the survey.
  check({"scan", ".safetensors", safetensors, 12500, {"ckpt", "scan", "@"}, 200});
}
TEST(GrowthOfCkpt, TensorsOfADiff) {
  // 37,500 tensors more on each of two sides, at most 1 KiB each.
  check({"diff", ".safetensors", safetensors, 12500, {"ckpt", "diff", "@", "@"}, 75});
}
TEST(GrowthOfCheck, RowsOfData) {
  check({"rows",
         ".jsonl",
         lines([](std::size_t i) { return R"({"prompt":"a )" + no(i) + R"(","completion":"b"})"; }),
         20000,
         {"check", "@"},
         16});
}
TEST(GrowthOfCheck, KeysOfAConfiguration) {
  check({"check",
         ".yaml",
         lines([](std::size_t i) { return "x" + no(i) + ":\n  learning_rate: " + no(i + 1); }),
         10000,
         {"check", "@"},
         16});
}
TEST(GrowthOfPlan, KeysOfAConfiguration) {
  check({"plan",
         ".json",
         [](std::ofstream& out, std::size_t count) {
           out << R"({"model_type":"llama","hidden_size":64,"num_hidden_layers":2,)"
                  R"("num_attention_heads":2,"vocab_size":100,"intermediate_size":128)";
           for (std::size_t i = 0; i < count; ++i) out << ",\"k" << i << "\":" << i;
           out << "}";
         },
         10000,
         {"plan", "@"},
         16});
}
TEST(GrowthOfCompare, StepsOfTwoRuns) {
  check({"compare",
         ".log",
         lines([](std::size_t i) { return "step " + no(i) + " loss " + no(2 + i % 3) + ".5"; }),
         50000,
         {"compare", "@", "@"},
         40});
}

}  // namespace
}  // namespace aplomb::test
