#pragma once
/// Command lines as people paste and scripts hold them:
///
///     CUDA_VISIBLE_DEVICES=0 torchrun --nproc-per-node=8 train.py --learning_rate 1e-4 --fp16
///         --lora_target q_proj v_proj actor.optim.lr=1e-6
///
/// `--key value`, `--key=value`, a flag without a value (`true`), several values (a list), `-j 4`
/// (path `cli.j`), and `key=value` words: environment variables in front, hydra overrides (`+key=`,
/// `++key=`) anywhere. Nothing is executed or expanded; a word with `$` stays as it stands.

#include <string_view>
#include <vector>

#include "config_text/config_entry.h"

namespace aplomb::config_text {

/// Whether a line has the look of (a part of) a command line: a `--flag`, or an interpreter or
/// launcher by name.
bool looks_like_command(std::string_view line);

/// `line` and `offset` are those of the text's first byte; continuation lines (`\` at the end)
/// stand in the text.
std::vector<ConfigEntry> parse_command(std::string_view text, std::uint64_t line = 1,
                                       std::uint64_t offset = 0);

}  // namespace aplomb::config_text
