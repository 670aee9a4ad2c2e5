/// How fast text logs are read, beside what the machine can do at all and, with text_log_peer.py,
/// beside compiled Python `re`.
///
///     text_log_bench [MEGABYTES [ROUNDS]]     table of GB/s: newline search, split, read
///     text_log_bench --write FILE MEGABYTES   the log of Hugging Face dict lines (seeded), to a
///     file text_log_bench --read FILE              reads FILE once; prints seconds, samples, peak
///     RSS
///
/// The rows are taken in turn, round by round; shown are medians.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "log_text/lines.h"
#include "sources/reader.h"

namespace aplomb {
namespace sources {
std::unique_ptr<Reader> make_text_log_reader();
}
namespace {

/// Time on the processor, so that neighbours on a busy machine do not count.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::string dict_lines(std::size_t bytes) {
  std::mt19937_64 random(20240607);
  std::normal_distribution<double> noise(0, 1);
  std::string out;
  out.reserve(bytes + 256);
  for (std::size_t step = 1; out.size() < bytes; ++step) {
    const auto at = static_cast<double>(step);
    fmt::format_to(std::back_inserter(out),
                   "{{'loss': {:.4f}, 'grad_norm': {}, 'learning_rate': {}, 'epoch': {:.2f}}}\n",
                   2 + 0.1 * noise(random), 1 + std::abs(noise(random)), 2e-5 / (1 + at * 1e-6),
                   at * 1e-4);
  }
  return out;
}

/// Dict lines with a bar drawn anew before each, as a terminal's log holds them.
std::string bar_lines(std::size_t bytes) {
  std::mt19937_64 random(20240608);
  std::normal_distribution<double> noise(0, 1);
  std::string out;
  out.reserve(bytes + 512);
  for (std::size_t step = 1; out.size() < bytes; ++step) {
    fmt::format_to(std::back_inserter(out),
                   "\r  3%|▎         | {}/9000000 [00:12<06:27,  {:.2f}s/it]\n"
                   "{{'loss': {:.4f}, 'grad_norm': {}, 'learning_rate': 1e-05, 'epoch': {:.2f}}}\n",
                   step, 4 + 0.1 * noise(random), 2 + 0.1 * noise(random),
                   1 + std::abs(noise(random)), static_cast<double>(step) * 1e-4);
  }
  return out;
}

/// Lines of Megatron-LM: padded columns, many keys.
std::string megatron_lines(std::size_t bytes) {
  std::mt19937_64 random(20240609);
  std::normal_distribution<double> noise(0, 1);
  std::string out;
  out.reserve(bytes + 512);
  for (std::size_t step = 1; out.size() < bytes; ++step) {
    fmt::format_to(
        std::back_inserter(out),
        " iteration {:8}/ 5000000 | consumed samples: {:12} | elapsed time per iteration "
        "(ms): {:.1f} | learning rate: {:.3E} | global batch size:    16 | lm loss: "
        "{:.6E} | loss scale: 1.0 | grad norm: {:.3f} | number of skipped iterations:   "
        "0 | number of nan iterations:   0 |\n",
        step, step * 16, 900 + 10 * noise(random), 1.5e-4, 2 + 0.1 * noise(random),
        1 + std::abs(noise(random)));
  }
  return out;
}

/// A log without metrics: what libraries say.
std::string prose_lines(std::size_t bytes) {
  std::string out;
  out.reserve(bytes + 512);
  for (std::size_t step = 1; out.size() < bytes; ++step) {
    fmt::format_to(
        std::back_inserter(out),
        "2024-06-07 12:{:02}:{:02},123 - INFO - worker {} fetched shard-{:05}.tar from the "
        "cache below /data/train and handed it to the loader\n",
        step / 60 % 60, step % 60, step % 16, step % 100000);
  }
  return out;
}

std::uint64_t read_once(std::string_view text) {
  record::Run run;
  record::RunBuilder build(run);
  const record::SourceId source = build.open("log.txt", "text-log", text.size());
  const auto bytes = input::bytes_of(text);
  sources::make_text_log_reader()->read(*bytes, build, source);
  std::uint64_t samples = 0;
  for (const record::Series& series : run.series) samples += series.count;
  return samples;
}

std::uint64_t find_newlines(std::string_view text) {
  std::uint64_t lines = 0;
  const char* p = text.data();
  const char* end = p + text.size();
  while (p < end) {
    const void* hit = std::memchr(p, '\n', static_cast<std::size_t>(end - p));
    if (hit == nullptr) break;
    ++lines;
    p = static_cast<const char*>(hit) + 1;
  }
  return lines;
}

std::uint64_t split_once(std::string_view text) {
  const auto bytes = input::bytes_of(text);
  log_text::LineSplitter splitter(*bytes);
  std::uint64_t lines = 0;
  for (log_text::Line line; splitter.next(line);) ++lines;
  return lines;
}

double seconds_of(const std::function<std::uint64_t()>& work, std::uint64_t& answer) {
  const double begin = cpu_seconds();
  answer = work();
  return cpu_seconds() - begin;
}

void table(std::size_t megabytes, int rounds) {
  struct Row {
    std::string name;
    std::string text;
    std::function<std::uint64_t(std::string_view)> work;
    std::vector<double> seconds;
    std::uint64_t answer = 0;
  };
  const std::size_t bytes = megabytes << 20U;
  const std::string dicts = dict_lines(bytes);
  std::vector<Row> rows = {{"memchr for newlines (limit)", dicts, find_newlines, {}, 0},
                           {"LineSplitter", dicts, split_once, {}, 0},
                           {"read: HF dict lines", dicts, read_once, {}, 0},
                           {"read: dict lines and bars", bar_lines(bytes), read_once, {}, 0},
                           {"read: Megatron-LM", megatron_lines(bytes), read_once, {}, 0},
                           {"read: prose", prose_lines(bytes), read_once, {}, 0}};
  for (int round = 0; round < rounds; ++round) {
    for (Row& row : rows)
      row.seconds.push_back(seconds_of([&row] { return row.work(row.text); }, row.answer));
  }
  fmt::print("{:30} {:>8} {:>8} {:>12}\n", "", "GB/s", "best", "answer");
  for (Row& row : rows) {
    std::sort(row.seconds.begin(), row.seconds.end());
    const auto size = static_cast<double>(row.text.size());
    fmt::print("{:30} {:8.2f} {:8.2f} {:12}\n", row.name,
               size / row.seconds[row.seconds.size() / 2] * 1e-9, size / row.seconds[0] * 1e-9,
               row.answer);
  }
}

/// Of this program alone: what getrusage tells outlives exec(), and would be the caller's.
std::string peak_kibibytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmHWM:" && status >> word) return word;
  }
  return "0";
}

int read_file(const std::string& path) {
  auto bytes = input::open_bytes(path);
  if (!bytes) {
    fmt::print(stderr, "{}\n", bytes.error().text);
    return 2;
  }
  const double begin = cpu_seconds();
  record::Run run;
  record::RunBuilder build(run);
  const record::SourceId source = build.open(path, "text-log", 0);
  sources::make_text_log_reader()->read(**bytes, build, source);
  const double seconds = cpu_seconds() - begin;
  std::uint64_t samples = 0;
  for (const record::Series& series : run.series) samples += series.count;
  fmt::print("{:.6f} {} {}\n", seconds, samples, peak_kibibytes());
  return 0;
}

}  // namespace
}  // namespace aplomb

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() == 3 && args[0] == "--write") {
    std::ofstream(args[1]) << aplomb::dict_lines(std::stoul(args[2]) << 20U);
    return 0;
  }
  if (args.size() == 2 && args[0] == "--read") return aplomb::read_file(args[1]);
  aplomb::table(args.empty() ? 64 : std::stoul(args[0]), args.size() < 2 ? 9 : std::stoi(args[1]));
  return 0;
}
