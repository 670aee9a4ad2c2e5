/// Reader of what people write down of a run: args.txt, env.txt, notes, shell scripts,
/// requirements, pasted fragments.
///
///     torchrun --nproc-per-node=8 train.py --learning_rate 1e-4
///     - batch-size = 4
///     8xH100 80GB
///
/// Oddities: several syntaxes in one file, as above; prose; fragments that begin in the middle;
/// pasted metrics among the settings.

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "config_text/command_line.h"
#include "config_text/config_support.h"
#include "config_text/nested_text.h"
#include "core/text.h"
#include "knowledge/framework.h"
#include "log_errors/signatures.h"
#include "log_text/pasted_metrics.h"
#include "log_text/settings_scan.h"
#include "program/code_facts.h"
#include "prose/claims.h"
#include "prose/text_features.h"
#include "sources/reader.h"

namespace aplomb::sources {
namespace {

const ReaderSpec& settings_text_spec() {
  static const ReaderSpec spec = {
      "settings-text",
      "what people write down of a run: args.txt, env.txt, notes, shell scripts, requirements, "
      "pasted fragments",
      "torchrun --nproc-per-node=8 train.py --learning_rate 1e-4\n- batch-size = 4\n8xH100 80GB",
      {"several syntaxes in one file", "prose", "fragments that start in the middle",
       "pasted metrics among it"}};
  return spec;
}

/// Names under which people keep what they set or ran on.
bool named_like_notes(std::string_view name) {
  constexpr std::string_view k_stems[] = {
      "args",        "arguments",  "config",      "cfg",          "setup",       "hparams",
      "hyperparams", "params",     "settings",    "env",          "environment", "command",
      "cmd",         "cmdline",    "launch",      "requirements", "pip_freeze",  "pip-freeze",
      "nvidia-smi",  "nvidia_smi", "collect_env", "ds_report",    "reported",    "notes",
      "system",      "hardware",   "opt",         "options",      "flags"};
  const std::string_view stem = name.substr(0, name.find('.'));
  return std::any_of(std::begin(k_stems), std::end(k_stems),
                     [&](std::string_view known) { return core::iequals(stem, known); });
}

/// Lines that are versions and nothing else (`peft 0.6.2`, `torch==2.4.0`, `PyTorch: 2.5.1`, `GPU: ...`,
/// pip's `Name:` and `Version:`), one of them of a package that trains: a list of what is installed,
/// whatever its name.
bool is_environment(std::string_view head) {
  static const re2::RE2 version(
      R"(^\s*(?:\[\w+\] +)?[\w.+-]+ *(?:==|>=|<=|~=|=|:|@| ) *v?\d+(?:\.[\w+!-]+)*(?: .*)?$)");
  static const re2::RE2 machine(
      R"((?i)^(?:(?:gpu|device|bf16 supported|driver version|cuda|cudnn|python|os|platform|name|version|)"
      R"(summary|home-page|author|author-email|license|location|requires|required-by|package)\b[^=]*|-[- ]+)$)");
  static const re2::RE2 known(
      R"((?im)^\s*(?:\[\w+\] +)?(?:name: *)?(?:torch|pytorch|peft|transformers|accelerate|trl|deepspeed|bitsandbytes|lightning|flash[-_]attn)\b *(?:==|>=|~=|=|:| |$))");
  std::size_t lines = 0;
  std::size_t told = 0;
  for (std::size_t at = 0; at < head.size();) {
    const std::size_t end = std::min(head.find('\n', at), head.size());
    const std::string_view line = core::trim(head.substr(at, end - at));
    at = end + 1;
    if (line.empty() || line.front() == '#') continue;
    ++lines;
    if (re2::RE2::PartialMatch(line, version) || re2::RE2::PartialMatch(line, machine)) ++told;
  }
  return lines > 0 && told * 10 >= lines * 9 && re2::RE2::PartialMatch(head, known);
}

/// pip show writes a package's name and its version on two lines: `Name: peft`, `Version: 0.5.0`.
class ShownPackage {
 public:
  /// The line as a list would have it (`peft==0.5.0`) where it completes a package; else itself.
  std::string_view joined(std::string_view line) {
    const auto value = [&](std::string_view key) {
      return line.starts_with(key) ? core::trim(line.substr(key.size())) : std::string_view();
    };
    if (const std::string_view name = value("Name:"); !name.empty()) {
      name_ = std::string(name);
      return line;
    }
    const std::string_view version = value("Version:");
    if (name_.empty() || version.empty()) return line;
    joined_ = name_ + "==" + std::string(version);
    name_.clear();
    return joined_;
  }

