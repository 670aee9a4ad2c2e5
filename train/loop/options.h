#pragma once
/// TrainOptions: everything that a run was told, with the stable defaults. Flags and the keys of
/// the YAML file have one spelling; a flag overrides the file.
///
///     TrainOptions options;
///     const Parsed parsed = parse_options(argc, argv, options);
///     if (parsed.stop) { print parsed.text; return parsed.status; }
///
/// Names may be written with dashes or underscores, switches as `--bf16`, `--bf16=True`,
/// `--bf16=false`.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace aplomb::train::loop {

struct ModelFlags {
  std::string base_model;   ///< folder with config.json, *.safetensors, tokenizer.json
  std::string init_random;  ///< a config.json instead: weights are drawn, by `seed`
  std::string tokenizer;    ///< folder or tokenizer.json; empty: that of the model
  bool qk_norm = false;     ///< with init_random
  double z_loss = 0;        ///< factor of (log Z)^2; 0: off
};

struct DataFlags {
  std::string data_path;
  std::string eval_data_path;  ///< held-out data; empty: val_set_size samples of data_path
  double val_set_size = 0;     ///< samples, or below 1 a share
  std::int64_t cutoff_len = 512;
  bool train_on_inputs = false;
  bool packing = false;
  bool shuffle = true;
  std::string chat_template;  ///< file; empty: the model's
};

struct AdapterFlags {
  std::string adapter_name = "lora";  ///< lora | dora | full
  std::int64_t lora_r = 16;
  double lora_alpha = 32;
  double lora_dropout = 0.05;
  std::vector<std::string> target_modules = {"all-linear"};
  std::string adapter_path;  ///< PEFT folder whose adapter trains on; the options above are its own
};

struct OptimFlags {
  std::string optim = "adamw";  ///< adamw | muon (matrices; AdamW for the rest)
  double learning_rate = 0;     ///< 0: usual_learning_rate()
  double muon_learning_rate = 0.02;
  double weight_decay = 0.01;
  double muon_weight_decay = 0.1;
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.999;
  double adam_epsilon = 1e-8;
  double max_grad_norm = 1.0;
  std::string lr_scheduler_type = "cosine";
  std::int64_t warmup_steps = -1;  ///< -1: warmup_ratio counts
  double warmup_ratio = 0.05;
  double min_lr_ratio = 0;  ///< of the peak, where cosine and linear end
};

struct LengthFlags {
  std::int64_t batch_size = 16;  ///< samples an optimizer step, over all ranks
  std::int64_t per_device_train_batch_size = 4;
  std::int64_t per_device_eval_batch_size = 0;  ///< 0: as in training
  double num_epochs = 1;
  std::int64_t max_steps = 0;  ///< 0: by num_epochs
  std::uint64_t seed = 42;
};

struct PrecisionFlags {
  std::string precision = "auto";  ///< auto | fp32 | bf16 | fp16, of the matrix products
  bool bf16 = false;               ///< short forms of it
  bool fp16 = false;
  bool fp32 = false;
  bool tf32 = true;
  double loss_scale = 65536;  ///< to begin with (fp16)
  double peak_tflops = 0;     ///< of all devices' products; 0: by the card's datasheet
  bool use_gradient_checkpointing = false;
  std::string attn_implementation = "auto";  ///< auto | eager | sdpa | flash_attention_2
  bool enable_torch_compile = false;         ///< told, and without effect
  bool disable_flash_sdpa = false;
  bool disable_cudnn_sdpa = true;
  std::int64_t attention_rung_steps = 100;
  bool attention_by_speed = true;
  std::string device = "auto";  ///< auto | cpu | cuda | cuda:N
  std::int64_t threads = 0;     ///< 0: as torch finds them
};

struct GuardFlags {
  bool guard = true;
  std::int64_t guard_snapshot_steps = 50;
  std::int64_t guard_rollbacks = 3;
  bool dry_run = false;   ///< judge, say so, and do not train
  bool no_check = false;  ///< leave the judgements before the first step out
};

struct OutputFlags {
  std::string output_dir = "aplomb-train";
  std::int64_t logging_steps = 1;
  std::int64_t save_step = 200;  ///< 0: only at the end
  std::int64_t save_total_limit = 3;
  std::int64_t eval_step = 200;          ///< 0: only at the end, where there is held-out data
  std::int64_t early_stop_patience = 0;  ///< evaluations without a better loss; 0: never
  bool load_best_model_at_end = false;
  std::string resume_from_checkpoint;  ///< `auto` or a folder; empty: start anew
  std::string max_shard_size = "5GB";  ///< of a file of full weights
  bool merge_adapter = false;          ///< write full weights beside the adapter, in merged/
  bool tensorboard = true;
  bool wandb_online = false;  ///< an event file, and how W&B takes it
  bool quiet = false;
};

struct DiagnosticFlags {
  bool minimal = false;
  bool overfit_one_batch = false;
  bool lr_range_test = false;
  bool compare_precision = false;
};

struct TrainOptions {
  ModelFlags model;
  DataFlags data;
  AdapterFlags adapter;
  OptimFlags optim;
  LengthFlags length;
  PrecisionFlags precision;
  GuardFlags guard;
  OutputFlags output;
  DiagnosticFlags diagnostic;

  /// The given learning rate, or what is usual for the method: 2e-4 for adapters (QLoRA, arXiv
  /// 2305.14314, table 9: 2e-4 up to 13 B parameters), 2e-5 for full fine-tuning (Llama 2, arXiv
  /// 2307.09288, section 3.1).
  double peak_learning_rate() const;
};

struct Parsed {
  bool stop =
      false;  ///< help was asked for, or something is wrong: say `text`, leave with `status`
  int status = 0;
  std::string text;
};

/// `words` without the program's name.
Parsed parse_options(std::vector<std::string> words, TrainOptions& options);

/// What belongs together and does not fit, in one line; nothing where all is well.
core::Result<void> check_options(const TrainOptions& options);

/// What `--precision` or one of its short forms asks for: auto | fp32 | bf16 | fp16. Fails where
/// they contradict each other.
core::Result<std::string> wanted_precision(const PrecisionFlags& flags);

/// `5GB`, `500MB`, `1e9`, `2GiB` -> bytes; nothing where it is no size above 0.
std::optional<std::uint64_t> bytes_of(std::string_view text);

/// Every option with its value in force, as YAML that parse_options() takes back (--config).
std::string options_yaml(const TrainOptions& options);

/// The words that a YAML file stands for: `learning_rate: 1e-4` is `--learning-rate=1e-4`; a list
/// is joined by commas; null is left out. Fails with file and line.
core::Result<std::vector<std::string>> words_of_yaml(const std::string& path);

}  // namespace aplomb::train::loop
