#include "log_text/bars.h"

#include <array>

#include "core/text.h"
#include "log_text/keys.h"
#include "log_text/number.h"
#include "log_text/words.h"

namespace aplomb::log_text {
namespace {

struct Cursor {
  std::string_view text;
  std::size_t at = 0;

  void blanks() {
    while (at < text.size() && text[at] == ' ') ++at;
  }
  bool take(char c) {
    if (at >= text.size() || text[at] != c) return false;
    ++at;
    return true;
  }
  /// A whole number; nothing where it carries a unit (`1.68G`).
  std::optional<double> count() {
    const Scanned found = scan_number(text.data(), text.data() + at, text.data() + text.size());
    if (found.size == 0) return std::nullopt;
    at += found.size;
    return found.value;
  }
};

/// `4.47s/it`, `2.31it/s`, `?it/s`; the seconds for one, and whether it counts steps or, as
/// `6.1img/s` does, samples.
void read_rate(std::string_view rate, Bar& bar) {
  rate = core::trim(rate);
  const Scanned found = scan_number(rate);
  const std::string_view unit = rate.substr(rate.starts_with('?') ? 1 : found.size);
  static constexpr std::array<std::string_view, 6> k_per = {"it",   "step",  "steps",
                                                            "iter", "batch", "ba"};
  for (const std::string_view per : k_per) {
    const bool slow = unit.starts_with("s/") && unit.substr(2) == per;
    const bool fast = unit.ends_with("/s") && unit.substr(0, unit.size() - 2) == per;
    if (!slow && !fast) continue;
    bar.counts_steps = true;
    if (found.size > 0 && found.value > 0) bar.seconds = slow ? found.value : 1 / found.value;
  }
  static constexpr std::array<std::string_view, 9> k_samples = {
      "img", "imgs", "image", "images", "sample", "samples", "ex", "seq", "seqs"};
  if (unit.ends_with("/s")) bar.counts_samples = one_of(unit.substr(0, unit.size() - 2), k_samples);
}

}  // namespace

std::optional<Bar> find_bar(std::string_view line) {
  const std::size_t percent = line.find("%|");
  if (percent == std::string_view::npos) return std::nullopt;
  const std::size_t close = line.find('|', percent + 2);
  if (close == std::string_view::npos) return std::nullopt;
  Cursor cursor{line, close + 1};
  cursor.blanks();
  const auto count = cursor.count();
  if (!count || !cursor.take('/')) return std::nullopt;
  const auto total = cursor.count();
  if (!total) return std::nullopt;
  cursor.blanks();
  if (!cursor.take('[')) return std::nullopt;
  Bar bar;
  bar.count = *count;
  bar.total = *total;
  std::size_t head = percent;
  while (head > 0 && ((line[head - 1] >= '0' && line[head - 1] <= '9') || line[head - 1] == '.'))
    --head;
  bar.before = core::trim(line.substr(0, head));
  std::size_t end = cursor.at;
  for (int depth = 1; end < line.size(); ++end) {
    if (line[end] == '[') ++depth;
    if (line[end] == ']' && --depth == 0) break;
  }
  const std::string_view inside = line.substr(cursor.at, end - cursor.at);
  if (end < line.size()) bar.after = line.substr(end + 1);
  if (const std::size_t comma = inside.find(','); comma != std::string_view::npos) {
    const std::size_t second = inside.find(',', comma + 1);
    read_rate(inside.substr(comma + 1, second == std::string_view::npos ? std::string_view::npos
                                                                        : second - comma - 1),
              bar);
    if (second != std::string_view::npos) bar.postfix = inside.substr(second + 1);
  }
  return bar;
}

bool BarTracker::is_training(const Bar& bar) {
  // A bar over samples may be drawn by anything; one that carries a loss is that of training.
  const bool trains = bar.counts_samples && core::icontains(bar.postfix, "loss");
  if (!(bar.counts_steps || trains) || !(bar.total > 0)) return false;
  bool says_training = bar.before.empty();
  for (const std::string& word : key_words(bar.before)) {
    if (is_eval_word(word)) return false;
    says_training = says_training || is_train_word(word) || word == "epoch" || word == "epochs" ||
                    word == "step" || word == "steps" || word == "iter" || word == "iteration" ||
                    word == "loss";
  }
  if (!says_training) return false;
  if (std::isnan(total_)) total_ = bar.total;
  if (bar.total == total_ || !bar.before.empty()) {
    moved_ = true;
    return true;
  }
  other_total_ = bar.total;
  other_count_ = bar.count;
  other_moved_ = bar.count > 0;
  return false;
}

std::optional<double> BarTracker::change_hands() {
  const bool changed = other_moved_ && !moved_;
  moved_ = false;
  other_moved_ = false;
  if (!changed) return std::nullopt;
  total_ = other_total_;
  moved_ = true;
  return other_count_;
}

}  // namespace aplomb::log_text
