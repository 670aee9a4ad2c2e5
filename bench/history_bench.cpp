/// How long questions about 10,000 remembered runs take, in the library and as a command.
///
///     history_bench [APLOMB]       with the program's path its whole process is timed as well
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "store/store.h"

namespace {

using aplomb::store::PastRun;
using aplomb::store::Store;
using Clock = std::chrono::steady_clock;

constexpr int k_runs = 10'000;
constexpr int k_repeats = 21;

double milliseconds(const std::function<void()>& work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double median_ms(const std::function<void()>& work) {
  std::vector<double> taken;
  for (int i = 0; i < k_repeats; ++i) taken.push_back(milliseconds(work));
  std::nth_element(taken.begin(), taken.begin() + k_repeats / 2, taken.end());
  return taken[k_repeats / 2];
}

/// Runs as people have them: 100 programs, a tenth of them healthy, 40 settings, three curves.
PastRun run_of(int i) {
  PastRun run;
  run.origin = "run";
  run.program = fmt::format("/data/project-{}/train.py", i % 100);
  run.name = fmt::format("/data/project-{}/out/exp-{}", i % 100, i);
  run.paths = {run.name + "/output.log"};
  run.began = 1.7e9 + 600.0 * i;
  run.ended = run.began + 500;
  run.status = 0;
  run.verdict = i % 10 == 0 ? "healthy" : i % 3 == 0 ? "failed" : "unstable";
  run.headline = fmt::format("The loss of run {} rose and stayed", i);
  run.is_answered = i % 10 != 0;
  run.steps = 1000;
  if (run.is_answered)
    run.causes = {{fmt::format("diverge.cause-{}", i % 40), "A cause of divergence", 0.8}};
  run.symptoms = {{"loss.divergence", "unstable", 100, 900, "the loss rises from 2.1 to 7.5"}};
  for (int k = 0; k < 40; ++k)
    run.settings[fmt::format("group.setting-{}", k)] = fmt::format("{}", (i + k) % 7);
  run.environment = {{"env.torch", "2.13.0"}, {"hardware.gpu", "H200"}};
  for (const char* name : {"loss", "grad_norm", "lr"}) {
    aplomb::store::PastSeries series{name, name, 1000, {}};
    for (int k = 0; k < 200; ++k) series.chart.push_back({5L * k, std::sin(0.1 * k + i)});
    run.series.push_back(std::move(series));
  }
  run.lead_path = run.paths.front();
  run.lead_first = "1 2.5";
  run.kinds = "text-log";
  return run;
}

}  // namespace

int main(int count, char** words) {
  std::string folder = (std::filesystem::temp_directory_path() / "history-bench-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 2;
  const std::string path = folder + "/runs.db";
  auto store = Store::open(path, Store::Access::write);
  if (!store) {
    fmt::print("{}\n", store.error().text);
    return 2;
  }
  std::vector<double> added;
  for (int i = 0; i < k_runs; ++i) {
    const PastRun run = run_of(i);
    added.push_back(milliseconds([&] { (void)store->add(run); }));
  }
  std::nth_element(added.begin(), added.begin() + k_runs / 2, added.end());
  if (*store->count() != k_runs || store->list({"cause-7"}, 1000)->empty()) {
    fmt::print("the store does not hold what it was told: nothing is timed\n");
    return 1;
  }
  fmt::print("{} runs, {:.1f} MB; one is added in {:.2f} ms (median)\n", k_runs,
             static_cast<double>(std::filesystem::file_size(path)) / 1e6, added[k_runs / 2]);
  const std::string id = store->list({}, 1)->front().id;
  const PastRun again = run_of(k_runs + 6);
  fmt::print(
      "list {:.2f} ms, search of one word {:.2f} ms, of a word in all {:.2f} ms, show {:.2f} ms, "
      "seen before {:.2f} ms\n",
      median_ms([&] { (void)store->list({}, 20); }),
      median_ms([&] { (void)store->list({"diverge.cause-7"}, 20); }),
      median_ms([&] { (void)store->list({"loss.divergence", "h200"}, 20); }),
      median_ms([&] { (void)store->find(id); }),
      median_ms([&] { (void)store->seen_before(again); }));
  if (count > 1) {
    ::setenv("APLOMB_STORE", path.c_str(), 1);
    for (const std::string& verb : {std::string(), std::string("search diverge.cause-7"),
                                    std::string("search h200"), "show " + id}) {
      const std::string line = fmt::format("{} history {} > /dev/null", words[1], verb);
      fmt::print("aplomb history {}: {:.1f} ms\n", verb,
                 median_ms([&] { (void)std::system(line.c_str()); }));
    }
  }
  std::filesystem::remove_all(folder);
  return 0;
}
