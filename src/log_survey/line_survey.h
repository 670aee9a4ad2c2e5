#pragma once
/// LineSurvey: which lines of a log of gigabytes are worth reading, found in one quick look at each.
///
/// A look at a line costs a hash of its bytes with every digit as `0` (its shape). Of a shape that
/// is new the line is taken apart once: its pairs of key and number stand at the same bytes in every
/// line of that shape, so that the next one costs no search. Picked are
///
///     head, tail, windows      whole stretches: the beginning, the end, and evenly between them
///     records                  every n-th record of metrics of each kind, n as small as the bound
///                              allows: where all of them fit, all
///     extremes                 in each of up to k_most_blocks parts of the log the records with the lowest,
///                              the highest and the first non-finite value of each metric: no jump
///                              and no NaN is passed over
///     serious                  lines with a message of knowledge/errors*.yaml, a word of failure or
///                              a number that is none, with the lines around them; of one shape the
///                              first k_most_alike, then ever fewer
///     new                      lines of a shape not seen before, as far as the bound allows
///
///     LineSurvey survey(head, size, most_bytes);
///     for (each line) survey.line(text, place);
///     std::vector<Pick> picks = survey.finish();
///
/// Memory: bounded by `most_bytes`, whatever the size of the log.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "log_text/keys.h"
#include "log_text/pairs.h"
#include "log_text/prefix.h"

namespace aplomb::log_survey {

using log_text::KeyId;
using log_text::KeyTable;
using log_text::Pair;

/// Bytes of the log that begin and end with lines, or with what carriage returns make of them.
struct Pick {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t line = 0;    ///< line feeds before `begin`
  std::uint64_t before = 0;  ///< records of the commonest kind before `begin`
  std::uint64_t after = 0;   ///< and before `end`
  bool inside = false;       ///< `begin` follows a carriage return
};

class LineSurvey {
 public:
  static constexpr std::uint64_t k_most_blocks = 512;
  static constexpr std::size_t k_longest = 8192;  ///< bytes of a line that are looked at
  static constexpr std::uint32_t k_most_alike = 16;
  static constexpr std::size_t k_lines_around = 32;  ///< of a serious line

  /// What came of the lines, for the account that the report gives.
  struct Tally {
    std::uint64_t lines = 0;
    std::uint64_t records = 0;         ///< lines that hold metrics
    std::uint64_t records_picked = 0;  ///< as every n-th
    std::uint64_t serious = 0;
    std::uint64_t serious_left = 0;  ///< seen, and beyond the bound
    std::uint64_t new_left = 0;      ///< shapes likewise
  };

  /// `head`: the first bytes of the log. `most_bytes`: of what is picked, about.
  LineSurvey(std::string_view head, std::uint64_t size, std::uint64_t most_bytes);

  /// The next line: its text without its end, and where it stands (`before` and `after` are filled
  /// in here).
  void line(std::string_view text, Pick at);
  /// In their order, none touching another.
  std::vector<Pick> finish();
  const Tally& tally() const { return tally_; }

 private:
  static constexpr std::size_t k_slots = 1U << 15U;
  static constexpr std::size_t k_most_fields = 16;
  static constexpr std::size_t k_most_watched = 64;
  static constexpr std::size_t k_most_kinds = 16;
  static constexpr std::uint8_t k_no_kind = 0xFF;

  /// What the words of a line speak of; each has room of its own, so that a flood of warnings hides no
  /// failure.
  enum class Gravity : std::uint8_t { none, warning, failure };

  struct Field {  ///< a number of a shape
    std::uint16_t begin = 0;
    std::uint8_t size = 0;
    std::uint8_t watched = 0;
  };
  struct Shape {
    std::uint64_t hash = 0;  ///< 0: free
    std::uint32_t seen = 0;
    std::uint8_t kind = k_no_kind;
    std::uint8_t fields = 0;
    Gravity gravity = Gravity::none;
    bool bar = false;
    bool placed = false;  ///< says where the run stands
    std::array<Field, k_most_fields> at{};
  };
  struct Watched {  ///< a metric, in the block at hand
    KeyId key = KeyTable::k_none;
    bool any = false;
    bool bad = false;
    bool was_bad = false;  ///< the last one, of whatever block
    std::uint32_t turns = 0;
    double least = 0;
    double most = 0;
    Pick lowest;
    Pick highest;
    Pick first_bad;
  };
  struct Kind {  ///< records with the same keys
    std::uint64_t keys = 0;
    std::uint64_t seen = 0;
    std::uint64_t stride = 1;
    std::uint64_t bytes = 0;
    std::vector<Pick> picks;
  };

  struct Bounds {  ///< where the stretch at hand ends, and the block; where the next window begins
    std::uint64_t stretch_end = 0;
    std::uint64_t next_window = 0;
    std::uint64_t block_bytes = 0;
    std::uint64_t block_end = 0;
  };
  struct Spent {                             ///< bytes of the bound
    std::array<std::uint64_t, 3> serious{};  ///< by gravity
    std::uint64_t on_new = 0;
  };

  Shape& shape_of(std::string_view text);
  void look_at(std::string_view text, Shape& shape);
  void take_fields(std::string_view text, const std::vector<Pair>& pairs, std::size_t shift,
                   Shape& shape);
  void put_field(const Pair& pair, std::size_t shift, Shape& shape);
  std::uint8_t kind_of(const std::vector<Pair>& pairs);
  static Gravity gravity_of(std::string_view text, bool prose);
  void stretch(const Pick& at);
  void record(std::string_view text, const Shape& shape, const Pick& at);
  void measure(std::string_view text, const Field& field, const Pick& at);
  void words(const Shape& shape, const Pick& at);
  void serious_line(const Shape& shape, const Pick& at);
  void remember(const Pick& at);
  Pick with_lines_before(const Pick& at, std::size_t lines, std::uint64_t bytes) const;
  void add(const Pick& pick);
  std::uint64_t so_far(std::uint64_t whole, const Pick& at) const;
  void close_block();
  static void thin(Kind& kind);
  void choose_commonest();

  std::uint64_t size_;
  std::uint64_t most_;
  log_text::PrefixStyle style_;
  KeyTable keys_;
  log_text::PairFinder finder_;
  std::string plain_;  ///< a line with blanks for its colours
  std::vector<Shape> shapes_;
  std::vector<Watched> watched_;
  std::vector<Kind> kinds_;
  std::vector<Pick> picks_;
  std::array<Pick, k_lines_around> ring_{};  ///< the lines before the one at hand
  std::uint64_t remembered_ = 0;
  Pick place_;                ///< the line that said last where the run stands
  bool place_fresh_ = false;  ///< no record has been picked with it
  bool bars_ = false;
  bool next_too_ = false;  ///< the line behind a picked record, where bars tell steps
  std::size_t lines_after_ = 0;
  Bounds bounds_;
  Spent spent_;
  std::uint64_t last_record_line_ = 0;
  std::uint8_t commonest_ = k_no_kind;
  std::uint64_t commonest_seen_ = 0;
  Tally tally_;
};

}  // namespace aplomb::log_survey
