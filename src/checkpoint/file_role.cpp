#include "checkpoint/file_role.h"

namespace aplomb::checkpoint {

FileRole role_of_file(std::string_view name) {
  const auto starts = [&](std::string_view head) { return name.starts_with(head); };
  const auto ends = [&](std::string_view tail) { return name.ends_with(tail); };
  if (ends(".index.json")) return FileRole::index;
  if (name == "trainer_state.json" || name == "training_state.json") return FileRole::trainer_state;
  if (name == "config.json" || name == "adapter_config.json") return FileRole::config;
  const bool pickled = ends(".pt") || ends(".bin") || ends(".pth") || ends(".pkl");
  if (starts("optimizer") && (pickled || ends(".safetensors") || ends(".state")))
    return FileRole::optimizer;
  if (pickled && starts("scheduler")) return FileRole::scheduler;
  if (pickled && starts("scaler")) return FileRole::scaler;
  if (pickled && (starts("rng_state") || starts("random_states"))) return FileRole::rng;
  if (pickled && (starts("sampler") || starts("dl_state_dict") || starts("dataloader")))
    return FileRole::data;
  if (name == "training_args.bin") return FileRole::arguments;
  if (starts("adapter_model.")) return FileRole::adapter;
  if (ends(".safetensors") || ends(".ckpt") || ends(".gguf") || (pickled && !ends(".pkl")))
    return FileRole::weights;
  return FileRole::other;
}

}  // namespace aplomb::checkpoint
