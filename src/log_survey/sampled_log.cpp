#include "log_survey/sampled_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace aplomb::log_survey {
namespace {

constexpr std::size_t k_part_bytes = 256U << 10U;
constexpr std::size_t k_survey_bytes = 1U << 20U;
constexpr std::size_t k_head_bytes = 64U << 10U;

bool is_plain_text(std::string_view head) {
  for (const std::string_view magic : {"\x1f\x8b", "\x28\xb5\x2f\xfd", "\xff\xfe", "\xfe\xff"}) {
    if (head.starts_with(magic)) return false;
  }
  return head.find('\0') == std::string_view::npos;
}

/// Gives the lines of a buffer to the survey; what is left is the beginning of one.
class Feeder {
 public:
  explicit Feeder(LineSurvey& survey) : survey_(survey) {}

  /// How many bytes of `text` are done with. `last`: nothing follows.
  std::size_t feed(std::string_view text, bool last) {
    const bool has_cr = std::memchr(text.data(), '\r', text.size()) != nullptr;
    std::size_t at = 0;
    while (at < text.size()) {
      const void* const hit = std::memchr(text.data() + at, '\n', text.size() - at);
      if (hit == nullptr && !last) break;
      const std::size_t end =
          hit == nullptr ? text.size()
                         : static_cast<std::size_t>(static_cast<const char*>(hit) - text.data());
      const std::size_t after = hit == nullptr ? end : end + 1;
      line(text.substr(at, end - at), after - at, has_cr);
      if (hit != nullptr) ++line_;
      at = after;
    }
    return at;
  }
  /// Of a line that is longer than the buffer: the pieces between its carriage returns, or what is
  /// there. How many bytes are done with.
  std::size_t giant(std::string_view text) {
    const std::size_t cr = text.find_last_of('\r', text.size() - 2);
    const std::size_t done = cr == std::string_view::npos ? text.size() : cr + 1;
    line(text.substr(0, done), done, cr != std::string_view::npos);
    inside_ = true;
    return done;
  }

 private:
  void line(std::string_view text, std::size_t whole, bool has_cr) {
    bool inside = inside_;
    inside_ = false;
    while (has_cr) {
      const std::size_t cr = text.find('\r');
      if (cr == std::string_view::npos || cr + 1 == text.size()) break;  // "\r\n" is one end
      piece(text.substr(0, cr), cr + 1, inside);
      inside = true;
      text.remove_prefix(cr + 1);
      whole -= cr + 1;
    }
    piece(text, whole, inside);
  }
  void piece(std::string_view text, std::size_t whole, bool inside) {
    const std::uint64_t begin = at_;
    at_ += whole;
    if (!text.empty()) survey_.line(text, {begin, at_, line_, 0, 0, inside});
  }

  LineSurvey& survey_;
  std::uint64_t at_ = 0;
  std::uint64_t line_ = 0;
  bool inside_ = false;
};

}  // namespace

std::unique_ptr<SampledLog> SampledLog::open(const std::string& path, std::uint64_t most_bytes) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return nullptr;
  struct stat about{};
  const bool regular = ::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode);
  const auto size =
      static_cast<std::uint64_t>(regular ? std::max<decltype(about.st_size)>(about.st_size, 0) : 0);
  std::unique_ptr<SampledLog> log(
      new SampledLog(descriptor, size));  // NOLINT: a private constructor
  if (size <= most_bytes) return nullptr;
  log->buffer_.resize(k_survey_bytes);
  const std::size_t head = log->read_at(0, log->buffer_.data(), k_head_bytes);
  if (!is_plain_text({log->buffer_.data(), head})) return nullptr;
  log->survey(most_bytes);
  log->buffer_.resize(k_part_bytes);
  return log;
}

SampledLog::~SampledLog() { ::close(descriptor_); }

std::size_t SampledLog::read_at(std::uint64_t offset, char* into, std::size_t size) {
  std::size_t got = 0;
  while (got < size) {
    const ssize_t some =
        ::pread(descriptor_, into + got, size - got, static_cast<off_t>(offset + got));
    if (some > 0) {
      got += static_cast<std::size_t>(some);
    } else if (some == 0) {
      broken_ = fmt::format("[file] ended after {} of the {} bytes that it had when it was opened",
                            offset + got, size_);
      break;
    } else if (errno != EINTR) {
      broken_ = fmt::format("[file] reading stopped after {} bytes: {}", offset + got,
                            std::strerror(errno));
      break;
    }
  }
  return got;
}

void SampledLog::survey(std::uint64_t most_bytes) {
  ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
  LineSurvey survey({buffer_.data(), std::min<std::size_t>(size_, k_head_bytes)}, size_,
                    most_bytes);
  Feeder feeder(survey);
  std::size_t held = 0;
  for (std::uint64_t offset = 0; offset < size_ && broken_.empty();) {
    const auto room =
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer_.size() - held, size_ - offset));
    const std::size_t got = read_at(offset, buffer_.data() + held, room);
    offset += got;
    const std::string_view text(buffer_.data(), held + got);
    std::size_t done = feeder.feed(text, offset >= size_ || !broken_.empty());
    if (done == 0 && text.size() == buffer_.size()) done = feeder.giant(text);
    held = text.size() - done;
    std::memmove(buffer_.data(), buffer_.data() + done, held);
  }
  picks_ = survey.finish();
  tally_ = survey.tally();
  for (const Pick& pick : picks_) picked_bytes_ += pick.end - pick.begin;
}

std::string_view SampledLog::next() {
  gap_ = {};
  while (pick_ < picks_.size() && at_ >= picks_[pick_].end) {
    records_ = picks_[pick_].after;
    ++pick_;
  }
  if (pick_ == picks_.size() || !broken_.empty()) return {};
  const Pick& pick = picks_[pick_];
  if (at_ < pick.begin) {
    gap_ = {pick.begin - at_, pick.line, pick.inside, pick.before - records_};
    at_ = pick.begin;
  }
  const auto wanted =
      static_cast<std::size_t>(std::min<std::uint64_t>(pick.end - at_, buffer_.size()));
  const std::size_t got = read_at(at_, buffer_.data(), wanted);
  at_ += got;
  return {buffer_.data(), got};
}

std::string SampledLog::account() const {
  std::string text =
      fmt::format("[text-log] {:.1f} of {:.1f} MB were read (--max-read 0 reads all)",
                  static_cast<double>(picked_bytes_) * 1e-6, static_cast<double>(size_) * 1e-6);
  if (tally_.serious_left > 0)
    text += fmt::format("; {} lines that speak of failures were too many", tally_.serious_left);
  if (tally_.new_left > 0)
    text += fmt::format("; {} kinds of other lines were too many", tally_.new_left);
  text += fmt::format(
      "; of all lines that were looked at: the ends, stretches between, {} of {} records of "
      "metrics, "
      "the lowest, highest and non-finite values of each part, new kinds of lines, failures with "
      "the "
      "lines around",
      std::min(tally_.records_picked, tally_.records), tally_.records);
  return text;
}

}  // namespace aplomb::log_survey
