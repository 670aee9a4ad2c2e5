#include "config_text/derived_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "core/text.h"
#include "knowledge/hardware.h"
#include "knowledge/setting.h"

namespace aplomb::config_text {
namespace {

void add(record::Run& run, std::string name, core::Value value, std::string because,
         const record::Origin& origin) {
  run.facts.push_back({std::move(name), std::move(value), std::move(because), {origin}});
}

/// How fast the card is, where that could be verified: a share of a wrong peak would mislead.
void rate_facts(record::Run& run, const knowledge::Gpu& card, const record::Origin& origin) {
  if (card.is_verified("bandwidth")) {
    add(run, "hardware.bandwidth_bytes_per_s", card.bandwidth_bytes_per_s,
        card.name + ": " + core::show_number(card.bandwidth_bytes_per_s / 1e9) + " GB/s", origin);
  }
  if (!card.is_verified("peak")) return;
  for (const auto& [format, flops] : card.peak_flops) {
    add(run, "hardware.peak_flops." + format, flops,
        card.name + ": " + core::show_number(flops / 1e12) + " TFLOP/s in " + format + ", dense",
        origin);
  }
}

void card_facts(record::Run& run) {
  const record::Setting* named = run.setting("env.gpu");
  const std::string* text = named == nullptr ? nullptr : core::as_text(named->value);
  if (text == nullptr) return;
  const auto seen = knowledge::find_named_gpu(*text);
  if (!seen) return;
  const knowledge::Gpu& card = *seen->card;
  const record::Origin origin = named->origin;
  add(run, "hardware.bf16", card.bf16,
      card.name + (card.bf16 ? " computes" : " does not compute") + " in bf16", origin);
  add(run, "hardware.fp8", card.fp8,
      card.name + (card.fp8 ? " computes" : " does not compute") + " in fp8", origin);
  if (card.compute_capability > 0) {
    add(run, "hardware.compute_capability", card.compute_capability,
        fmt::format("{}: compute capability {:.1f}", card.name, card.compute_capability), origin);
  }
  if (!seen->is_lesser) rate_facts(run, card, origin);
  const record::Setting* stated = run.setting("env.gpu_memory_bytes");
  const double* bytes = stated == nullptr ? nullptr : core::as_number(stated->value);
  const bool own = card.is_verified("memory") || seen->memory_bytes != card.memory_bytes;
  const double memory = bytes != nullptr ? *bytes : own ? seen->memory_bytes : 0;
  if (memory > 0) {
    add(run, "hardware.memory_bytes", memory, card.name + ": " + core::show_bytes(memory),
        bytes == nullptr ? origin : stated->origin);
  }
}

/// The stage that a file name states: `ds_z3_config.json`, `zero2.json`, `stage3_offload.json`.
std::optional<double> stage_in_name(std::string_view path) {
  const std::string name = core::lower(path.substr(path.find_last_of("/\\") + 1));
  for (const std::string_view piece :
       {"zero_stage", "stage_", "stage-", "stage", "zero_", "zero-", "zero", "z"}) {
    for (std::size_t at = name.find(piece); at != std::string::npos;
         at = name.find(piece, at + 1)) {
      const std::size_t digit = at + piece.size();
      const bool starts = piece.size() > 1 || at == 0 || name[at - 1] == '_' || name[at - 1] == '-';
      const bool stage = digit < name.size() && name[digit] >= '0' && name[digit] <= '3';
      const bool alone = digit + 1 >= name.size() || name[digit + 1] < '0' || name[digit + 1] > '9';
      if (starts && stage && alone) return name[digit] - '0';
    }
  }
  return std::nullopt;
}

void deepspeed_by_name(record::Run& run) {
  const record::Setting* config = run.setting("dist.deepspeed_config");
  const std::string* path = config == nullptr ? nullptr : core::as_text(config->value);
  if (path == nullptr) return;
  const record::Setting origin = *config;
  const auto infer = [&](std::string name, core::Value value) {
    if (run.setting(name) == nullptr)
      run.settings.push_back(
          {std::move(name), std::move(value), origin.raw_key, origin.framework, origin.origin});
  };
  const std::string file = *path;
  infer("dist.strategy", std::string("deepspeed"));
  if (const auto stage = stage_in_name(file)) infer("dist.zero_stage", *stage);
  if (core::icontains(file, "offload")) infer("dist.offload_optimizer", std::string("cpu"));
}

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

using core::is_digit;

/// The size that a model's name states: `Llama-3-8B`, `qwen2.5-0.5b-instruct`, `opt-350m`. Of a
/// mixture of experts (`8x7b`) the name does not say how many weights there are, and `int8b` is no
/// size.
std::optional<double> size_in_name(std::string_view name) {
  for (std::size_t at = 1; at < name.size(); ++at) {
    const char unit = name[at] == 'B' ? 'b' : name[at] == 'M' ? 'm' : name[at];
    const bool ends = at + 1 >= name.size() || !is_letter_or_digit(name[at + 1]);
    if ((unit != 'b' && unit != 'm') || !is_digit(name[at - 1]) || !ends) continue;
    std::size_t begin = at;
    while (begin > 0 && (is_digit(name[begin - 1]) || name[begin - 1] == '.')) --begin;
    const bool starts = begin == 0 || !is_letter_or_digit(name[begin - 1]);
    const auto number = core::parse_number_prefix(name.substr(begin, at - begin));
    if (!starts || number.size != at - begin || number.value <= 0) continue;
    return number.value * (unit == 'b' ? 1e9 : 1e6);
  }
  return std::nullopt;
}

void parameters_by_name(record::Run& run) {
  const record::Setting* named = run.setting("model.name");
  const std::string* name = named == nullptr ? nullptr : core::as_text(named->value);
  if (name == nullptr || run.setting("model.params") != nullptr) return;
  const auto size = size_in_name(*name);
  if (!size) return;
  const record::Setting origin = *named;
  run.settings.push_back({"model.params", *size, origin.raw_key, origin.framework, origin.origin});
}

/// DeepSpeed's warm-up schedules set the optimizer's learning rate on each step, up to a peak of
/// their own: 0.001 unless `warmup_max_lr` says otherwise (deepspeed/runtime/lr_schedules.py).
void peak_of_schedule(record::Run& run) {
  constexpr double k_default_peak = 0.001;
  const record::Setting* schedule = run.setting("schedule.name");
  const std::string* name = schedule == nullptr ? nullptr : core::as_text(schedule->value);
  if (name == nullptr || schedule->framework != "deepspeed") return;
  if (*name != "constant_with_warmup" && *name != "linear") return;
  if (run.setting("schedule.stated_peak") != nullptr) return;
  // In code the peak may stand in a variable; a file says all that DeepSpeed is told.
  const std::size_t source = schedule->origin.source;
  if (source >= run.sources.size() || !run.sources[source].kind.starts_with("config-")) return;
  const record::Setting origin = *schedule;
  run.settings.push_back(
      {"schedule.acting_lr", k_default_peak, origin.raw_key, origin.framework, origin.origin});
}

/// Whether a key of the batch says that it counts on one device: `per_device_train_batch_size`.
bool of_one_device(std::string_view key) {
  constexpr std::array<std::string_view, 6> k_words = {"device", "gpu",   "rank",
                                                       "micro",  "local", "replica"};
  return std::any_of(k_words.begin(), k_words.end(),
                     [&](std::string_view word) { return core::icontains(key, word); });
}

/// `--per_device_train_batch_size=4 --batch_size=16`: the bare one beside that of a device is the
/// batch of all of them, as the key of each framework that has both says.
void global_beside_micro(record::Run& run) {
  const bool per_device =
      std::any_of(run.settings.begin(), run.settings.end(), [](const record::Setting& each) {
        return each.name == "batch.micro" && of_one_device(each.raw_key);
      });
  if (!per_device) return;
  for (record::Setting& each : run.settings) {
    const std::string key = knowledge::fold_key(each.raw_key);
    const bool bare = key == "batch_size" || key == "train_batch_size";
    if (each.name == "batch.micro" && bare) each.name = "batch.global";
  }
}

void template_blank(record::Run& run) {
  const record::Setting* marker = run.setting("data.response_template");
  const std::string* text = marker == nullptr ? nullptr : core::as_text(marker->value);
  if (text == nullptr || text->empty()) return;
  const record::Setting origin = *marker;
  run.settings.push_back({"data.response_template_blank", text->back() == ' ', origin.raw_key,
                          origin.framework, origin.origin});
}

}  // namespace

void add_derived_settings(record::Run& run) {
  card_facts(run);
  global_beside_micro(run);
  peak_of_schedule(run);
  deepspeed_by_name(run);
  parameters_by_name(run);
  template_blank(run);
}

}  // namespace aplomb::config_text
