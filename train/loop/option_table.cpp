#include "train/loop/option_table.h"

namespace aplomb::train::loop {
namespace {

constexpr double k_any = 1e15;

void walk_model(ModelFlags& model, OptionVisitor& to) {
  to.group("Model");
  to.visit("base-model", model.base_model,
           "folder with config.json, *.safetensors and tokenizer.json");
  to.visit("init-random", model.init_random, "draw the weights for this config.json instead");
  to.visit("tokenizer", model.tokenizer, "tokenizer.json or its folder, if not the model's");
  to.visit("qk-norm", model.qk_norm, "norm queries and keys (with --init-random)");
  to.visit("z-loss", model.z_loss, "factor of (log Z)^2, e.g. 1e-4; 0: off");
  to.range(0, 1);
}

void walk_data(DataFlags& data, OptionVisitor& to) {
  to.group("Data");
  to.visit("data-path", data.data_path,
           "JSON or JSONL: instruction/input/output, prompt/completion or messages");
  to.visit("eval-data-path", data.eval_data_path, "held-out data in the same form");
  to.visit("val-set-size", data.val_set_size,
           "samples of --data-path to hold out; below 1: a share");
  to.range(0, k_any);
  to.visit("cutoff-len", data.cutoff_len, "tokens a sample at most");
  to.range(2, 1 << 24);
  to.visit("train-on-inputs", data.train_on_inputs, "prompts count in the loss, too");
  to.visit("packing", data.packing, "several samples a row, each seeing only itself");
  to.visit("shuffle", data.shuffle, "a new order each epoch; false: as in the file");
  to.visit("chat-template", data.chat_template, "file with a chat template, if not the model's");
}

void walk_adapter(AdapterFlags& adapter, OptionVisitor& to) {
  to.group("Adapter");
  to.visit("adapter-name", adapter.adapter_name, "what is trained");
  to.words({"lora", "dora", "full"});
  to.visit("lora-r", adapter.lora_r, "rank");
  to.range(1, 65536);
  to.visit("lora-alpha", adapter.lora_alpha, "the adapter counts alpha / r");
  to.range(1e-6, k_any);
  to.visit("lora-dropout", adapter.lora_dropout, "share of the adapter's inputs dropped");
  to.range(0, 0.99);
  to.visit("target-modules", adapter.target_modules,
           "modules that get an adapter, by comma; all-linear: each but the output");
  to.also("lora-target-modules");
  to.visit("adapter-path", adapter.adapter_path,
           "PEFT folder whose adapter trains on, with its rank, alpha and modules");
}

void walk_optim(OptimFlags& optim, OptionVisitor& to) {
  to.group("Optimizer and schedule");
  to.visit("optim", optim.optim, "muon: for the matrices of the layers, AdamW for the rest");
  to.words({"adamw", "muon"});
  to.visit("learning-rate", optim.learning_rate, "peak; 0: 2e-4 for adapters, 2e-5 for full");
  to.range(0, 100);
  to.visit("weight-decay", optim.weight_decay, "decoupled; none on norms and biases");
  to.range(0, 10);
  to.visit("adam-beta1", optim.adam_beta1, "");
  to.range(0, 0.999999);
  to.visit("adam-beta2", optim.adam_beta2, "");
  to.range(0, 0.9999999);
  to.visit("adam-epsilon", optim.adam_epsilon, "");
  to.range(0, 1);
  to.visit("muon-learning-rate", optim.muon_learning_rate, "peak for the matrices (--optim muon)");
  to.range(0, 100);
  to.visit("muon-weight-decay", optim.muon_weight_decay, "");
  to.range(0, 10);
  to.visit("max-grad-norm", optim.max_grad_norm, "clip the global gradient norm; 0: off");
  to.range(0, k_any);
  to.visit("lr-scheduler-type", optim.lr_scheduler_type, "after warm-up");
  to.words({"cosine", "linear", "constant"});
  to.visit("warmup-steps", optim.warmup_steps, "-1: by --warmup-ratio");
  to.range(-1, k_any);
  to.visit("warmup-ratio", optim.warmup_ratio, "share of all steps");
  to.range(0, 1);
  to.visit("min-lr-ratio", optim.min_lr_ratio, "share of the peak at the end");
  to.range(0, 1);
}

void walk_length(LengthFlags& length, OptionVisitor& to) {
  to.group("Batches and length");
  to.visit("batch-size", length.batch_size, "samples an optimizer step, over all ranks");
  to.range(1, 1 << 30);
  to.visit("per-device-train-batch-size", length.per_device_train_batch_size,
           "samples a pass and rank; the rest is accumulated");
  to.also("micro-batch-size");
  to.range(1, 1 << 30);
  to.visit("per-device-eval-batch-size", length.per_device_eval_batch_size, "0: as in training");
  to.range(0, 1 << 30);
  to.visit("num-epochs", length.num_epochs, "passes over the data");
  to.range(0, k_any);
  to.visit("max-steps", length.max_steps, "optimizer steps; 0: by --num-epochs");
  to.range(0, k_any);
  to.visit("seed", length.seed, "of the data's order, the drawn weights and dropout");
}

void walk_precision(PrecisionFlags& precision, OptionVisitor& to) {
  to.group("Precision and attention");
  to.visit("precision", precision.precision,
           "of products; auto: bf16 where the card has it, fp16 on older ones, fp32 on CPUs");
  to.words({"auto", "fp32", "bf16", "fp16"});
  to.visit("bf16", precision.bf16, "short for --precision bf16");
  to.visit("fp16", precision.fp16, "short for --precision fp16");
  to.visit("fp32", precision.fp32, "short for --precision fp32");
  to.visit(
      "loss-scale", precision.loss_scale,
      "of fp16, to begin with; halved where gradients overflow, doubled after 2000 good steps");
  to.range(1, 1 << 24);
  to.visit("tf32", precision.tf32, "fp32 products on tensor cores, where there are some");
  to.visit("use-gradient-checkpointing", precision.use_gradient_checkpointing,
           "keep only layer inputs, compute the rest again");
  to.visit("attn-implementation", precision.attn_implementation,
           "auto climbs from eager to sdpa, as long as each rung stays healthy and is no slower; "
           "flash_attention_2: sdpa with its flash kernel, without cuDNN's");
  to.also("attention");
  to.words({"auto", "eager", "sdpa", "flash_attention_2"});
  to.visit("attention-rung-steps", precision.attention_rung_steps, "steps a rung of auto");
  to.range(2, k_any);
  to.visit(
      "attention-by-speed", precision.attention_by_speed,
      "leave a rung of auto that is a tenth slower; off: what the run does depends on no clock");
  to.visit("disable-flash-sdpa", precision.disable_flash_sdpa, "no flash kernel inside sdpa");
  to.visit("disable-cudnn-sdpa", precision.disable_cudnn_sdpa, "no cuDNN kernel inside sdpa");
  to.visit("enable-torch-compile", precision.enable_torch_compile,
           "taken note of: LibTorch has no compiler of Python's torch.compile");
  to.visit("device", precision.device, "auto, cpu, cuda or cuda:N");
  to.visit("threads", precision.threads, "of the CPU; 0: all cores");
  to.range(0, 4096);
  to.visit("peak-tflops", precision.peak_tflops,
           "of the device, dense, for the MFU; 0: by the card's datasheet");
  to.range(0, k_any);
}

void walk_guard(GuardFlags& guard, OptionVisitor& to) {
  to.group("Judgement");
  to.visit("guard", guard.guard, "judge each step before it is taken; false: only clip");
  to.visit("guard-snapshot-steps", guard.guard_snapshot_steps,
           "steps between two copies in memory for a rollback; 0: none");
  to.range(0, k_any);
  to.visit("guard-rollbacks", guard.guard_rollbacks, "how often the guard may go back; 0: never");
  to.range(0, 1000);
  to.visit("dry-run", guard.dry_run, "say what would be run and what is wrong with it; no step");
  to.visit("no-check", guard.no_check, "no judgement of configuration and memory beforehand");
}

void walk_output(OutputFlags& output, OptionVisitor& to) {
  to.group("Output");
  to.visit("output-dir", output.output_dir, "log, metrics, checkpoints and the result");
  to.visit("logging-steps", output.logging_steps, "steps between two records");
  to.range(1, k_any);
  to.visit("save-step", output.save_step, "steps between two checkpoints; 0: only at the end");
  to.also("save-steps");
  to.range(0, k_any);
  to.visit("save-total-limit", output.save_total_limit,
           "checkpoints to keep, beside the best; 0: all");
  to.range(0, k_any);
  to.visit("eval-step", output.eval_step, "steps between two evaluations; 0: only at the end");
  to.also("eval-steps");
  to.range(0, k_any);
  to.visit("early-stop-patience", output.early_stop_patience,
           "evaluations without a better loss before the end; 0: never");
  to.range(0, k_any);
  to.visit("load-best-model-at-end", output.load_best_model_at_end,
           "the result is the checkpoint with the best held-out loss");
  to.visit("resume-from-checkpoint", output.resume_from_checkpoint,
           "a checkpoint's folder, or auto: the latest whole one of --output-dir");
  to.visit("max-shard-size", output.max_shard_size, "a file of full weights holds at most so much");
  to.visit("merge-adapter", output.merge_adapter, "write merged full weights to merged/, too");
  to.visit("tensorboard", output.tensorboard, "write an event file, too");
  to.visit("wandb-online", output.wandb_online,
           "write an event file and say how Weights & Biases takes it; nothing is sent from here");
  to.visit("quiet", output.quiet, "only warnings on the terminal");
}

void walk_diagnostic(DiagnosticFlags& diagnostic, OptionVisitor& to) {
  to.group("Diagnostic runs (each ends in a verdict)");
  to.visit("minimal", diagnostic.minimal, "few steps with the safest settings: is it the data?");
  to.visit("overfit-one-batch", diagnostic.overfit_one_batch,
           "one batch again and again: can it learn at all?");
  to.visit("lr-range-test", diagnostic.lr_range_test, "rising learning rate: where does it break?");
  to.visit("compare-precision", diagnostic.compare_precision,
           "the same steps in fp32, bf16 and fp16: does precision matter?");
}

}  // namespace

void walk_options(TrainOptions& options, OptionVisitor& visitor) {
  walk_model(options.model, visitor);
  walk_data(options.data, visitor);
  walk_adapter(options.adapter, visitor);
  walk_optim(options.optim, visitor);
  walk_length(options.length, visitor);
  walk_precision(options.precision, visitor);
  walk_guard(options.guard, visitor);
  walk_output(options.output, visitor);
  walk_diagnostic(options.diagnostic, visitor);
}

}  // namespace aplomb::train::loop
