#pragma once
/// Reads the shards that DeepSpeed's ZeRO leaves, stages 1 to 3, and puts each parameter together
/// again: the fp32 weights that training goes on from, and what the optimizer keeps for them.
///
///     global_step500/mp_rank_00_model_states.pt                        stages 1, 2
///     global_step500/zero_pp_rank_R_mp_rank_00_model_states.pt         stage 3
///     global_step500/[bf16_|fp16_]zero_pp_rank_R_mp_rank_00_optim_states.pt
///
/// Layout, as in deepspeed/utils/zero_to_fp32.py. Stages 1 and 2: the parameters of a group lie
/// end to end in one flat tensor, in the order of `param_shapes`; rank R holds the R-th of equal
/// parts. Stage 3: each parameter is cut into as many equal parts as there are ranks (the last
/// one padded); rank R's flat tensors hold its parts end to end.

#include <string>
#include <vector>

#include "checkpoint/open_file.h"

namespace aplomb::checkpoint {

/// Whether a file's name is that of a ZeRO shard.
bool is_zero_shard(std::string_view name);

/// Reads the shards among `names`. Ranks that are missing or do not fit become Findings.
void open_zero_shards(Opening& opening, const std::string& folder,
                      const std::vector<std::string>& names);

}  // namespace aplomb::checkpoint
