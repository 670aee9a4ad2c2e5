#pragma once
/// The record that the pairs of a line state: whether it is one of metrics, its place and samples.

#include <cstdint>
#include <string_view>
#include <vector>

#include "log_text/line_record.h"
#include "log_text/pairs.h"

namespace aplomb::log_text {

/// Whether the line is a record of metrics: by its keys, or as one of the indented lines below the
/// head of a record. `last_record`: the line of the record before it; 0: none.
bool states_record(std::string_view text, const std::vector<Pair>& pairs, const KeyTable& keys,
                   std::uint64_t number, std::uint64_t last_record);

/// Whether the line prints a configuration: it has a seed, or several names that only settings have.
bool prints_settings(std::string_view text, const std::vector<Pair>& pairs);

/// Where the pairs say that the run stands.
Place place_of_pairs(const std::vector<Pair>& pairs, const KeyTable& keys);

/// The samples and the place that the pairs stand for. Unknown keys are taken up in `keys`.
void gather_record(std::string_view text, const std::vector<Pair>& pairs, KeyTable& keys,
                   Record& out);

}  // namespace aplomb::log_text
