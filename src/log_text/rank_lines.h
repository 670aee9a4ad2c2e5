#pragma once
/// RankLines: what each rank of a job printed last, and whether the others printed the like. Ranks
/// that do the same work print the same lines, apart from numbers, equally often; where a job stands
/// still, the line that one of them has printed once more than the others names where it went alone
/// (`rank 1 has saved its best`, `epoch 0 done after 66 steps`).
///
/// One event `rank-alone` where there is such a line among the last ones; `ranks-apart` where ranks
/// print another norm or checksum of the weights at the same place, which data parallelism keeps
/// alike; `ranks-uneven` where they say at the start that they have unlike numbers of samples or
/// batches; `ranks-wait-apart` where the tracebacks of two ranks, both of them out of time, part at
/// another statement of the program. O(1) memory.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "record/run_builder.h"

namespace aplomb::log_text {

class RankLines {
 public:
  static constexpr std::size_t k_most_shapes = 256;
  static constexpr int k_most_ranks = 64;
  static constexpr std::size_t k_most_numbers = 24;  ///< of a line that is compared
  static constexpr std::size_t k_most_frames = 64;   ///< of a traceback

  /// `text`: the line without the prefix that says the rank.
  void line(std::string_view text, int rank, std::uint64_t number, std::uint64_t offset);
  /// A line without such a prefix, which may say ranks within: `epoch 3 rank 1: loss ...`, or two of
  /// them side by side: `r0: loss 0.3 |w| 18.7  r1: loss 0.4 |w| 18.6`.
  void worded(std::string_view text, std::uint64_t number, std::uint64_t offset);
  void finish(record::RunBuilder& build, record::SourceId source) const;

 private:
  struct Last {
    std::string shape;
    std::string text;
    std::uint64_t number = 0;
    std::uint64_t offset = 0;
    std::uint64_t lines = 0;
  };
  struct Number {
    double value = 0;
    bool whole = false;
    bool of_weights = false;  ///< its words say a norm or a checksum of the weights
    bool of_data = false;     ///< its words say samples or batches
    bool of_rank = false;     ///< which rank it is: `epoch 3 rank 1: ...`
  };
  struct Seen {
    std::uint32_t count = 0;
    std::vector<Number> numbers;  ///< of the last line of this shape
    std::string text;
    record::Origin origin;
  };
  /// Two ranks that printed unlike numbers, and the lines.
  struct Unlike {
    std::uint32_t times = 0;
    int first_rank = 0;
    int second_rank = 0;
    double first = 0;
    double second = 0;
    std::string text;
    std::uint64_t number = 0;
    std::uint64_t offset = 0;
  };
  using ByRank = std::map<int, Seen>;
  /// The traceback with which a rank ended, outermost statement first.
  struct Traceback {
    std::vector<std::string> statements;
    std::string last;  ///< its last line: the exception
    std::uint64_t number = 0;
    std::uint64_t offset = 0;
  };

  static std::vector<Number> numbers_of(std::string_view text);
  void compare(const ByRank& seen, int rank);
  bool side_by_side(std::string_view text, std::uint64_t number, std::uint64_t offset);
  void finish_unlike(const Unlike& unlike, const char* kind, const std::string& text,
                     record::RunBuilder& build, record::SourceId source) const;
  void finish_tracebacks(record::RunBuilder& build, record::SourceId source) const;
  std::uint32_t count_of(const std::string& shape, int rank) const;

  std::map<int, Last> last_;
  std::map<std::string, ByRank> shapes_;
  std::map<int, Traceback> tracebacks_;
  Unlike apart_;
  Unlike uneven_;
};

}  // namespace aplomb::log_text
