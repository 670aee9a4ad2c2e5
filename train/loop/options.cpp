#include "train/loop/options.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "arguments/arguments.h"
#include "core/pair_table.h"
#include "core/text.h"
#include "train/loop/option_table.h"

namespace aplomb::train::loop {
namespace {

constexpr int k_status_usage = 2;

/// `--learning_rate=1e-4` -> `--learning-rate=1e-4`; values stay as they are.
std::string with_dashes(std::string word) {
  if (word.rfind("--", 0) != 0) return word;
  const std::size_t end = std::min(word.find('='), word.size());
  std::replace(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(end), '_', '-');
  return word;
}

/// Declares every option to the program.
class Declare final : public OptionVisitor {
 public:
  explicit Declare(const arguments::Program& program) : program_(program) {}
  void group(const char* title) override { group_ = title; }
  void visit(const char* name, std::string& value, const char* meaning) override {
    add(name, program_.option(flag(name), value, meaning).last_counts());
  }
  void visit(const char* name, bool& value, const char* meaning) override {
    add(name, program_.flag(flag(name), value, meaning).last_counts());
  }
  void visit(const char* name, std::int64_t& value, const char* meaning) override {
    add(name, program_.option(flag(name), value, meaning).last_counts());
    is_whole_ = true;
  }
  void visit(const char* name, std::uint64_t& value, const char* meaning) override {
    add(name, program_.option(flag(name), value, meaning).last_counts());
  }
  void visit(const char* name, double& value, const char* meaning) override {
    add(name, program_.option(flag(name), value, meaning).last_counts());
  }
  void visit(const char* name, std::vector<std::string>& value, const char* meaning) override {
    add(name, program_.option(flag(name), value, meaning).takes_commas());
  }
  void words(const std::vector<std::string>& words) override { last_->one_of(words); }
  void range(double least, double most) override {
    if (is_whole_) {
      last_->within(static_cast<std::int64_t>(least), static_cast<std::int64_t>(most));
    } else {
      last_->within_real(least, most);
    }
  }
  void also(const char* name) override { second_names.emplace_back(flag(name), flag(last_name_)); }

  std::vector<std::pair<std::string, std::string>> second_names;  ///< and the first names of them

 private:
  static std::string flag(const std::string& name) { return "--" + name; }
  void add(const char* name, const arguments::Argument& argument) {
    last_ = argument.group(group_).shows_default();
    last_name_ = name;
    is_whole_ = false;
  }

  const arguments::Program& program_;
  std::string group_;
  std::optional<arguments::Argument> last_;
  std::string last_name_;
  bool is_whole_ = false;  // the option visited last is a signed integer
};

/// `--micro-batch-size=4` -> `--per-device-train-batch-size=4`.
std::string with_first_name(std::string word, const Declare& declared) {
  const std::size_t end = std::min(word.find('='), word.size());
  for (const auto& [second, first] : declared.second_names) {
    if (word.compare(0, end, second) == 0) return first + word.substr(end);
  }
  return word;
}

/// `--tokenizer=` -> `--tokenizer`, ``: the next word would be taken for the value.
std::vector<std::string> with_empty_values(std::vector<std::string> words) {
  std::vector<std::string> all;
  for (std::string& word : words) {
    const bool empty = word.rfind("--", 0) == 0 && word.find('=') == word.size() - 1;
    if (empty) word.pop_back();
    all.push_back(std::move(word));
    if (empty) all.emplace_back();
  }
  return all;
}

/// `--batch-size=10` alone: the largest pass, up to the default, that makes the batch up.
void fit_pass(const std::vector<std::string>& words, LengthFlags& length) {
  constexpr std::string_view k_pass = "--per-device-train-batch-size";
  const bool asked = std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return word.substr(0, word.find('=')) == k_pass;
  });
  std::int64_t& pass = length.per_device_train_batch_size;
  while (!asked && pass > 1 && length.batch_size % pass != 0) --pass;
}

Parsed usage(std::string text) { return {true, k_status_usage, std::move(text)}; }

