#pragma once
/// SettingScanner: finds what a run was configured with in the text that surrounds its metrics:
/// command lines, keyword lists (`TrainingArguments(...)`), argument dumps (`lr ......... 0.0001`,
/// `learning_rate = 6e-4`, `| key | value |`), pasted configuration, banners (`Num examples = 99`),
/// statements (`Using 16bit Automatic Mixed Precision`) and reports of the environment (nvidia-smi,
/// collect_env, pip). One scanner per artifact.
///
///     SettingScanner scanner;
///     while (...) scanner.line(line, number, offset, build, source);  // without metrics, in order
///     scanner.finish(build, source);
///
/// A key counts only where a table of knowledge/frameworks holds it and its value fits the
/// setting's type; so a line of metrics that comes here by mistake makes no settings. Cost of a
/// line without a hit: one pass of the literal filter; the look at `key = value` forms is given up
/// after k_idle_bytes without a setting (configuration stands at the start of a run) and taken up
/// again by the next literal hit. Memory: at most k_pending_bytes for a statement over several
/// lines.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config_text/environment_lines.h"
#include "config_text/setting_sink.h"
#include "record/run_builder.h"

namespace aplomb::log_text {

/// What kind of text it is that is looked through.
enum class TextKind {
  log,       ///< a program's output: only forms that programs write
  declared,  ///< a text about the configuration (args.txt, env.txt, a script): prose and loose
             ///< forms count as well
};

class SettingScanner {
 public:
  static constexpr std::uint64_t k_idle_bytes = 1ULL << 20U;
  static constexpr std::size_t k_pending_bytes = 256ULL << 10U;
  static constexpr std::size_t k_pending_lines = 2000;
  static constexpr std::uint64_t k_block_lines =
      6;  ///< lines that settings of one dump are apart at most
  static constexpr std::size_t k_longest_line = 64ULL
                                                << 10U;  ///< only so much of a line is looked at

  explicit SettingScanner(TextKind kind = TextKind::log) : kind_(kind) {}

  void line(std::string_view line, std::uint64_t number, std::uint64_t offset,
            record::RunBuilder& build, record::SourceId source);
  void finish(record::RunBuilder& build, record::SourceId source);

 private:
  enum class Open { nothing, brackets, command };

  void take(std::string_view line, std::uint64_t number, std::uint64_t offset);
  void keep_on(std::string_view line);
  void flush();
  void open(Open what, std::string_view line, std::uint64_t number, std::uint64_t offset);
  bool literals(std::string_view line, std::uint64_t number, std::uint64_t offset);
  /// In a log a key that is one plain word (`model`, `device`) counts only near another setting:
  /// dumps come in blocks.
  bool put(const config_text::ConfigEntry& entry);
  void pairs(std::string_view line, std::uint64_t number, std::uint64_t offset);

  TextKind kind_;
  std::optional<config_text::SettingSink> sink_;
  Open open_ = Open::nothing;
  std::string pending_;
  std::size_t pending_lines_ = 0;
  std::uint64_t pending_number_ = 0;
  std::uint64_t pending_offset_ = 0;
  int pending_depth_ = 0;
  std::uint64_t idle_bytes_ = 0;
  bool below_warning_ = false;  ///< the line before is `file.py:12: SomeWarning: ...`
  std::vector<config_text::ConfigEntry> weak_;
  std::uint64_t last_made_line_ = 0;
  config_text::EnvironmentLines environment_;
  std::vector<std::size_t> framework_votes_;  // by index into knowledge::frameworks()
  std::size_t framework_weight_ = 0;
};

}  // namespace aplomb::log_text
