#pragma once
/// What a line of a log gives, where it stood, and what a stage of LogScanner made of it.

#include <cstdint>
#include <string_view>
#include <vector>

#include "log_text/keys.h"
#include "log_text/steps.h"

namespace aplomb::log_text {

/// Where in the artifact a line stands, and which rank printed it (-1: none said).
struct Where {
  int rank = -1;
  std::uint64_t number = 0;
  std::uint64_t offset = 0;
};

struct Sample {
  KeyId key = KeyTable::k_none;
  double value = 0;
};

/// One record, however it was read.
struct Record {
  Place place;
  std::vector<Sample> samples;
  bool train_loss = false;  ///< holds a training loss

  void clear() {
    place = Place{};
    samples.clear();
    train_loss = false;
  }
};

/// A line without what launchers put before it, or what follows a bar in the same line.
struct LogLine {
  std::string_view text;
  Where where;
};

/// What a stage made of a line.
struct LineResult {
  bool taken = false;  ///< it was this stage's: no later one looks at it
  bool words = false;  ///< it may say something in words: settings and claims are looked for
  std::string_view rest = {};  ///< of the same line, to be read as a line of its own
};

}  // namespace aplomb::log_text
