#include "train/loop/llama_trainee.h"

#include <fmt/format.h>
#include <torch/cuda.h>

#include <cmath>

#include "train/loop/tensor_file.h"
#include "train/model/initialise.h"
#include "train/model/weights.h"

namespace aplomb::train::loop {
namespace {

model::ModelOptions model_options(const TrainOptions& options, const Placement& placement) {
  model::ModelOptions out;
  out.device = placement.device;
  out.compute = placement.compute;
  // What does not train may be kept in the format that products are made in.
  out.base = placement.compute;
  out.map_base = options.adapter.adapter_name != "full";
  // The ladder begins on its safest rung.
  const std::string& attention = options.precision.attn_implementation;
  out.attention = attention == "eager" || attention == "auto" ? model::Attention::eager
                                                              : model::Attention::sdpa;
  out.gradient_checkpointing = options.precision.use_gradient_checkpointing;
  out.z_loss = options.model.z_loss;
  return out;
}

model::AdapterOptions adapter_options(const AdapterFlags& flags) {
  model::AdapterOptions out;
  out.rank = flags.lora_r;
  out.alpha = flags.lora_alpha;
  out.dropout = flags.lora_dropout;
  out.targets = flags.target_modules;
  out.dora = flags.adapter_name == "dora";
  return out;
}

core::Result<std::shared_ptr<model::LanguageModel>> open_model(const TrainOptions& options,
                                                               const model::ModelOptions& how) {
  if (options.model.init_random.empty()) return model::load_model(options.model.base_model, how);
  auto config = model::read_model_config(options.model.init_random);
  if (!config) return tl::unexpected(config.error());
  if (options.model.qk_norm) {
    config = model::with_qk_norm(*config);
    if (!config) return tl::unexpected(config.error());
  }
  auto model = std::make_shared<model::LanguageModel>(*config, how);
  model::initialise_weights(*model);
  return model;
}

/// A model that begins with a NaN or an Inf gives nothing else.
core::Result<void> check_finite(const model::LanguageModel& model, const std::string& folder) {
  const torch::NoGradGuard no_gradients;
  for (const auto& each : model.named_parameters()) {
    if (std::isfinite(each.value().sum(torch::kFloat32).item<float>())) continue;
    return core::fail(
        core::ErrorCode::bad_format,
        fmt::format("[weights] {}: {} is not finite (NaN or Inf); it was likely saved by a "
                    "run that had failed, or is damaged: take an earlier checkpoint, or load "
                    "it again (`aplomb ckpt scan {}` shows all of them)",
                    folder, each.key(), folder));
  }
  return {};
}

/// `model.layers.0.self_attn.q_proj.lora_A` as PEFT's files call it.
std::string peft_name(const std::string& name) {
  constexpr std::string_view k_magnitude = ".lora_magnitude";
  const bool magnitude =
      name.size() > k_magnitude.size() &&
      name.compare(name.size() - k_magnitude.size(), k_magnitude.size(), k_magnitude) == 0;
  return "base_model.model." + name + (magnitude ? "_vector" : ".weight");
}

}  // namespace

core::Result<Placement> choose_placement(const PrecisionFlags& flags, int local_rank) {
  Placement out;
  const bool has_cuda = torch::cuda::is_available();
  const bool wants_cuda = flags.device.rfind("cuda", 0) == 0;
  if (wants_cuda && !has_cuda) {
    return core::fail(
        core::ErrorCode::bad_usage,
        "[options] --device " + flags.device +
            ": this LibTorch sees no CUDA device; --device cpu, or install a CUDA build");
  }
  try {
    if (flags.device != "auto") out.device = torch::Device(flags.device);
    const bool any_gpu = flags.device == "cuda" || (flags.device == "auto" && has_cuda);
    if (any_gpu && local_rank >= static_cast<int>(torch::cuda::device_count())) {
      return core::fail(
          core::ErrorCode::bad_usage,
          fmt::format("[options] {} GPUs for more ranks than that on this machine: start as "
                      "many ranks as there are GPUs",
                      torch::cuda::device_count()));
    }
    if (any_gpu)
      out.device = torch::Device(torch::kCUDA, static_cast<torch::DeviceIndex>(local_rank));
  } catch (const c10::Error& fault) {
    return core::fail(core::ErrorCode::bad_usage,
                      "[options] --device " + flags.device + ": " + fault.what_without_backtrace());
  }
  out.card = card_of(out.device);
  const ComputeFormat format = choose_format(flags, out.device.is_cuda(), out.card);
  out.compute = format.type;
  out.compute_name = format.name;
  out.why = format.why;
  return out;
}

core::Result<std::unique_ptr<LlamaTrainee>> LlamaTrainee::open(const TrainOptions& options,
                                                               const Placement& placement) {
  const bool full = options.adapter.adapter_name == "full";
  auto model = open_model(options, model_options(options, placement));
  if (!model) return tl::unexpected(model.error());
  const std::string& base =
      options.model.base_model.empty() ? options.model.init_random : options.model.base_model;
  if (auto finite = check_finite(**model, base); !finite) return tl::unexpected(finite.error());
  std::unique_ptr<LlamaTrainee> out(new LlamaTrainee(std::move(*model), base));
  out->shard_bytes_ = bytes_of(options.output.max_shard_size).value_or(model::k_shard_bytes);
  if (full) {
    out->model_->train_all_parameters();
  } else if (const std::string& folder = options.adapter.adapter_path; !folder.empty()) {
    auto own = model::read_adapter_options(folder);
    if (!own) return tl::unexpected(own.error());
    out->adapter_ = std::move(*own);
    if (auto loaded = model::load_adapter(*out->model_, folder); !loaded)
      return tl::unexpected(loaded.error());
    out->has_adapter_ = true;
  } else {
    out->adapter_ = adapter_options(options.adapter);
    if (auto attached = model::attach_adapter(*out->model_, out->adapter_); !attached)
      return tl::unexpected(attached.error());
    out->has_adapter_ = true;
  }
  for (auto& [name, tensor] : out->model_->trainable_parameters())
    out->trainable_.push_back({name, tensor});
  out->model_->train();
  return out;
}

at::Tensor LlamaTrainee::loss_sum(const text::TokenBatch& batch) {
  // A padding token that the tokenizer had to get has no row in the embedding. Nothing attends to
  // padding and nothing is predicted there, so any row will do.
  text::TokenBatch known = batch;
  for (std::size_t i = 0; i < known.ids.size(); ++i) {
    if (known.segments[i] < 0 && known.ids[i] >= config().vocab_size) known.ids[i] = 0;
  }
  model::LossSum loss = model_->loss(known);
  return model_->is_training() ? loss.sum : loss.cross_entropy;
}

std::string LlamaTrainee::saved_name(const std::string& parameter) const {
  return has_adapter_ ? peft_name(parameter) : parameter;
}

void LlamaTrainee::set_training(bool training) { model_->train(training); }

void LlamaTrainee::set_attention(const std::string& rung) {
  model_->set_attention(rung == "eager" ? model::Attention::eager : model::Attention::sdpa);
}

core::Result<void> LlamaTrainee::save(const std::string& folder) {
  return has_adapter_ ? model::save_adapter(*model_, adapter_, folder, base_)
                      : model::save_full(*model_, folder, torch::kFloat32, shard_bytes_);
}

core::Result<void> LlamaTrainee::save_merged(const std::string& folder) {
  return model::save_full(*model_, folder, torch::kFloat32, shard_bytes_);
}

core::Result<void> LlamaTrainee::load(const std::string& folder) {
  if (has_adapter_) {
    std::vector<NamedTensor> into;
    for (const NamedTensor& each : trainable_) into.push_back({saved_name(each.name), each.tensor});
    return load_tensors(folder + "/adapter_model.safetensors", into);
  }
  const auto loaded = model::load_weights(*model_, folder);
  if (!loaded) return tl::unexpected(loaded.error());
  return {};
}

std::int64_t LlamaTrainee::trainable_count() const {
  std::int64_t count = 0;
  for (const NamedTensor& each : trainable_) count += each.tensor.numel();
  return count;
}

}  // namespace aplomb::train::loop
