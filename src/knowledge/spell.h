#pragma once
/// One key with its value as text: the quotes, truths and exponents of a syntax.

#include <string>
#include <string_view>

#include "knowledge/written_key.h"

namespace aplomb::knowledge {

/// The shortest digits that read back as the same number; `2.0e-05`, which YAML 1.1 takes for a
/// number, not `2e-05`.
std::string digits(double number);

/// The value as text in a syntax of Framework::syntax: quotes, True/true, exponents that YAML 1.1
/// takes for numbers.
std::string spell(const WrittenKey& key, std::string_view syntax);

/// The same as a flag of a command line: `--max_grad_norm 1`, `--bf16`; empty where a bare switch
/// is off.
std::string spell_flag(const WrittenKey& key);

/// The same as a keyword of a call in Python: `r=16`, `lr_kwargs={"min_lr": 0}`; as an
/// assignment where no call takes it.
std::string spell_keyword(const WrittenKey& key);

}  // namespace aplomb::knowledge
