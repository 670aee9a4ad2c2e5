#pragma once
/// SignatureMatcher: finds the lines that matter in a text (errors, warnings that name a fault,
/// stack frames, what a user or a profiler says of a symptom) by the signatures of
/// knowledge/errors*.yaml, and turns them into Events with their numbers. One matcher per artifact;
/// it keeps what must be known across lines:
///   - a message that goes on over several lines becomes one Event;
///   - stack frames seen before an error tell it where it happened (`in_backward`, `in_eval`,
///   `at_save`);
///   - equal messages are counted (`times`), the first and the last are kept;
///   - tables that tools print (src/tool_tables) become Facts.
///
///     SignatureMatcher matcher;
///     while (...) matcher.line(line, number, offset, rank, build, source);
///     matcher.finish(build, source);     // the Events go into the Run here
///
/// Cost of a line without a hit: one pass of the literal filter (see literal_filter.h). Memory: at
/// most k_most_events Events. A line of any length is searched whole, but expressions see only the
/// k_window bytes around the literal.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "log_errors/signature_table.h"
#include "record/run_builder.h"
#include "tool_tables/text_table.h"

namespace aplomb::log_errors {

/// The places (`in_backward`, `in_logits` ...) that one frame of a stack tells of, by the signatures
/// of role `frame`; written as Python writes it: `File "train.py", line 88, in compute_loss`.
std::vector<std::string> places_of_frame(std::string_view frame);

class SignatureMatcher {
 public:
  static constexpr std::size_t k_most_events = 512;
  static constexpr std::size_t k_most_per_kind = 64;
  static constexpr std::size_t k_window = 8192;
  /// What users say stands in short texts; in a long log the words of a `symptom` signature are the
  /// trainer's own. So often one is tried, then no more.
  static constexpr std::uint32_t k_most_tries = 1000;
  /// So many lines may stand behind what counts at a log's end only: an interrupt and its trace.
  static constexpr std::uint64_t k_behind_the_end = 3;
  /// Longer texts are logs, not what a person wrote: the words of people's symptoms do not count.
  static constexpr std::uint64_t k_account_lines = 500;
  static constexpr std::uint64_t k_frame_reach =
      200;  ///< lines: a longer traceback than any seen in the casebook

  /// `rank` of the line's prefix (`[rank3]:`), -1 where it has none.
  void line(std::string_view line, std::uint64_t number, std::uint64_t offset, int rank,
            record::RunBuilder& build, record::SourceId source);
  void finish(record::RunBuilder& build, record::SourceId source);

 private:
  struct Hit {
    std::uint32_t owner = 0;
    std::size_t position = 0;
  };
  struct Kept {
    record::Event first;
    record::Event last;
    std::uint64_t times = 0;
    bool only_said = false;
    bool at_end = false;
  };
  struct Open {  ///< an event whose message may go on
    const Signature* signature = nullptr;
    record::Event event;
    unsigned lines_left = 0;
    std::string frame;        ///< of a stack: the place of the frame that was told last
    bool takes_code = false;  ///< the next line is its code, and becomes the place of the event
    bool has_own = false;     ///< one of the frames lay outside of libraries
  };
  struct Frame {
    std::string place;
    std::uint64_t line = 0;
    int rank = -1;
  };

  void continue_open(std::string_view line, int rank, std::uint64_t number, std::uint64_t offset);
  /// A line of the stack behind a message.
  static void follow_stack(std::string_view line, const record::Origin& at, Open& open);
  void try_signature(const Signature& signature, std::string_view window, record::Event event);
  void note_frame(const Signature& signature, const record::Event& at);
  void add_places(record::Event& event) const;
  void keep(const Signature& signature, record::Event event);

  std::vector<Hit> hits_;
  std::vector<std::uint32_t> tries_;  ///< by signature
  std::vector<Open> open_;
  std::vector<Frame> frames_;
  std::vector<Kept> kept_;
  std::unordered_map<std::string, std::size_t> by_key_;
  std::unordered_map<std::string, std::size_t> per_kind_;
  std::uint64_t lines_ = 0;
  tool_tables::TextTables tables_;
};

}  // namespace aplomb::log_errors
