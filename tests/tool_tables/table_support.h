#pragma once
/// Reads a text line by line through the signature matcher, as a log's reader does.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "log_errors/signatures.h"

namespace aplomb::test {

inline aplomb::record::Run read_table(std::string_view text) {
  aplomb::record::Run run;
  record::RunBuilder build(run);
  const record::SourceId source = build.open("profile.txt", "text-log", text.size());
  log_errors::SignatureMatcher matcher;
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    matcher.line(text.substr(at, end - at), ++number, at, -1, build, source);
    at = end + 1;
  }
  matcher.finish(build, source);
  return run;
}

/// The number of this fact, -1 where nobody said it.
inline double fact_of(const aplomb::record::Run& run, std::string_view name) {
  for (const record::Fact& each : run.facts) {
    if (each.name == name && core::as_number(each.value) != nullptr)
      return *core::as_number(each.value);
  }
  return -1;
}

/// Expects that the text says these numbers, whatever else it says.
inline void expect_facts(std::string_view text,
                         std::initializer_list<std::pair<std::string_view, double>> facts) {
  const aplomb::record::Run run = read_table(text);
  for (const auto& [name, value] : facts) EXPECT_NEAR(fact_of(run, name), value, 1e-9) << name;
}

}  // namespace aplomb::test
