#pragma once
/// RankLines: what each rank of a job printed last, and whether the others printed the like. Ranks
/// that do the same work print the same lines, apart from numbers, equally often; where a job stands
/// still, the line that one of them has printed once more than the others names where it went alone
/// (`rank 1 has saved its best`, `epoch 0 done after 66 steps`).
///
/// One event `rank-alone` where there is such a line among the last ones. O(1) memory.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "record/run_builder.h"

namespace aplomb::log_text {

class RankLines {
 public:
  static constexpr std::size_t k_most_shapes = 256;
  static constexpr int k_most_ranks = 64;

  /// `text`: the line without the prefix that says the rank.
  void line(std::string_view text, int rank, std::uint64_t number, std::uint64_t offset);
  void finish(record::RunBuilder& build, record::SourceId source) const;

 private:
  struct Last {
    std::string shape;
    std::string text;
    std::uint64_t number = 0;
    std::uint64_t offset = 0;
    std::uint64_t lines = 0;
  };
  std::uint32_t count_of(const std::string& shape, int rank) const;

  std::map<int, Last> last_;
  std::map<std::string, std::map<int, std::uint32_t>> shapes_;
};

}  // namespace aplomb::log_text