 private:
  std::string name_;
  std::string joined_;
};

/// A number printed under a loss.
bool is_metric(std::string_view line) {
  constexpr std::size_t k_reach = 12;  // `loss` to its number
  const std::size_t loss = line.find("loss");
  if (loss == std::string_view::npos) return false;
  const std::size_t number = line.find_first_of("0123456789", loss);
  return number != std::string_view::npos && number < loss + k_reach &&
         line.find('.', number) != std::string_view::npos;
}

/// Many lines of metrics and next to no sentence: then the text is a log, whatever its name. Lines
/// pasted among words are read here (pasted_metrics.h).
bool is_log(std::string_view head) {
  constexpr std::size_t k_few = 3;
  constexpr std::size_t k_metrics_a_sentence = 10;  // programs print a sentence at times
  std::size_t metrics = 0;
  std::size_t sentences = 0;
  for (std::size_t at = 0; at < head.size();) {
    const std::size_t end = std::min(head.find('\n', at), head.size());
    const std::string_view line = head.substr(at, end - at);
    at = end + 1;
    if (is_metric(line)) {
      ++metrics;
    } else if (prose::reads_like_prose(line, true)) {
      ++sentences;
    }
  }
  return metrics >= k_few && metrics >= sentences * k_metrics_a_sentence;
}

class SettingsTextReader final : public Reader {
 public:
  const ReaderSpec& spec() const override { return settings_text_spec(); }

  double sniff(const Sniff& artifact) const override {
    const bool text = !artifact.head.empty() &&
                      artifact.head.find('\0') == std::string_view::npos &&
                      artifact.size <= config_text::k_largest_config_bytes;
    if (!text || is_log(artifact.head)) return 0;
    const std::string_view name = config_text::file_name(artifact.path);
    if (name.ends_with(".sh") || name.ends_with(".bash") || name.ends_with(".slurm") ||
        name.ends_with(".sbatch"))
      return 0.9;
    const bool plain = name.ends_with(".txt") || name.ends_with(".md") || name.ends_with(".cfg") ||
                       name.ends_with(".ini") || name.find('.') == std::string_view::npos;
    return plain && (named_like_notes(name) || is_environment(artifact.head)) ? 0.5 : 0;
  }

  void read(input::ByteStream& bytes, record::RunBuilder& build,
            record::SourceId source) const override {
    const std::string text = config_text::read_config_text(bytes, build, source);
    if (build.source(source).framework.empty())
      build.source(source).framework = framework_of_text(text);
    log_text::SettingScanner scanner(log_text::TextKind::declared);
    log_errors::SignatureMatcher matcher;
    prose::ClaimReader claims(prose::ClaimReader::Text::notes);
    program::CodeReader code;
    prose::TextFeatures words;
    ShownPackage shown;
    std::uint64_t number = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view line = std::string_view(text).substr(at, end - at);
      scanner.line(shown.joined(line), ++number, at, build, source);
      matcher.line(line, number, at, -1, build, source);
      claims.line(line, number, at);
      code.line(line, number, at);
      words.line(line, number, at);
      at = end + 1;
    }
    scanner.finish(build, source);
    matcher.finish(build, source);
    claims.finish(build, source);
    code.finish(build, source);
    words.finish(build, source);
    log_text::read_pasted_metrics(text, build, source);
  }

 private:
  /// By words that tell one, else by the keys; three of them at least, for notes hold only a few.
  static std::string framework_of_text(std::string_view text) {
    if (const std::string_view named = knowledge::detect_framework(text); !named.empty())
      return std::string(named);
    auto entries = config_text::parse_nested(text);
    const auto flags = config_text::parse_command(text);
    std::string_view syntax = "assignments";
    const auto is_flag = [](const config_text::ConfigEntry& entry) { return entry.is_flag; };
    if (std::any_of(flags.begin(), flags.end(), is_flag)) {
      entries.assign(flags.begin(), flags.end());
      syntax = "flags";
    }
    return std::string(config_text::framework_of(entries, {}, syntax));
  }
};

}  // namespace

std::unique_ptr<Reader> make_settings_text_reader() {
  return std::make_unique<SettingsTextReader>();
}

}  // namespace aplomb::sources
