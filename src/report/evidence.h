#pragma once
/// Origins -> evidence that a person can look up: path, line, step and the line's text.

#include <aplomb/report.h>

#include <optional>
#include <string_view>
#include <vector>

#include "record/run.h"
#include "report/build.h"

namespace aplomb::report {

/// For one run; reads each line once. Not thread-safe; `run` and `line_at` must outlive it.
class EvidenceFinder {
 public:
  static constexpr std::size_t k_most_lines = 8;      ///< of one statement
  static constexpr std::size_t k_most_columns = 200;  ///< of one line's text

  EvidenceFinder(const record::Run& run, const LineReader& line_at)
      : run_(run), line_at_(line_at) {}

  /// Equal places are named once; at most k_most_lines.
  std::vector<Evidence> find(const std::vector<record::Origin>& origins) const;

 private:
  struct Sample {
    const record::Series* series = nullptr;
    std::size_t index = 0;
  };
  static std::optional<std::size_t> same_sample(const record::Series& other, const Sample& sample);
  /// A place in a binary artifact -> the line of a text artifact that says the same, where there is
  /// one: people can look that up.
  record::Origin readable(const record::Origin& origin) const;
  Evidence evidence_of(const record::Origin& origin) const;
  std::optional<Sample> sample_at(const record::Origin& origin) const;
  const record::Event* event_at(const record::Origin& origin) const;
  const record::Setting* setting_at(const record::Origin& origin) const;

  const record::Run& run_;
  const LineReader& line_at_;
};

/// For people and for every output format: no ANSI codes, no control characters, valid UTF-8, one
/// line, at most `width` characters.
std::string tidy_line(std::string_view text, std::size_t width);

}  // namespace aplomb::report
