#pragma once
/// A sweep told: tables for the terminal, JSON for programs.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "train/lab/sweep.h"

namespace aplomb::train::lab {

/// By fault, by family, and the totals.
std::string sweep_text(const Sweep& sweep);
/// Schema `aplomb.lab/1`: every trial, and the totals.
nlohmann::ordered_json sweep_json(const Sweep& sweep);

/// What the laboratory holds aplomb to: every fault that did harm was spoken of at or before it,
/// the cause stands first in at least k_first_share of the runs, no healthy twin is called broken,
/// harm is averted in every run that the guard can act on.
inline constexpr double k_first_share = 0.9;
bool is_passed(const Sweep& sweep);

}  // namespace aplomb::train::lab
