#include "config_text/setting_sink.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "knowledge/written_value.h"

namespace aplomb::config_text {
namespace {

using knowledge::KeyScope;
using knowledge::read_setting;

/// Parts of a path below which keys do not speak of the training of the model itself.
constexpr std::string_view k_elsewhere[] = {"critic",
                                            "eval",
                                            "evaluation",
                                            "eval_dataset",
                                            "val",
                                            "validation",
                                            "test",
                                            "ref",
                                            "reference",
                                            "reward_model",
                                            "teacher",
                                            "ema",
                                            "discriminator",
                                            "draft",
                                            "profiler",
                                            "vision_config",
                                            "audio_config",
                                            "quantization_config",
                                            "rope_scaling",
                                            "lr_scheduler",
                                            "callbacks",
                                            "loggers",
                                            "compression_training",
                                            "flops_profiler",
                                            "tensorboard",
                                            "wandb",
                                            "monitor",
                                            "aio",
                                            "autotuning",
                                            "reward",
                                            "generation",
                                            "speculator"};

bool elsewhere(std::string_view path) {
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string_view part = path.substr(0, dot);
    if (dot == std::string_view::npos) return false;  // the key itself may be called so
    if (std::find(std::begin(k_elsewhere), std::end(k_elsewhere), part) != std::end(k_elsewhere))
      return true;
    path.remove_prefix(dot + 1);
  }
  return false;
}

/// `datasets.0.path` -> `datasets.path`; the path itself where no part is a number.
std::string without_numbers(std::string_view path) {
  std::string kept;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const std::string_view part = path.substr(0, dot);
    if (!std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      if (!kept.empty()) kept += '.';
      kept += part;
    }
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return kept;
}

/// Whether a bare word of program code that made this setting names a variable: `optim=name`, but
/// not `dtype=torch.bfloat16`.
bool is_variable(const knowledge::Assignment& made, std::string_view written) {
  using knowledge::SettingType;
  if (knowledge::is_yes(written) || knowledge::is_no(written)) return false;
  const SettingType type = made.spec->type;
  if (type == SettingType::word) return !made.spec->holds(written);
  return (type == SettingType::text || type == SettingType::texts) && !core::parse_number(written);
}

/// Whether a keyword speaks of the run: of a call that some table names, of one whose name says
/// that it takes a configuration, or by a key of several words. `tensor(..., device='cuda:0')` and
/// `Dropout(p=0.1)` do not.
bool configures(const ConfigEntry& entry) {
  if (entry.path.find_first_of("_.") != std::string::npos ||
      knowledge::framework_of_call(entry.call) != nullptr)
    return true;
  constexpr std::string_view k_names[] = {"config",  "args",  "namespace", "param",
                                          "option",  "train", "fit",       "main",
                                          "setting", "opt",   "dict",      "easydict"};
  return std::any_of(std::begin(k_names), std::end(k_names),
                     [&](std::string_view name) { return core::icontains(entry.call, name); });
}

}  // namespace

SettingSink::SettingSink(record::RunBuilder& build, record::SourceId source,
                         std::string_view framework)
    : build_(build), source_(source), framework_(framework) {}

SettingSink::Assignments SettingSink::look_up(const ConfigEntry& entry, std::string_view written,
                                              KeyScope scope) const {
  std::string_view framework = framework_;
  if (!entry.call.empty()) {
    if (const auto* of_call = knowledge::framework_of_call(entry.call)) framework = of_call->slug;
    Assignments made = read_setting(framework, entry.call + "." + entry.path, written, scope);
    if (!made.empty()) return made;
  }
  Assignments made = read_setting(framework, entry.path, written, scope);
  if (!made.empty() || entry.path.find('.') == std::string::npos) return made;
  const std::string plain = without_numbers(entry.path);
  if (plain != entry.path) made = read_setting(framework, plain, written, scope);
  if (!made.empty() || elsewhere(plain)) return made;
  std::string_view tail = plain;
  for (std::size_t dot = tail.find('.'); dot != std::string_view::npos && made.empty();
       dot = tail.find('.')) {
    tail.remove_prefix(dot + 1);
    made = read_setting(framework, tail, written, scope);
  }
  return made;
}

