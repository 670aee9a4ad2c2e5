#pragma once
/// Reads a text as a log, for the tests of the text log reader.

#include <memory>
#include <string_view>

#include "sources/reader.h"

namespace aplomb {

std::unique_ptr<Reader> make_text_log_reader();

inline aplomb::Run read_log(std::string_view text, std::size_t part = 1U << 20U) {
  aplomb::Run run;
  RunBuilder build(run);
  const SourceId source = build.open("log.txt", "text-log", text.size());
  const auto bytes = bytes_of(text, part);
  make_text_log_reader()->read(*bytes, build, source);
  return run;
}

}  // namespace aplomb
