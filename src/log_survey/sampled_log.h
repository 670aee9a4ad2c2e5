#pragma once
/// SampledLog: the parts of a large log that tell the most, as a stream. LineSurvey looks at every
/// line and picks; what it picked is then read in full. Line numbers, offsets and, of the commonest
/// records, counts stay those of the whole log (ByteStream::gap()).
///
///     auto log = SampledLog::open(path, 16 << 20);      // null: small enough, packed, or no file
///     reader.read(*log, build, source);
///     log->account()                                    // what was read, for the report
///
/// Costs one pass over the file at about memory speed, and the reading of `most_bytes`.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "input/byte_stream.h"
#include "log_survey/line_survey.h"

namespace aplomb::log_survey {

class SampledLog final : public input::ByteStream {
 public:
  /// Null where the whole is not larger than `most_bytes`, or cannot be sampled: packed, UTF-16, no
  /// regular file.
  static std::unique_ptr<SampledLog> open(const std::string& path, std::uint64_t most_bytes);
  ~SampledLog() override;

  std::string_view next() override;
  const std::string& broken() const override { return broken_; }
  std::uint64_t consumed() const override { return at_; }
  input::Gap gap() const override { return gap_; }

  /// One sentence: how much of how much was read, and how it was chosen.
  std::string account() const;
  /// Whether lines with words of failure were too many to be read.
  bool left_serious() const { return tally_.serious_left > 0; }

 private:
  SampledLog(int descriptor, std::uint64_t size) : descriptor_(descriptor), size_(size) {}
  void survey(std::uint64_t most_bytes);
  std::size_t read_at(std::uint64_t offset, char* into, std::size_t size);

  int descriptor_;
  std::uint64_t size_;
  std::vector<Pick> picks_;
  LineSurvey::Tally tally_;
  std::uint64_t picked_bytes_ = 0;
  std::size_t pick_ = 0;
  std::uint64_t at_ = 0;  ///< the next byte that is given
  std::uint64_t records_ = 0;
  input::Gap gap_;
  std::vector<char> buffer_;
  std::string broken_;
};

}  // namespace aplomb::log_survey
