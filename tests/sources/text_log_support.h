#pragma once
/// Reads a text as a log, for the tests of the text log reader.

#include <memory>
#include <string_view>

#include "sources/reader.h"

namespace aplomb::sources {

std::unique_ptr<Reader> make_text_log_reader();

inline aplomb::record::Run read_log(std::string_view text, std::size_t part = 1U << 20U) {
  aplomb::record::Run run;
  record::RunBuilder build(run);
  const record::SourceId source = build.open("log.txt", "text-log", text.size());
  const auto bytes = input::bytes_of(text, part);
  make_text_log_reader()->read(*bytes, build, source);
  return run;
}

}  // namespace aplomb::sources