/// Takes `--config FILE` out of the words and puts what it stands for before them. Fails on a key
/// that is no option.
core::Result<void> put_file_first(std::vector<std::string>& words,
                                  const arguments::Program& program, const Declare& declared) {
  std::vector<std::string> from_files;
  for (std::size_t i = 0; i < words.size();) {
    const bool joined = words[i].rfind("--config=", 0) == 0;
    if (!joined && words[i] != "--config") {
      ++i;
      continue;
    }
    if (!joined && i + 1 == words.size())
      return core::fail(core::ErrorCode::bad_usage,
                        "[options] --config: the name of a YAML file is missing");
    const std::string path = joined ? words[i].substr(9) : words[i + 1];
    auto read = words_of_yaml(path);
    if (!read) return tl::unexpected(read.error());
    for (const std::string& each : *read) {
      const std::string word = with_first_name(each, declared);
      if (!program.has(word.substr(0, word.find('=')))) {
        return core::fail(core::ErrorCode::bad_usage,
                          fmt::format("[options] {}: there is no option {} (aplomb train --help)",
                                      path, core::sanitize(word.substr(2, word.find('=') - 2))));
      }
      from_files.push_back(word);
    }
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i),
                words.begin() + static_cast<std::ptrdiff_t>(joined ? i + 1 : i + 2));
  }
  words.insert(words.begin(), from_files.begin(), from_files.end());
  return {};
}

class WriteYaml final : public OptionVisitor {
 public:
  void group(const char* title) override { text_ += fmt::format("# {}\n", title); }
  void visit(const char* name, std::string& value, const char*) override {
    put(name, quoted(value));
  }
  void visit(const char* name, bool& value, const char*) override {
    put(name, value ? "true" : "false");
  }
  void visit(const char* name, std::int64_t& value, const char*) override {
    put(name, fmt::format("{}", value));
  }
  void visit(const char* name, std::uint64_t& value, const char*) override {
    put(name, fmt::format("{}", value));
  }
  // YAML 1.1 takes `1e-04` for a text: a point makes it a number everywhere.
  void visit(const char* name, double& value, const char*) override {
    std::string number = fmt::format("{}", value);
    const std::size_t exponent = number.find('e');
    if (exponent != std::string::npos && number.find('.') == std::string::npos)
      number.insert(exponent, ".0");
    put(name, number);
  }
  void visit(const char* name, std::vector<std::string>& value, const char*) override {
    std::string list;
    for (const std::string& each : value) list += (list.empty() ? "" : ", ") + quoted(each);
    put(name, "[" + list + "]");
  }
  std::string take() { return std::move(text_); }

 private:
  static std::string quoted(const std::string& value) {
    std::string out = "\"";
    for (const char c : value) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    return out + "\"";
  }
  void put(std::string name, const std::string& value) {
    std::replace(name.begin(), name.end(), '-', '_');
    text_ += name + ": " + value + "\n";
  }
  std::string text_;
};

}  // namespace

double TrainOptions::peak_learning_rate() const {
  if (optim.learning_rate > 0) return optim.learning_rate;
  return adapter.adapter_name == "full" ? 2e-5 : 2e-4;
}

Parsed parse_options(std::vector<std::string> words, TrainOptions& options) {
  const arguments::Program program(
      "Fine-tunes a model of the Llama family, stable by construction.", "aplomb train");
  Declare declared(program);
  walk_options(options, declared);
  program.option("--config", "YAML file with the same names; flags override it")
      .value_name("FILE")
      .group("Options");
  program.footer(
      "Examples:\n"
      "  aplomb train --base-model Llama-3.2-1B --data-path data.json --adapter-name dora\n"
      "  aplomb train --config train.yaml --learning-rate 1e-4 --output-dir out\n"
      "  aplomb train --config train.yaml --resume-from-checkpoint auto\n"
      "  aplomb train --config train.yaml --overfit-one-batch\n"
      "\n"
      "Several processes, each with its part of every batch (docs/train.md):\n"
      "  torchrun --no-python --nproc-per-node 2 aplomb-train --config train.yaml\n"
      "  mpirun -n 2 aplomb-train --config train.yaml\n"
      "\n"
      "Names may be written with dashes or underscores (docs/train.md).\n"
      "Exit status: 0 the run is healthy, 1 something was found, 2 it could not be run.");
  for (std::string& word : words) word = with_first_name(with_dashes(word), declared);
  if (const auto done = put_file_first(words, program, declared); !done)
    return usage(done.error().text);
  if (auto stop = program.parse(with_empty_values(words)))
    return {true, stop->is_answer ? 0 : k_status_usage, std::move(stop->text)};
  fit_pass(words, options.length);
  if (const auto fits = check_options(options); !fits) return usage(fits.error().text);
  return {};
}

