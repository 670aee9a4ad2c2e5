#pragma once
/// The sizes that models were published with, for configurations that only name one: `models` of
/// knowledge/plan.yaml.
///
///     named_model("Qwen/Qwen2.5-7B-Instruct")    // the entry `qwen2.5-7b`: layers, hidden, vocab ...
///     named_model("my-own")                      // nothing
///
/// The longest `match` that stands in the name wins; `_` is read as `-`, and capitals as small
/// letters.

#include <optional>
#include <string_view>

#include "knowledge/document.h"

namespace aplomb::knowledge {

std::optional<Node> named_model(std::string_view name);

}  // namespace aplomb::knowledge
