#pragma once
/// Nested text: JSON, and what Python code and its printed objects look like, read in one tolerant
/// pass:
///
///     {"zero_optimization": {"stage": 3}}       zero_optimization.stage = 3
///     args = GRPOConfig(learning_rate=5e-6)     learning_rate = 5e-6 (call GRPOConfig)
///     optimizer = dict(type='SGD', lr=0.02)     optimizer.type = SGD, optimizer.lr = 0.02
///     cfg.SOLVER.BASE_LR = 0.02                 cfg.SOLVER.BASE_LR = 0.02
///
/// Why no JSON library here: the values' places are needed to edit them, and what users have are
/// JSON with comments and trailing commas, templates with bare words for values, fragments that
/// start or end in the middle, and Python. Nothing is executed. Never fails: what is no `key =
/// value` is passed over. Linear time; nesting beyond k_deepest_nesting is passed over; at most
/// k_most_entries entries.

#include <string_view>
#include <vector>

#include "config_text/config_entry.h"

namespace aplomb::config_text {

/// `line` and `offset` are those of the text's first byte in its artifact.
std::vector<ConfigEntry> parse_nested(std::string_view text, std::uint64_t line = 1,
                                      std::uint64_t offset = 0);

/// How many brackets are open at the end of `text` (strings and comments looked through); negative
/// where more close.
int open_brackets(std::string_view text);

}  // namespace aplomb::config_text
