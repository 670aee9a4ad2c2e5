/// What must fit together: generation batches, lengths, tokens, logits; and what is said twice.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "preflight/asked_deriver.h"
#include "preflight/asked_facts.h"

namespace aplomb::preflight {

namespace {

bool same(const core::Value& a, const core::Value& b) {
  const double* first = core::as_number(a);
  const double* second = core::as_number(b);
  if (first == nullptr || second == nullptr) return core::show(a) == core::show(b);
  return std::fabs(*first - *second) <= 1e-9 * std::max(std::fabs(*first), std::fabs(*second));
}

}  // namespace

void Asked::generation() {
  const auto generations = positive("rl.num_generations");
  if (!generations) return;
  const auto micro = positive("batch.micro");
  const auto accumulation = positive("batch.accumulation");
  const auto world = ranks();
  auto batch = positive("rl.generation_batch");
  std::string told = batch ? "generation batch of " + core::show_number(*batch) : std::string();
  if (!batch && micro && (world || std::fmod(*micro, *generations) < 0.5)) {
    const double rounds = positive("rl.steps_per_generation").value_or(accumulation.value_or(1));
    batch = *micro * rounds * world.value_or(1);
    told = fmt::format("{} a device x {} x {} ranks = {} completions at once",
                       core::show_number(*micro), core::show_number(rounds),
                       core::show_number(world.value_or(1)), core::show_number(*batch));
  }
  if (!batch && micro && accumulation) {
    const double each = *micro * positive("rl.steps_per_generation").value_or(*accumulation);
    double needed = 1;  // ends at num_generations: every number times that is a multiple of it
    while (needed < *generations && std::fmod(each * needed, *generations) > 0.5) ++needed;
    set("asked.generation_ranks", needed,
        fmt::format("{} completions a rank, {} of each prompt", core::show_number(each),
                    core::show_number(*generations)),
        {"rl.num_generations", "batch.micro", "batch.accumulation"});
  }
  if (!batch) return;
  const Asked::Names from = {"rl.num_generations", "rl.generation_batch", "batch.micro",
                             "batch.accumulation"};
  set("asked.generation_batch", *batch, told, from);
  set("asked.prompts_at_once", *batch / *generations,
      fmt::format("{}, {} of each prompt", told, core::show_number(*generations)), from);
  set("asked.generation_off", std::fmod(*batch, *generations) > 0.5,
      fmt::format("{}, no multiple of {}", told, core::show_number(*generations)), from);
}

void Asked::lengths() {
  const auto limit = positive("model.max_positions");
  const auto over = [&](const char* setting, const char* fact) {
    const auto length = positive(setting);
    if (!length || !limit) return;
    set(fact, *length > *limit && text("model.rope_scaling").empty(),
        fmt::format("{} tokens, the model was made for {}", core::show_number(*length, 9),
                    core::show_number(*limit, 9)),
        {setting, "model.max_positions"});
  };
  over("data.max_length", "asked.length_over_model");
  const auto prompt = positive("rl.max_prompt_length");
  const auto completion = positive("rl.max_completion_length");
  if (prompt && completion && limit) {
    set("asked.completion_over_model", *prompt + *completion > *limit,
        fmt::format("{} + {} tokens, the model was made for {}", core::show_number(*prompt, 9),
                    core::show_number(*completion, 9), core::show_number(*limit, 9)),
        {"rl.max_completion_length", "rl.max_prompt_length", "model.max_positions"});
  }
  const auto micro = positive("batch.micro");
  const auto length = positive("data.max_length");
  if (micro && length) {
    set("asked.micro_tokens", *micro * *length,
        fmt::format("{} x {} tokens a pass", core::show_number(*micro),
                    core::show_number(*length, 9)),
        {"batch.micro", "data.max_length"});
  }
}

void Asked::adapter() {
  const auto rank = positive("peft.rank");
  const auto alpha = positive("peft.alpha");
  if (!rank || !alpha) return;
  const double scale = *alpha / (truth("peft.rslora") ? std::sqrt(*rank) : *rank);
  set("asked.adapter_scale", scale,
      fmt::format("alpha {} at rank {}: updates times {}", core::show_number(*alpha),
                  core::show_number(*rank), core::show_number(scale)),
      {"peft.alpha", "peft.rank"});
}

void Asked::tokens() {
  const auto pad = number("tokenizer.pad_id");
  const auto eos = number("tokenizer.eos_id");
  const auto vocabulary = positive("model.vocab_size");
  const std::string pad_token = text("tokenizer.pad_token");
  const std::string eos_token = text("tokenizer.eos_token");
  if (!pad_token.empty() && !eos_token.empty()) {
    set("asked.pad_is_eos", pad_token == eos_token, "padding and end token are " + pad_token,
        {"tokenizer.pad_token", "tokenizer.eos_token"});
  } else if (pad && eos) {
    set("asked.pad_is_eos", *pad == *eos,
        "padding and end token have id " + core::show_number(*pad, 9),
        {"tokenizer.pad_id", "tokenizer.eos_id"});
  } else if (text("tokenizer.pad_alias") == "eos") {
    set("asked.pad_is_eos", true, "padding is the end token", {"tokenizer.pad_alias"});
  }
  const auto outside = [&](const char* setting, const char* fact) {
    const auto id = number(setting);
    if (!id || !vocabulary) return;
    set(fact, *id >= *vocabulary,
        fmt::format("id {} in a vocabulary of {}", core::show_number(*id, 9),
                    core::show_number(*vocabulary, 9)),
        {setting, "model.vocab_size"});
  };
  outside("tokenizer.pad_id", "asked.pad_outside_vocab");
  outside("model.image_token_id", "asked.image_outside_vocab");
}

/// How much larger a forward pass of the evaluation is.
void Asked::evaluation() {
  const auto micro = positive("batch.micro");
  const auto evaluated = positive("batch.eval_micro");
  if (!micro || !evaluated) return;
  set("asked.eval_ratio", *evaluated / *micro,
      fmt::format("{} samples in evaluation, {} in training", core::show_number(*evaluated),
                  core::show_number(*micro)),
      {"batch.eval_micro", "batch.micro"});
}

/// batch x length x vocabulary values, held in 4 bytes: the loss is taken in fp32
/// (transformers/loss/loss_utils.py upcasts the logits).
void Asked::logits() {
  const auto micro = positive("batch.micro");
  const auto vocabulary = positive("model.vocab_size");
  auto length = positive("data.max_length");
  if (const auto completion = positive("rl.max_completion_length"); completion)
    length = *completion + positive("rl.max_prompt_length").value_or(0);
  if (!micro || !vocabulary || !length || truth("memory.fused_loss")) return;
  constexpr double k_bytes = 4;
  const double bytes = *micro * *length * *vocabulary * k_bytes;
  const std::string told = fmt::format("{} x {} x {} x 4 bytes = {}", core::show_number(*micro),
                                       core::show_number(*length, 9),
                                       core::show_number(*vocabulary, 9), core::show_bytes(bytes));
  const Asked::Names from = {"batch.micro", "data.max_length", "rl.max_completion_length",
                             "model.vocab_size"};
  set("asked.logits_bytes", bytes, told, from);
  set("asked.logits_told", told, told, from);
  if (const auto memory = positive("hardware.memory_bytes"))
    set("asked.logits_share", bytes / *memory, told + " of " + core::show_bytes(*memory), from);
}

/// `bf16: true` and `fp16: true` in one file.
void Asked::precision() {
  for (const record::Setting& first : run_.settings) {
    const std::string* one = core::as_text(first.value);
    if (first.name != "precision.compute" || one == nullptr || *one != "bf16") continue;
    for (const record::Setting& second : run_.settings) {
      const std::string* other = core::as_text(second.value);
      if (second.name != first.name || other == nullptr || *other != "fp16") continue;
      if (second.origin.source != first.origin.source || second.raw_key == first.raw_key) continue;
      facts_.set({"asked.both_halves",
                  true,
                  first.raw_key + " and " + second.raw_key + " are both on",
                  {second.origin, first.origin}});
      return;
    }
  }
}

/// DeepSpeed's file and the trainer's arguments state the same thing differently: the Trainer
/// refuses to start (transformers/integrations/deepspeed.py, HfTrainerDeepSpeedConfig).
void Asked::disagreement() {
  static constexpr std::array<std::string_view, 10> k_shared = {
      "batch.micro",       "batch.accumulation",   "optim.lr",    "optim.weight_decay",
      "optim.grad_clip",   "optim.beta1",          "optim.beta2", "optim.eps",
      "precision.compute", "schedule.warmup_steps"};
  for (const record::Setting& mine : run_.settings) {
    if (mine.framework != "deepspeed" || is_default(mine.origin)) continue;
    if (std::find(k_shared.begin(), k_shared.end(), mine.name) == k_shared.end()) continue;
    for (const record::Setting& other : run_.settings) {
      if (other.name != mine.name || other.framework == "deepspeed" || is_default(other.origin))
        continue;
      if (other.origin.source == mine.origin.source || same(mine.value, other.value)) continue;
      const std::string told =
          fmt::format("{} = {} for DeepSpeed, {} = {} for the trainer", mine.raw_key,
                      core::show(mine.value), other.raw_key, core::show(other.value));
      facts_.set({"asked.deepspeed_disagrees", true, told, {mine.origin, other.origin}});
      facts_.set({"asked.disagreement", told, told, {mine.origin, other.origin}});
      return;
    }
  }
}

/// A program built for a later major version of CUDA than the driver knows cannot start on it;
/// minor versions of one major run on each other's drivers since CUDA 11.
void Asked::driver() {
  std::string built = text("env.cuda");
  const std::string torch = text("env.torch");
  const std::size_t tag = torch.find("+cu");
  if (built.empty() && tag != std::string::npos && torch.size() >= tag + 5)
    built = torch.substr(tag + 3, 2);  // +cu124: the first two digits are the major version
  const auto major = [](const std::string& version) {
    return core::parse_number(version.substr(0, version.find('.')));
  };
  const auto needed = major(built);
  const auto known = major(text("env.cuda_driver"));
  if (!needed || !known) return;
  set("asked.driver_old", *needed > *known,
      fmt::format("built for CUDA {}, the driver goes up to {}", built, text("env.cuda_driver")),
      {"env.cuda", "env.torch", "env.cuda_driver"});
}

}  // namespace aplomb::preflight
