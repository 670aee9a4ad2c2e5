#include "log_text/pasted_metrics.h"

#include <algorithm>
#include <cstdint>

#include "core/letters.h"
#include "core/text.h"
#include "log_text/scanner.h"
#include "prose/claims.h"

namespace aplomb::log_text {
namespace {

using log_text::LogScanner;

constexpr std::uint64_t k_fewest_records = 3;  // fewer samples make no curve (diagnosis/weigh.cpp)

using core::is_digit;
using core::is_letter;

/// `epoch 3 train loss 0.51 val loss 0.62`, and not `the loss is 2.3 at step 100 and stays there`.
bool is_pasted(std::string_view line) {
  if (!prose::reads_like_prose(line, false)) return true;
  std::size_t words = 0;
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char before = i == 0 ? ' ' : line[i - 1];
    const bool inside = is_letter(before) || is_digit(before) || before == '.';
    if (is_letter(line[i]) && !is_letter(before)) ++words;
    if (is_digit(line[i]) && !inside) ++numbers;
  }
  constexpr std::size_t k_words_a_number = 2;  // a key is one word or two
  return numbers * k_words_a_number >= words;
}

std::uint64_t scan(std::string_view text, record::RunBuilder& build, record::SourceId source) {
  LogScanner scanner(text, build, source, LogScanner::Reading::metrics);
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number;
    if (is_pasted(line)) scanner.line({line, number, at, true});
    at = end + 1;
  }
  scanner.finish();
  return scanner.records();
}

}  // namespace

void read_pasted_metrics(std::string_view text, record::RunBuilder& build,
                         record::SourceId source) {
  record::Run trial;
  record::RunBuilder trial_build(trial);
  const record::SourceId only = trial_build.open({}, {}, text.size());
  if (scan(text, trial_build, only) >= k_fewest_records) scan(text, build, source);
}

}  // namespace aplomb::log_text
