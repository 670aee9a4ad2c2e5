#pragma once
/// Statements: sentences of programs, scripts and people that state a setting without `key = value`
/// (knowledge/statements.yaml): `model.half()`, `Using bfloat16 Automatic Mixed Precision (AMP)`,
/// `ZeRO stage 3`. One literal filter finds them, the names of calls whose keywords are settings,
/// and the pieces that tell frameworks.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config_text/setting_sink.h"

namespace aplomb::prose {

/// What a literal that stands in a line is good for.
struct LiteralHits {
  std::vector<std::uint32_t> statements;  ///< indices, to be tried on the line
  bool call = false;                      ///< a call whose keywords are settings opens here
  bool environment = false;               ///< the line may speak of hardware or versions
  std::vector<std::uint32_t>
      frameworks;  ///< indices into knowledge::frameworks(), once per piece found
  bool any() const { return call || environment || !statements.empty() || !frameworks.empty(); }
};

LiteralHits find_literals(std::string_view line);

/// Tries the statements on the line; whether any held. `declared`: statements that people make
/// count as well.
bool apply_statements(const std::vector<std::uint32_t>& statements, std::string_view line,
                      bool declared, std::uint64_t number, std::uint64_t offset,
                      config_text::SettingSink& sink);

}  // namespace aplomb::prose
