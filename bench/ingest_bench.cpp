/// How fast the readers of metric files take in what trainers write, on one core, beside the
/// machine's own limits.
///
///     ingest_bench write FORMAT FILE MEGABYTES    makes a file (fixed seed): tensorboard jsonl
///     trainer-state csv wandb ingest_bench check FORMAT FILE              one line of JSON: points
///     and sum of every series, for peers to compare ingest_bench time FORMAT FILE ROUNDS medians
///     over rounds; in each round, in turn: read(2) of the file,
///                                                 memcpy of its bytes, the reader from the page
///                                                 cache
///
/// The reader's record is compared with what was written before anything is timed; a wrong answer
/// is not timed.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "sources/made_files.h"
#include "sources/reader.h"

namespace {

using namespace aplomb;

const std::vector<std::string> k_names = {
    "loss",    "grad_norm",  "learning_rate",  "mean_token_accuracy",
    "entropy", "num_tokens", "rewards/chosen", "epoch"};

/// The made run: step by step the same numbers whatever the format.
class MadeRun {
 public:
  struct Record {
    std::int64_t step = 0;
    std::vector<double> values;
  };
  Record next() {
    Record record;
    record.step = ++step_;
    const double t = static_cast<double>(step_);
    for (std::size_t i = 0; i < k_names.size(); ++i) {
      const double value =
          2.0 / std::sqrt(1.0 + 1e-3 * t) + 0.05 * noise_(random_) + static_cast<double>(i);
      record.values.push_back(static_cast<double>(static_cast<float>(value)));
    }
    return record;
  }

