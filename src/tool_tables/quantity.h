#pragma once
/// Quantities as messages print them: `4.34 GiB`, `474.75MiB`, `791.161ms`, `1800000`, `89.3%`.

#include <optional>
#include <string_view>

#include "core/value.h"

namespace aplomb::tool_tables {

/// The whole of `text` as a number: sizes in bytes (`GB` is read as 2^30, as PyTorch, DeepSpeed and
/// nvidia-smi mean it), durations in seconds, per cent as the plain number. Nothing where it is
/// anything else.
std::optional<double> parse_quantity(std::string_view text);

/// What a named group caught: a quantity where it is one, else the text (at most 200 bytes).
/// A name that ends in `_text` keeps the text as it stands.
core::Value caught_value(std::string_view name, std::string_view text);

}  // namespace aplomb::tool_tables
