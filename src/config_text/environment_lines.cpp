#include "config_text/environment_lines.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "core/text.h"
#include "knowledge/hardware.h"
#include "knowledge/written_value.h"

namespace aplomb::config_text {
namespace {

using core::is_digit;

/// The number of `GPU 0: NVIDIA ...` or of a table row `|   0  NVIDIA A100 ...`; nothing for other
/// lines.
std::optional<int> card_index(std::string_view line) {
  line = core::trim(line);
  const bool row = line.starts_with("|");
  if (row) {
    line = core::trim(line.substr(1));
  } else if (const std::size_t word = line.find("GPU ");
             word != std::string_view::npos && word < 40) {
    line = line.substr(word + 4);
  } else {
    return std::nullopt;
  }
  std::size_t digits = 0;
  while (digits < line.size() && digits < 3 && is_digit(line[digits])) ++digits;
  const bool ends = digits > 0 && digits < line.size() && line[digits] == (row ? ' ' : ':');
  if (!ends) return std::nullopt;
  return static_cast<int>(core::parse_number(line.substr(0, digits)).value_or(0));
}

/// The word after `label` (`Driver Version: 535.104.05`), without trailing signs.
std::string_view word_after(std::string_view line, std::string_view label) {
  const std::size_t at = line.find(label);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = core::trim(line.substr(at + label.size()));
  return rest.substr(0, rest.find_first_of(" |\t"));
}

bool is_version(std::string_view text) {
  return !text.empty() && is_digit(text.front()) && text.find('.') != std::string_view::npos &&
         text.size() <= 40;
}

}  // namespace

bool EnvironmentLines::line(std::string_view line, bool declared, std::uint64_t number,
                            std::uint64_t offset, SettingSink& sink) {
  const bool found_smi = smi(line, number, offset, sink);
  const bool found_card = card(line, declared, number, offset, sink);
  const bool found_print = printed(line, number, offset, sink);
  return package(line, declared, number, offset, sink) || found_card || found_smi || found_print;
}

bool EnvironmentLines::card(std::string_view line, bool declared, std::uint64_t number,
                            std::uint64_t offset, SettingSink& sink) {
  const auto seen = knowledge::find_gpu(line);
  if (!seen) return false;
  const auto index = card_index(line);
  if (!declared && !index && !core::icontains(line, "gpu") && !core::icontains(line, "nvidia") &&
      !core::icontains(line, "tesla") && !core::icontains(line, "device")) {
    return false;
  }
  sink.put_canonical("env.gpu", seen->card->name, "GPU", number, offset);
  if (seen->memory_bytes > 0)
    sink.put_canonical("env.gpu_memory_bytes", seen->memory_bytes, "GPU", number, offset);
  if (index) highest_index_ = std::max(highest_index_, *index);
  const double count = index ? highest_index_ + 1 : seen->count;
  if (count > 0) sink.put_canonical("env.gpu_count", count, "GPU", number, offset);
  return true;
}

bool EnvironmentLines::smi(std::string_view line, std::uint64_t number, std::uint64_t offset,
                           SettingSink& sink) {
  bool told = false;
  const std::string_view driver = word_after(line, "Driver Version:");
  if (is_version(driver)) {
    sink.put_canonical("env.driver", std::string(driver), "Driver Version", number, offset);
    const std::string_view cuda = word_after(line, "CUDA Version:");
    if (is_version(cuda))
      sink.put_canonical("env.cuda_driver", std::string(cuda), "CUDA Version", number, offset);
    told = true;
  }
  // `| 30%   35C    P8    26W / 350W |   1234MiB / 24576MiB |      0%      Default |`
  const std::size_t slash = line.find("MiB / ");
  if (slash != std::string_view::npos) {
    const std::string_view rest = line.substr(slash + 6);
    const std::string_view size = core::trim(rest.substr(0, rest.find('|')));
    if (const auto bytes = knowledge::written_bytes(size); bytes && *bytes > 0) {
      sink.put_canonical("env.gpu_memory_bytes", *bytes, "Memory-Usage", number, offset);
      told = true;
    }
  }
  return told;
}

/// Who prints the versions of a machine writes `PyTorch: 2.5.0`, a line each.
bool EnvironmentLines::printed(std::string_view line, std::uint64_t number, std::uint64_t offset,
                               SettingSink& sink) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string name = core::lower(core::trim(line.substr(0, colon)));
  constexpr std::array<std::string_view, 10> k_printed = {
      "pytorch", "torch",        "cuda",       "cudnn", "driver",
      "peft",    "transformers", "accelerate", "trl",   "bitsandbytes"};
  if (std::find(k_printed.begin(), k_printed.end(), name) == k_printed.end()) return false;
  const std::string_view version = core::trim(line.substr(colon + 1));
  const bool number_alone =
      name == "cudnn" && !version.empty() &&
      std::all_of(version.begin(), version.end(), [](char c) { return is_digit(c); });
  if (version.find(' ') != std::string_view::npos || !(is_version(version) || number_alone))
    return false;
  const auto place = static_cast<std::uint64_t>(version.data() - line.data());
  ConfigEntry entry{"pip." + name,
                    {},
                    std::string(version),
                    number,
                    offset + place,
                    version.size(),
                    false,
                    false,
                    false,
                    false};
  return sink.put(entry) > 0;
}

/// `torch==2.1.0`, `[pip3] torch==2.1.0+cu118`, conda's `cudatoolkit=10.1.243`, and in a list that
/// people pasted `torch   2.1.0 pypi_0  pypi`.
bool EnvironmentLines::package(std::string_view line, bool declared, std::uint64_t number,
                               std::uint64_t offset, SettingSink& sink) {
  const auto is_name = [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
  };
  std::string_view rest = core::trim(line);
  const bool tagged = rest.starts_with("[pip") || rest.starts_with("[conda]");
  if (tagged) rest = core::trim(rest.substr(rest.find(']') + 1));
  bool told = false;
  // Several may stand on one line: `torch==2.1.0, transformers==4.38.0`.
  while (!rest.empty()) {
    std::size_t end = 0;
    while (end < rest.size() && is_name(rest[end])) ++end;
    const std::string_view name = rest.substr(0, end);
    std::string_view tail = rest.substr(end);
    const bool pinned = tail.starts_with("=");
    const bool column = !pinned && (tagged || declared) && tail.starts_with(" ");
    if (pinned) tail.remove_prefix(tail.starts_with("==") ? 2 : 1);
    tail = pinned ? tail : core::trim(tail);
    const std::string_view version = tail.substr(0, tail.find_first_of(" ,;|=*'\"`\t)"));
    if (!name.empty() && (pinned || column) && is_version(version)) {
      const auto place = static_cast<std::uint64_t>(version.data() - line.data());
      ConfigEntry entry{"pip." + std::string(name),
                        {},
                        std::string(version),
                        number,
                        offset + place,
                        version.size(),
                        false,
                        false,
                        false,
                        false};
      told = sink.put(entry) > 0 || told;
      if (column) break;
    }
    const std::size_t next = rest.find_first_of(" ,;", end);
    if (next == std::string_view::npos) break;
    rest = core::trim(rest.substr(next + 1));
  }
  return told;
}

}  // namespace aplomb::config_text
