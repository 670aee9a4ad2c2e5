#include "cli/fix_file.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "api/fix.h"
#include "cli/output.h"
#include "report/view.h"

namespace aplomb {
namespace {

constexpr std::uintmax_t k_most_bytes = 4U << 20U;  // a configuration is written by people

using Settings = std::vector<knowledge::SettingValue>;

Settings first_change(const Report& report) {
  if (!is_answered(report)) return {};
  for (const ReportRemedy& remedy : report.causes.front().remedies) {
    if (!remedy.set.empty()) return {remedy.set.begin(), remedy.set.end()};
  }
  return {};
}

/// Files that people write to configure a run, by their endings; logs and what a trainer leaves
/// (its state, a model's own configuration) are no place for a remedy.
bool may_be_configuration(const std::filesystem::path& path) {
  static constexpr std::array<std::string_view, 9> k_endings = {
      ".yaml", ".yml", ".json", ".toml", ".sh", ".py", ".txt", ".cfg", ".args"};
  static constexpr std::array<std::string_view, 4> k_left_by_trainers = {
      "trainer_state.json", "config.json", "tokenizer_config.json", "generation_config.json"};
  const std::string ending = path.extension().string();
  const std::string name = path.filename().string();
  const auto is = [](const std::string& word) {
    return [&word](std::string_view other) { return word == other; };
  };
  return std::any_of(k_endings.begin(), k_endings.end(), is(ending)) &&
         std::none_of(k_left_by_trainers.begin(), k_left_by_trainers.end(), is(name));
}

std::optional<std::string> small_text(const std::string& path) {
  std::error_code no_throw;
  if (!std::filesystem::is_regular_file(path, no_throw)) return std::nullopt;
  if (std::filesystem::file_size(path, no_throw) > k_most_bytes) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

struct Candidate {
  std::string path;
  FixedConfig fixed;

  /// Values changed where they stand: this file is where the user has set them.
  auto in_place() const {
    return std::count_if(fixed.changes.begin(), fixed.changes.end(), [](const std::string& change) {
      return change.find(" -> ") != std::string::npos;
    });
  }
  bool better_than(const Candidate& other) const {
    if (in_place() != other.in_place()) return in_place() > other.in_place();
    return fixed.left_out.size() < other.fixed.left_out.size();
  }
};

std::optional<Candidate> best_candidate(const Report& report, const Settings& settings) {
  std::optional<Candidate> best;
  for (const ReportInput& input : report.inputs) {
    if (!may_be_configuration(input.path)) continue;
    const auto text = small_text(input.path);
    if (!text) continue;
    auto fixed = fix_config(*text, {}, settings, input.path);
    if (!fixed || fixed->changes.empty()) continue;
    Candidate candidate{input.path, std::move(*fixed)};
    if (!best || candidate.better_than(*best)) best = std::move(candidate);
  }
  return best;
}

}  // namespace

Result<FixFile> write_fix(const Report& report, const std::string& out) {
  for (const ReportInput& input : report.inputs) {
    std::error_code no_throw;
    if (std::filesystem::equivalent(input.path, out, no_throw)) {
      return fail(ErrorCode::bad_usage,
                  out + " is one of the inputs, and those are never written to: name a new file");
    }
  }
  const Settings settings = first_change(report);
  if (settings.empty()) {
    return fail(ErrorCode::unsupported,
                "no remedy here is a change of settings: nothing was written");
  }
  std::optional<Candidate> best = best_candidate(report, settings);
  if (!best) {
    return fail(ErrorCode::unsupported,
                "no configuration among the inputs can hold the remedy: give the YAML, JSON, TOML "
                "or shell file "
                "that starts the run as a further PATH");
  }
  if (const auto done = write_file(out, best->fixed.text); !done)
    return tl::unexpected(done.error());
  return FixFile{best->path, std::move(best->fixed.changes), std::move(best->fixed.left_out)};
}

}  // namespace aplomb