std::size_t SettingSink::put(const ConfigEntry& entry, KeyScope scope) {
  if (!entry.call.empty() && !configures(entry)) return 0;
  // Quotes are put back: blanks inside them belong to the value (a response template's last one).
  Assignments made = look_up(entry, entry.quoted ? "\"" + entry.text + "\"" : entry.text, scope);
  if (made.empty() && entry.is_list && entry.is_flag) {
    made = look_up(entry, std::string_view(entry.text).substr(0, entry.text.find(',')), scope);
  }
  if (made.empty() && entry.is_flag && !knowledge::is_yes(entry.text) &&
      !knowledge::is_no(entry.text) && !knowledge::says_nothing(entry.text)) {
    made = look_up(entry, "true", scope);  // a switch before another word: `--fp16 train.py`
  }
  if (made.empty() && entry.is_flag &&
      (entry.path.starts_with("no_") || entry.path.starts_with("no-"))) {
    ConfigEntry positive = entry;
    positive.path.erase(0, 3);
    made = look_up(positive, "false", scope);
  }
  if (made.empty()) tell_impossible(entry, scope);
  if ((code_ || !entry.call.empty()) && !entry.quoted && !entry.is_list && !entry.is_call) {
    std::erase_if(made,
                  [&](const knowledge::Assignment& one) { return is_variable(one, entry.text); });
  }
  if (entry.is_call) {  // `optimizer = AdamW(...)` names the optimizer; `model = load(...)` names
                        // no model
    std::erase_if(made, [](const knowledge::Assignment& one) {
      return one.spec->type != knowledge::SettingType::word;
    });
  }
  for (knowledge::Assignment& one : made) {
    const auto known = last_.find(one.spec->name);
    if (known != last_.end() && known->second == one.value) continue;
    last_[one.spec->name] = one.value;
    build_.setting({one.spec->name,
                    one.value,
                    entry.path,
                    one.framework->slug == "common" ? framework_ : one.framework->slug,
                    {source_, entry.line, entry.offset}});
  }
  made_ += made.size();
  return made.size();
}

void SettingSink::tell_impossible(const ConfigEntry& entry, KeyScope scope) {
  if (code_ || entry.is_list || entry.is_call || !entry.call.empty()) return;
  const bool plain = document_ && entry.path.find('.') == std::string::npos;
  for (const knowledge::SettingSpec* spec :
       knowledge::settings_of_key(framework_, without_numbers(entry.path), scope)) {
    const std::string why = knowledge::impossible_size(*spec, entry.text, plain);
    if (why.empty()) continue;
    const std::string told =
        fmt::format("`{}` is {}, which {}", core::shorten(core::sanitize(entry.path), 60),
                    core::shorten(core::sanitize(entry.text), 40), why);
    build_.defect({source_, entry.offset, "impossible-size", core::Severity::warning,
                   fmt::format("[config] {} ({}): no model has that; likely a damaged or made-up "
                               "file; correct line {}; the value was not taken",
                               told, spec->meaning, entry.line)});
    put_canonical("model.impossible_size", fmt::format("{} ({})", told, spec->meaning), entry.path,
                  entry.line, entry.offset);
    return;
  }
}

void SettingSink::put_canonical(std::string_view setting, core::Value value,
                                std::string_view raw_key, std::uint64_t line,
                                std::uint64_t offset) {
  const std::string name(setting);
  if (const auto known = last_.find(name); known != last_.end() && known->second == value) return;
  last_[name] = value;
  ++made_;
  build_.setting(
      {name, std::move(value), std::string(raw_key), framework_, {source_, line, offset}});
}

}  // namespace aplomb::config_text
