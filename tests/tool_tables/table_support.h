#pragma once
/// Reads a text line by line through the signature matcher, as a log's reader does.

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "log_text/signatures.h"

namespace aplomb::test {

inline aplomb::record::Run read_table(std::string_view text) {
  aplomb::record::Run run;
  record::RunBuilder build(run);
  const record::SourceId source = build.open("profile.txt", "text-log", text.size());
  log_text::SignatureMatcher matcher;
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

}  // namespace aplomb::test