 private:
  std::int64_t step_ = 0;
  std::mt19937_64 random_{20240229};
  std::normal_distribution<double> noise_;
};

std::string json_record(const MadeRun::Record& record) {
  std::string line = fmt::format("{{\"step\": {}", record.step);
  for (std::size_t i = 0; i < k_names.size(); ++i) {
    line += fmt::format(", \"{}\": {}", k_names[i], record.values[i]);
  }
  return line + "}";
}

/// One record in the given format.
std::string encode(const std::string& format, const MadeRun::Record& record,
                   test::WandbWriter& wandb) {
  std::string out;
  if (format == "tensorboard") {
    for (std::size_t i = 0; i < k_names.size(); ++i) {
      out += test::scalar_event(record.step, "train/" + k_names[i],
                                static_cast<float>(record.values[i]));
    }
  } else if (format == "jsonl") {
    out = json_record(record) + "\n";
  } else if (format == "trainer-state") {
    out = (record.step > 1 ? ",\n    " : "    ") + json_record(record);
  } else if (format == "csv") {
    out = fmt::format("{}", record.step);
    for (const double value : record.values) out += fmt::format(",{}", value);
    out += "\n";
  } else {
    std::vector<std::pair<std::string, std::string>> items;
    items.emplace_back("_step", fmt::format("{}", record.step));
    for (std::size_t i = 0; i < k_names.size(); ++i) {
      items.emplace_back("train/" + k_names[i], fmt::format("{}", record.values[i]));
    }
    wandb.items(2, items);
  }
  return out;
}

int write_file(const std::string& format, const std::string& path, std::size_t megabytes) {
  std::ofstream out(path, std::ios::binary);
  MadeRun run;
  test::WandbWriter wandb;
  std::size_t size = 0;
  const auto put = [&](const std::string& bytes) {
    out << bytes;
    size += bytes.size();
  };
  if (format == "tensorboard") put(test::version_event());
  if (format == "trainer-state") put("{\n  \"log_history\": [\n");
  if (format == "csv") {
    std::string header = "step";
    for (const std::string& name : k_names) header += "," + name;
    put(header + "\n");
  }
  while (size + (format == "wandb" ? wandb.bytes().size() : 0) < megabytes * 1000000)
    put(encode(format, run.next(), wandb));
  if (format == "trainer-state") put("\n  ],\n  \"max_steps\": 1000000000\n}\n");
  if (format == "wandb") put(wandb.bytes());
  return out.good() ? 0 : 1;
}

record::Run read_file(const sources::Reader& reader, const std::string& path) {
  record::Run run;
  record::RunBuilder build(run);
  const record::SourceId source = build.open(path, reader.spec().slug, 0);
  const auto bytes = input::open_bytes(path);
  if (bytes) reader.read(**bytes, build, source);
  return run;
}

const sources::Reader* reader_of(const std::string& format) {
  const std::string slug = format == "jsonl" ? "json-metrics"
                           : format == "csv" ? "csv-metrics"
                                             : format;
  for (const auto& reader : sources::readers()) {
    if (reader->spec().slug == slug) return reader.get();
  }
  return nullptr;
}

/// Whether what was read is what MadeRun wrote: counts, first and last samples, extremes.
bool is_right(const record::Run& run) {
  if (run.series.empty() || !run.defects.empty()) return false;
  std::map<std::string, const record::Series*> by_name;
  for (const record::Series& series : run.series) by_name[series.raw_name] = &series;
  const std::uint64_t records = run.series[0].count;
  std::vector<double> least(k_names.size(), INFINITY);
  std::vector<double> most(k_names.size(), -INFINITY);
  MadeRun made;
  for (std::uint64_t i = 0; i < records; ++i) {
    const MadeRun::Record record = made.next();
    for (std::size_t k = 0; k < k_names.size(); ++k) {
      least[k] = std::min(least[k], record.values[k]);
      most[k] = std::max(most[k], record.values[k]);
    }
  }
  std::size_t right = 0;
  for (std::size_t k = 0; k < k_names.size(); ++k) {
    for (const std::string& name : {k_names[k], "train/" + k_names[k]}) {
      const auto found = by_name.find(name);
      if (found == by_name.end()) continue;
      const record::Series& series = *found->second;
      right += series.count == records && series.min == least[k] && series.max == most[k] ? 1U : 0U;
    }
  }
  return right == k_names.size();
}

int check(const record::Run& run) {
  std::string out = "{";
  for (const record::Series& series : run.series) {
    out += fmt::format("{}\"{}\": {{\"points\": {}, \"min\": {}, \"max\": {}}}",
                       out.size() > 1 ? ", " : "", series.raw_name, series.count, series.min,
                       series.max);
  }
  fmt::print("{}}}\n", out);
  return 0;
}

/// Seconds of this core's time. The files lie in the page cache, so that on an idle machine it is
/// the time that passes; on a busy one it still is the work's own.
double seconds_of(const auto& work) {
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double begin = now();
  work();
  return now() - begin;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::size_t read_through(const std::string& path, std::vector<char>& buffer) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::size_t total = 0;
  for (ssize_t got = 0; (got = ::read(file, buffer.data(), buffer.size())) > 0;)
    total += static_cast<std::size_t>(got);
  ::close(file);
  return total;
}

int time_file(const sources::Reader& reader, const std::string& path, int rounds) {
  const record::Run warm = read_file(reader, path);
  if (!is_right(warm)) {
    fmt::print(stderr, "[ingest_bench] the record differs from what was written: not timed\n");
    return 1;
  }
  std::uint64_t points = 0;
  for (const record::Series& series : warm.series) points += series.count;
  std::vector<char> buffer(1U << 20U);
  const std::size_t bytes = read_through(path, buffer);
  std::vector<char> from(bytes, 'x');
  std::vector<char> to(bytes, 'y');
  std::vector<double> read_s;
  std::vector<double> copy_s;
  std::vector<double> reader_s;
  for (int round = 0; round < rounds; ++round) {
    read_s.push_back(seconds_of([&] { read_through(path, buffer); }));
    copy_s.push_back(seconds_of([&] { std::memcpy(to.data(), from.data(), bytes); }));
    reader_s.push_back(seconds_of([&] { read_file(reader, path); }));
  }
  const double size = static_cast<double>(bytes);
  fmt::print(
      "{{\"bytes\": {}, \"points\": {}, \"read_gb_s\": {:.3f}, \"memcpy_gb_s\": {:.3f}, "
      "\"reader_gb_s\": {:.3f}, "
      "\"best_gb_s\": {:.3f}, \"reader_s\": {:.6f}, \"points_per_s\": {:.4g}}}\n",
      bytes, points, size / median(read_s) / 1e9, size / median(copy_s) / 1e9,
      size / median(reader_s) / 1e9,
      size / *std::min_element(reader_s.begin(), reader_s.end()) / 1e9, median(reader_s),
      static_cast<double>(points) / median(reader_s));
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() == 4 && words[0] == "write")
    return write_file(words[1], words[2], std::stoul(words[3]));
  const sources::Reader* reader = words.size() >= 3 ? reader_of(words[1]) : nullptr;
  if (reader != nullptr && words[0] == "check") return check(read_file(*reader, words[2]));
  if (reader != nullptr && words[0] == "time" && words.size() == 4)
    return time_file(*reader, words[2], std::stoi(words[3]));
  fmt::print(stderr,
             "usage: ingest_bench write FORMAT FILE MEGABYTES | check FORMAT FILE | time FORMAT "
             "FILE ROUNDS\n");
  return 2;
}
