#pragma once
/// StageTags: the tag at the head of a program's lines, in brackets, before a bar, in front of the
/// step or under `phase`, where it changes for good: `[pretrain] epoch 2 loss 0.05`, then only `[adapt]
/// epoch 0 loss 6.8`; or the trainer that prints records (supervised, then of preferences). One event `stage-begins` at each such change. Tags that come back (`[train]`, `[val]`) are no stages. O(1) memory.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/run_builder.h"

namespace aplomb::log_text {

class StageTags {
 public:
  static constexpr std::size_t k_most_tags = 16;

  void line(std::string_view text, std::uint64_t number, std::uint64_t offset);
  void finish(record::RunBuilder& build, record::SourceId source) const;

 private:
  struct Tag {
    std::string name;
    std::string text;
    std::uint64_t first_number = 0;
    std::uint64_t first_offset = 0;
    std::uint64_t last_number = 0;
    std::uint64_t lines = 0;
  };
  std::vector<Tag> tags_;
  bool crowded_ = false;  ///< more tags than a run has stages
};

}  // namespace aplomb::log_text