core::Result<std::string> wanted_precision(const PrecisionFlags& flags) {
  std::string wanted = flags.precision;
  for (const auto& [asked, name] :
       {std::pair(flags.fp32, "fp32"), {flags.bf16, "bf16"}, {flags.fp16, "fp16"}}) {
    if (!asked || wanted == name) continue;
    if (wanted != "auto") {
      return core::fail(core::ErrorCode::bad_usage,
                        "[options] " + std::string(name) + " and " + wanted +
                            " exclude each other (--precision and its short forms "
                            "--bf16, --fp16, --fp32)");
    }
    wanted = name;
  }
  return wanted;
}

std::optional<std::uint64_t> bytes_of(std::string_view text) {
  const core::NumberPrefix number = core::parse_number_prefix(text);
  const std::string unit = core::lower(std::string(core::trim(text.substr(number.size))));
  static constexpr std::pair<std::string_view, double> k_units[] = {
      {"", 1},      {"b", 1},        {"kb", 1e3},      {"mb", 1e6},        {"gb", 1e9},
      {"tb", 1e12}, {"kib", 1024.0}, {"mib", 1048576}, {"gib", 1073741824}};
  if (number.size == 0) return std::nullopt;
  const double bytes = number.value * core::second_of(k_units, unit).value_or(0);
  if (!(bytes >= 1 && bytes < 1e18)) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

core::Result<void> check_options(const TrainOptions& options) {
  const auto wrong = [](std::string text) {
    return core::fail(core::ErrorCode::bad_usage, "[options] " + std::move(text));
  };
  if (options.model.base_model.empty() && options.model.init_random.empty())
    return wrong("--base-model FOLDER is missing (or --init-random config.json)");
  if (options.data.data_path.empty()) return wrong("--data-path FILE is missing");
  if (const auto precision = wanted_precision(options.precision); !precision)
    return tl::unexpected(precision.error());
  if (!bytes_of(options.output.max_shard_size)) {
    return wrong("--max-shard-size " + options.output.max_shard_size +
                 " is no size; 5GB or 500MB is meant");
  }
  const LengthFlags& length = options.length;
  if (length.batch_size % std::min(length.batch_size, length.per_device_train_batch_size) != 0) {
    return wrong(fmt::format(
        "--batch-size {} is no multiple of --per-device-train-batch-size {}: passes of one size "
        "cannot make it up",
        length.batch_size, length.per_device_train_batch_size));
  }
  if (length.num_epochs <= 0 && length.max_steps == 0)
    return wrong("neither --num-epochs nor --max-steps is above 0: no step would be taken");
  return {};
}

std::string options_yaml(const TrainOptions& options) {
  WriteYaml writer;
  TrainOptions copy = options;
  walk_options(copy, writer);
  return "# aplomb train: the options in force. `aplomb train --config FILE` takes them back.\n" +
         writer.take();
}

core::Result<std::vector<std::string>> words_of_yaml(const std::string& path) {
  std::vector<std::string> words;
  try {
    const YAML::Node file = YAML::LoadFile(path);
    if (!file.IsMap())
      return core::fail(core::ErrorCode::bad_format,
                        "[options] " + path + ": `name: value` lines are wanted");
    for (const auto& entry : file) {
      std::string name = entry.first.as<std::string>();
      std::replace(name.begin(), name.end(), '_', '-');
      const YAML::Node& value = entry.second;
      if (value.IsNull()) continue;
      std::string text;
      if (value.IsSequence()) {
        for (const auto& each : value) text += (text.empty() ? "" : ",") + each.as<std::string>();
      } else if (value.IsScalar()) {
        text = value.as<std::string>();
      } else {
        return core::fail(core::ErrorCode::bad_format,
                          fmt::format("[options] {}:{}: {} is a map; one value or a list is wanted",
                                      path, entry.first.Mark().line + 1, name));
      }
      if (!text.empty()) words.push_back(fmt::format("--{}={}", name, text));
    }
  } catch (const YAML::BadFile&) {
    return core::fail(core::ErrorCode::not_readable, "[options] " + path + ": cannot be read");
  } catch (const YAML::Exception& fault) {
    return core::fail(core::ErrorCode::bad_format,
                      fmt::format("[options] {}:{}: {}", path, fault.mark.line + 1, fault.msg));
  }
  return words;
}

}  // namespace aplomb::train::loop
