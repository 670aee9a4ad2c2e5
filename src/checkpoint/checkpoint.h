#pragma once
/// Checkpoint: everything a folder or file of a checkpoint holds, opened but not read: names and
/// shapes, the optimizer's state, which parts of a resume are there.
///
///     Result<Checkpoint> checkpoint = open_checkpoint("out/checkpoint-500");
///     for (const Tensor& tensor : checkpoint->tensors) scan_tensor(tensor);
///
/// Reads Hugging Face folders (model*.safetensors or pytorch_model*.bin with or without an index,
/// optimizer.pt, scheduler.pt, scaler.pt, rng_state*.pth, trainer_state.json, training_args.bin),
/// PEFT adapters (adapter_model.*), what `aplomb train` leaves beside weights (own_files.h), and
/// single files: safetensors, torch.save archives
/// (state_dict, or a dict with `model` / `state_dict` / `optimizer` ... as trainers write).
///
/// A file that cannot be read becomes a Finding and the others are read. Nothing is executed,
/// nothing is written.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/file_role.h"
#include "checkpoint/torch_file.h"
#include "tensors/finding.h"
#include "tensors/tensor.h"

namespace aplomb::checkpoint {

struct CheckpointFile {
  std::string path;
  FileRole role = FileRole::other;
  std::string format;  ///< safetensors | torch-zip | torch-legacy | pickle | dcp | gguf | json
  std::uint64_t bytes = 0;
  bool readable = false;
};

/// One parameter group of an optimizer's state_dict.
struct OptimizerGroup {
  std::map<std::string, double> numbers;     ///< lr, weight_decay, eps, momentum, beta1, beta2 ...
  std::map<std::string, std::string> words;  ///< adjust_lr_fn
  std::vector<std::int64_t> parameters;      ///< ids in order
  bool decoupled = true;
};

/// What an optimizer holds for one parameter.
struct ParameterState {
  std::int64_t id = 0;
  std::optional<double> step;
  std::map<std::string, std::size_t> tensors;  ///< `exp_avg` -> index into OptimizerState::tensors
};

struct OptimizerState {
  std::string path;
  std::vector<OptimizerGroup> groups;
  std::vector<ParameterState> states;  ///< sorted by id
  std::vector<tensors::Tensor> tensors;
  std::size_t optimizers = 1;      ///< that the groups are of: Muon beside AdamW are two
  bool name_keyed = false;         ///< FSDP full state dicts key by name instead of id
  std::vector<std::string> names;  ///< by id, where the file gives them

  const ParameterState* state(std::int64_t id) const;
};

struct Checkpoint {
  std::string path;
  std::vector<CheckpointFile> files;
  std::vector<tensors::Tensor> tensors;  ///< the weights, in the order of their files
  bool in_model_order = false;  ///< the order is that of the model's parameters (torch.save)
  bool is_adapter = false;
  std::optional<OptimizerState> optimizer;
  std::map<std::string, double>
      scheduler;  ///< last_epoch, _step_count, last_lr of the first; schedules: how many
  std::map<std::string, double>
      trainer_state;                     ///< global_step, max_steps, epoch, train_batch_size,
                                         ///< last_logged_lr, lr_logged_before
  std::map<std::string, double> scaler;  ///< scale, growth_tracker
  std::map<std::string, double>
      config;                  ///< num_hidden_layers, initializer_range, tie_word_embeddings
  std::vector<int> rng_ranks;  ///< ranks that left an RNG state; -1: a single one
  std::vector<std::string> generators;     ///< whose states: torch, cuda, numpy, python
  std::vector<std::string> data_position;  ///< keys that say where in the data the run stood
  std::vector<tensors::Finding> findings;
  std::uint64_t findings_dropped = 0;

  const CheckpointFile* file(FileRole role) const;
  bool has(FileRole role) const { return file(role) != nullptr; }
  const tensors::Tensor* tensor(std::string_view name) const;
  std::optional<std::int64_t> step() const;  ///< from trainer_state, scheduler or the folder's name
  std::uint64_t weight_bytes() const;
};

/// Whether a path looks like something that open_checkpoint reads.
bool is_checkpoint_path(const std::string& path);

/// Errors: not_found, not_readable, bad_format (no part of it could be read), unsupported.
/// `verify`: checks the checksums of everything that has some, which reads every byte.
core::Result<Checkpoint> open_checkpoint(const std::string& path, bool verify = false);

}  // namespace aplomb::checkpoint
