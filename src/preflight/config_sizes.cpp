/// What must fit together: generation batches, lengths, tokens, logits; and what is said twice.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "core/text.h"
#include "knowledge/framework.h"
#include "knowledge/named_model.h"
#include "preflight/config_facts.h"

namespace aplomb::preflight {
namespace {

using facts::FactView;

bool same(const core::Value& a, const core::Value& b) {
  const double* first = core::as_number(a);
  const double* second = core::as_number(b);
  if (first == nullptr || second == nullptr) return core::show(a) == core::show(b);
  return std::fabs(*first - *second) <= 1e-9 * std::max(std::fabs(*first), std::fabs(*second));
}

void derive_generation(FactView& view) {
  const auto generations = view.positive("rl.num_generations");
  // EBFT's samples are rollouts of one document: no groups are cut out of a batch.
  if (!generations || view.word("train.method") == "ebft") return;
  const auto micro = view.positive("batch.micro");
  const auto accumulation = view.positive("batch.accumulation");
  const auto world = view.positive("config.ranks");
  auto batch = view.positive("rl.generation_batch");
  std::string told = batch ? "generation batch of " + core::show_number(*batch) : std::string();
  if (!batch && micro && (world || std::fmod(*micro, *generations) < 0.5)) {
    const double rounds =
        view.positive("rl.steps_per_generation").value_or(accumulation.value_or(1));
    batch = *micro * rounds * world.value_or(1);
    told = fmt::format("{} a device x {} x {} ranks = {} completions at once",
                       core::show_number(*micro), core::show_number(rounds),
                       core::show_number(world.value_or(1)), core::show_number(*batch));
  }
  if (!batch && micro && accumulation) {
    const double each = *micro * view.positive("rl.steps_per_generation").value_or(*accumulation);
    double needed = 1;  // ends at num_generations: every number times that is a multiple of it
    while (needed < *generations && std::fmod(each * needed, *generations) > 0.5) ++needed;
    view.set("config.generation_ranks", needed,
             fmt::format("{} completions a rank, {} of each prompt", core::show_number(each),
                         core::show_number(*generations)),
             {"rl.num_generations", "batch.micro", "batch.accumulation"});
  }
  if (!batch) return;
  const FactView::Names from = {"rl.num_generations", "rl.generation_batch", "batch.micro",
                                "batch.accumulation"};
  view.set("config.generation_batch", *batch, told, from);
  view.set("config.prompts_at_once", *batch / *generations,
           fmt::format("{}, {} of each prompt", told, core::show_number(*generations)), from);
  view.set("config.generation_off", std::fmod(*batch, *generations) > 0.5,
           fmt::format("{}, no multiple of {}", told, core::show_number(*generations)), from);
}

void derive_lengths(FactView& view) {
  const auto limit = view.positive("model.max_positions");
  const auto over = [&](const char* setting, const char* fact) {
    const auto length = view.positive(setting);
    if (!length || !limit) return;
    view.set(fact, *length > *limit && view.text("model.rope_scaling").empty(),
             fmt::format("{} tokens, the model was made for {}", core::show_number(*length, 9),
                         core::show_number(*limit, 9)),
             {setting, "model.max_positions"});
  };
  over("data.max_length", "config.length_over_model");
  const auto prompt = view.positive("rl.max_prompt_length");
  const auto completion = view.positive("rl.max_completion_length");
  if (prompt && completion && limit) {
    view.set("config.completion_over_model", *prompt + *completion > *limit,
             fmt::format("{} + {} tokens, the model was made for {}", core::show_number(*prompt, 9),
                         core::show_number(*completion, 9), core::show_number(*limit, 9)),
             {"rl.max_completion_length", "rl.max_prompt_length", "model.max_positions"});
  }
  const auto micro = view.positive("batch.micro");
  const auto length = view.positive("data.max_length");
  if (micro && length) {
    view.set("config.micro_tokens", *micro * *length,
             fmt::format("{} x {} tokens a pass", core::show_number(*micro),
                         core::show_number(*length, 9)),
             {"batch.micro", "data.max_length"});
  }
}

void derive_adapter(FactView& view) {
  const auto rank = view.positive("peft.rank");
  const auto alpha = view.positive("peft.alpha");
  if (!rank || !alpha) return;
  const double scale = *alpha / (view.truth("peft.rslora") ? std::sqrt(*rank) : *rank);
  view.set("config.adapter_scale", scale,
           fmt::format("alpha {} at rank {}: updates times {}", core::show_number(*alpha),
                       core::show_number(*rank), core::show_number(scale)),
           {"peft.alpha", "peft.rank"});
}

void derive_tokens(FactView& view) {
  const auto pad = view.number("tokenizer.pad_id");
  const auto eos = view.number("tokenizer.eos_id");
  const auto vocabulary = view.positive("model.vocab_size");
  const std::string pad_token = view.text("tokenizer.pad_token");
  const std::string eos_token = view.text("tokenizer.eos_token");
  if (!pad_token.empty() && !eos_token.empty()) {
    view.set("config.pad_is_eos", pad_token == eos_token, "padding and end token are " + pad_token,
             {"tokenizer.pad_token", "tokenizer.eos_token"});
  } else if (pad && eos) {
    view.set("config.pad_is_eos", *pad == *eos,
             "padding and end token have id " + core::show_number(*pad, 9),
             {"tokenizer.pad_id", "tokenizer.eos_id"});
  } else if (view.text("tokenizer.pad_alias") == "eos") {
    view.set("config.pad_is_eos", true, "padding is the end token", {"tokenizer.pad_alias"});
  }
  const auto outside = [&](const char* setting, const char* fact) {
    const auto id = view.number(setting);
    if (!id || !vocabulary) return;
    view.set(fact, *id >= *vocabulary,
             fmt::format("id {} in a vocabulary of {}", core::show_number(*id, 9),
                         core::show_number(*vocabulary, 9)),
             {setting, "model.vocab_size"});
  };
  outside("tokenizer.pad_id", "config.pad_outside_vocab");
  outside("model.image_token_id", "config.image_outside_vocab");
}

/// How much larger a forward pass of the evaluation is.
void derive_evaluation(FactView& view) {
  const auto micro = view.positive("batch.micro");
  const auto evaluated = view.positive("batch.eval_micro");
  if (!micro || !evaluated) return;
  view.set("config.eval_ratio", *evaluated / *micro,
           fmt::format("{} samples in evaluation, {} in training", core::show_number(*evaluated),
                       core::show_number(*micro)),
           {"batch.eval_micro", "batch.micro"});
}

/// As the settings say; of a policy, whose micro-batch may be whole groups, else as the model of that
/// name was published.
std::optional<double> vocabulary_of(const FactView& view) {
  const auto stated = view.positive("model.vocab_size");
  if (stated || !view.positive("rl.num_generations")) return stated;
  const auto named = knowledge::named_model(view.text("model.name"));
  const double size = named ? knowledge::number_of(*named, "vocab") : 0;
  return size > 0 ? std::optional<double>(size) : std::nullopt;
}

/// batch x length x vocabulary values, held in 4 bytes: the loss is taken in fp32
/// (transformers/loss/loss_utils.py upcasts the logits).
void derive_logits(FactView& view) {
  const auto micro = view.positive("batch.micro");
  const auto vocabulary = vocabulary_of(view);
  auto length = view.positive("data.max_length");
  if (const auto completion = view.positive("rl.max_completion_length"); completion)
    length = *completion + view.positive("rl.max_prompt_length").value_or(0);
  if (!micro || !vocabulary || !length || view.truth("memory.fused_loss")) return;
  constexpr double k_bytes = 4;
  const double bytes = *micro * *length * *vocabulary * k_bytes;
  const std::string told = fmt::format("{} x {} x {} x 4 bytes = {}", core::show_number(*micro),
                                       core::show_number(*length, 9),
                                       core::show_number(*vocabulary, 9), core::show_bytes(bytes));
  const FactView::Names from = {"batch.micro", "data.max_length", "rl.max_completion_length",
                                "model.vocab_size", "model.name"};
  view.set("config.logits_bytes", bytes, told, from);
  view.set("config.logits_told", told, told, from);
  if (const auto group = view.positive("rl.num_generations"); group && *group > 1) {
    constexpr double k_half = 2;  // log-probabilities are taken of bf16 logits
    const double of_groups = *micro * *group * *length * *vocabulary * k_half;
    const std::string groups =
        fmt::format("{} x {} x {} x {} x 2 bytes = {}", core::show_number(*micro),
                    core::show_number(*group), core::show_number(*length, 9),
                    core::show_number(*vocabulary, 9), core::show_bytes(of_groups));
    view.set("config.group_logits_bytes", of_groups, groups, from);
    view.set("config.group_logits_told", groups, groups, from);
  }
  if (const auto memory = view.positive("hardware.memory_bytes"))
    view.set("config.logits_share", bytes / *memory, told + " of " + core::show_bytes(*memory),
             from);
}

/// `bf16: true` and `fp16: true` in one file.
void derive_both_halves(FactView& view) {
  const std::vector<const record::Setting*> all = view.statements("precision.compute");
  const auto says = [](const record::Setting* setting, std::string_view format) {
    const std::string* text = core::as_text(setting->value);
    return text != nullptr && *text == format;
  };
  for (const record::Setting* first : all) {
    for (const record::Setting* second : all) {
      if (!says(first, "bf16") || !says(second, "fp16")) continue;
      if (second->origin.source != first->origin.source || second->raw_key == first->raw_key)
        continue;
      view.set_at("config.both_halves", true,
                  first->raw_key + " and " + second->raw_key + " are both on",
                  {second->origin, first->origin});
      return;
    }
  }
}

/// Two statements of one setting that differ: one of a file that repeats it (`repeats` of its
/// framework's table), one of the trainer.
void derive_disagreement(FactView& view) {
  for (const knowledge::Framework& beside : knowledge::frameworks()) {
    for (const std::string& name : beside.repeats) {
      const std::vector<const record::Setting*> all = view.statements(name);
      for (const record::Setting* mine : all) {
        if (mine->framework != beside.slug || is_default(mine->origin)) continue;
        for (const record::Setting* other : all) {
          if (other->framework == beside.slug || is_default(other->origin)) continue;
          if (other->origin.source == mine->origin.source || same(mine->value, other->value))
            continue;
          const std::string told = fmt::format("{} = {} for {}, {} = {} for the trainer",
                                               mine->raw_key, core::show(mine->value), beside.name,
                                               other->raw_key, core::show(other->value));
          view.set_at("config.disagrees", true, told, {mine->origin, other->origin});
          view.set_at("config.disagreement", told, told, {mine->origin, other->origin});
          return;
        }
      }
    }
  }
}

std::vector<std::string> repeated_settings() {
  std::vector<std::string> names;
  for (const knowledge::Framework& beside : knowledge::frameworks()) {
    for (const std::string& name : beside.repeats) names.push_back("setting:" + name);
  }
  return names;
}

/// A program built for a later major version of CUDA than the driver knows cannot start on it;
/// minor versions of one major run on each other's drivers since CUDA 11.
/// The major version of CUDA that a driver of this release knows: the first release of each stands in
/// the release notes of CUDA ("CUDA Toolkit and Minimum Required Driver Version").
std::optional<double> cuda_of_driver(double release) {
  constexpr std::array<std::pair<double, double>, 5> k_first = {
      {{580, 13}, {525, 12}, {450, 11}, {410, 10}, {384, 9}}};
  for (const auto& [first, cuda] : k_first) {
    if (release >= first) return cuda;
  }
  return std::nullopt;
}

void derive_driver(FactView& view) {
  std::string built = view.text("env.cuda");
  const std::string torch = view.text("env.torch");
  const std::size_t tag = torch.find("+cu");
  if (built.empty() && tag != std::string::npos && torch.size() >= tag + 5)
    built = torch.substr(tag + 3, 2);  // +cu124: the first two digits are the major version
  const auto major = [](const std::string& version) {
    return core::parse_number(version.substr(0, version.find('.')));
  };
  const auto needed = major(built);
  auto known = major(view.text("env.cuda_driver"));
  std::string told = view.text("env.cuda_driver");
  if (const auto release = major(view.text("env.driver")); !known && release) {
    known = cuda_of_driver(*release);
    if (known) told = fmt::format("CUDA {:.0f} (release {})", *known, view.text("env.driver"));
  }
  if (!needed || !known) return;
  view.set("config.driver_old", *needed > *known,
           fmt::format("built for CUDA {}, the driver goes up to {}", built, told),
           {"env.cuda", "env.torch", "env.cuda_driver", "env.driver"});
}

/// Tensor cores take 16-bit factors in rows of 8 numbers (16 bytes); other widths are padded, or fall
/// back to slower kernels (NVIDIA, "Matrix Multiplication Background", on alignment).
void derive_alignment(FactView& view) {
  constexpr double k_row = 8;
  std::string told;
  FactView::Names from;
  const auto look = [&](const char* fact, const char* called, double divisor) {
    const auto width = view.number(fact);
    if (!width || *width < k_row || divisor <= 0) return;
    const double each = *width / divisor;
    if (each != std::floor(each) || std::fmod(each, k_row) == 0) return;
    told += fmt::format("{}{} {}", told.empty() ? "" : ", ", called, core::show_number(each, 9));
    from.emplace_back(fact);
  };
  look("model.hidden", "width", 1);
  look("model.ffn", "feed-forward width", 1);
  look("model.vocab_size", "vocabulary", 1);
  if (const auto heads = view.number("model.heads"); heads && !view.number("model.head_dim"))
    look("model.hidden", "width of a head", *heads);
  look("model.head_dim", "width of a head", 1);
  if (!told.empty()) view.set("config.unaligned", told, "no multiple of 8: " + told, from);
}

}  // namespace

std::vector<facts::Deriver> size_facts() {
  return {
      {.name = "generation batch",
       .reads = {"train.method", "rl.num_generations", "rl.generation_batch",
                 "rl.steps_per_generation", "batch.micro", "batch.accumulation", "config.ranks"},
       .gives = {"config.generation_ranks", "config.generation_batch", "config.prompts_at_once",
                 "config.generation_off"},
       .derive = derive_generation},
      {.name = "lengths",
       .reads = {"model.max_positions", "model.rope_scaling", "data.max_length",
                 "rl.max_prompt_length", "rl.max_completion_length", "batch.micro"},
       .gives = {"config.length_over_model", "config.completion_over_model", "config.micro_tokens"},
       .derive = derive_lengths},
      {.name = "scale of the adapter",
       .reads = {"peft.rank", "peft.alpha", "peft.rslora"},
       .gives = {"config.adapter_scale"},
       .derive = derive_adapter},
      {.name = "tokens",
       .reads = {"tokenizer.pad_id", "tokenizer.eos_id", "tokenizer.pad_token",
                 "tokenizer.eos_token", "tokenizer.pad_alias", "model.image_token_id",
                 "model.vocab_size"},
       .gives = {"config.pad_is_eos", "config.pad_outside_vocab", "config.image_outside_vocab"},
       .derive = derive_tokens},
      {.name = "size of the evaluation",
       .reads = {"batch.micro", "batch.eval_micro"},
       .gives = {"config.eval_ratio"},
       .derive = derive_evaluation},
      {.name = "logits",
       .reads = {"batch.micro", "model.vocab_size", "model.name", "data.max_length",
                 "rl.max_completion_length", "rl.max_prompt_length", "rl.num_generations",
                 "memory.fused_loss", "hardware.memory_bytes"},
       .gives = {"config.logits_bytes", "config.logits_told", "config.logits_share",
                 "config.group_logits_bytes", "config.group_logits_told"},
       .derive = derive_logits},
      {.name = "alignment",
       .reads = {"model.hidden", "model.ffn", "model.vocab_size", "model.heads", "model.head_dim"},
       .gives = {"config.unaligned"},
       .derive = derive_alignment},
      {.name = "both halves",
       .reads = {"setting:precision.compute"},
       .gives = {"config.both_halves"},
       .derive = derive_both_halves},
      {.name = "repeated settings",
       .reads = repeated_settings(),
       .gives = {"config.disagrees", "config.disagreement"},
       .derive = derive_disagreement},
      {.name = "driver",
       .reads = {"env.cuda", "env.torch", "env.cuda_driver", "env.driver"},
       .gives = {"config.driver_old"},
       .derive = derive_driver}};
}

}  // namespace aplomb::preflight
