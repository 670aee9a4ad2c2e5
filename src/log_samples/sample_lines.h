#pragma once
/// SampleLines: what the samples show that a program prints of its own model's output.
///
///     step 75 [48 new tokens] what about parking ? -> behind the house . have a nice day . have a
///     nice day . have a nice day . have a
///     0/6 finished before the 120 token limit
///     mean new tokens 40.0 of 40
///
///     Q: what is the capital of kenya ?               please explain bread ->
///     A:
///     expected: nairobi
///
///     {"gen_len": [24, 24, 24, 24], "max_new_tokens": 24}      continuation [37, 37, 37, 37, 37, 37, 37, 37]
///
/// Four events: `samples-never-end` (no sample ends before its limit), `samples-loop` (most of the
/// last samples say one phrase again and again up to their end) `samples-empty` (the answers say
/// nothing at all) and `samples-one-token` (what is written is one token again and again). O(1) memory.

#include <cstdint>
#include <string>
#include <string_view>

#include "record/run_builder.h"

namespace aplomb::log_samples {

class SampleLines {
 public:
  void line(std::string_view text, std::uint64_t number, std::uint64_t offset);
  void finish(record::RunBuilder& build, record::SourceId source) const;

 private:
  void note_finished(std::string_view text);
  void note_cut(std::string_view text);
  void note_new_tokens(std::string_view text);
  void note_sample_tokens(std::string_view text);
  void count_tokens(double count, std::string_view text);
  void note_answer(std::string_view text);
  void note_list(std::string_view text);

  struct Place {
    std::uint64_t number = 0;
    std::uint64_t offset = 0;
    std::string text;
  };

  void count_answer(bool empty, const Place& place);

  Place at_;                 ///< of the line that is looked at
  std::uint32_t loops_ = 0;  ///< lines that end in a phrase said again and again
  Place last_loop_;
  std::uint32_t answers_ = 0;        ///< with and without a word
  std::uint32_t empty_answers_ = 0;  ///< without one
  std::uint32_t empty_run_ = 0;      ///< of them, up to the last answer
  bool open_answer_ = false;         ///< a key of an answer with nothing behind it: text may follow
  Place open_place_;
  bool one_token_ = false;  ///< the last printed list of tokens is of one token
  Place one_token_place_;
  Place last_empty_;
  std::uint32_t none_ended_ = 0;  ///< lines that say that none of several samples ended
  std::uint32_t some_ended_ = 0;
  Place none_place_;
  std::uint32_t counts_ = 0;  ///< numbers of new tokens
  std::uint32_t equal_ = 0;   ///< of them those equal to the first
  bool whole_mean_ = false;   ///< a mean of new tokens that is a whole number
  double tokens_ = 0;
  Place tokens_place_;
};

}  // namespace aplomb::log_samples
