#include "record/score_course.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace aplomb::record {
namespace {

// Judgement in view of a handful of outsiders' logs, not measured apart; there are no published bounds.
// The error of a share of n answers is at most 1 / (2 sqrt(n)): a tenth is two sigma of a hundred.
constexpr double k_none = 0.02;           // of 1: one answer of fifty
constexpr double k_lost = 0.1;            // of 1, between the first and the last
constexpr double k_lost_ratio = 0.15;     // of the first value, where there is no scale
constexpr double k_unmoved = 0.05;        // of the first value
constexpr double k_unmoved_error = 0.12;  // an error that falls by less
constexpr double k_good = 0.85;           // of 1: what is nearly all right need not move

/// A name that ends in @ has a number behind it: `recall@10`, `hr@k`.
constexpr std::array<ScoreName, 66> k_names = {{{"exact match", true}, {"exact_match", true},
                                                {"exact", true},       {"em", true},
                                                {"accuracy", true},    {"acc", true},
                                                {"f1", true},          {"macro f1", true},
                                                {"bleu", true},        {"chrf", true},
                                                {"rouge", true},       {"rouge-l", true},
                                                {"rougel", true},      {"win rate", true},
                                                {"win_rate", true},    {"success rate", true},
                                                {"success", true},     {"solved", true},
                                                {"pass@", true},       {"pass rate", true},
                                                {"mean score", true},  {"avg score", true},
                                                {"judge score", true}, {"judge", true},
                                                {"score", true},       {"recall", true},
                                                {"precision", true},   {"auc", true},
                                                {"auroc", true},       {"iou", true},
                                                {"miou", true},        {"correct", true},
                                                {"right", true},       {"recall@", true},
                                                {"precision@", true},  {"r@", true},
                                                {"mrr", true},         {"mrr@", true},
                                                {"hr@", true},         {"hit@", true},
                                                {"hits@", true},       {"hit rate", true},
                                                {"hit_rate", true},    {"ndcg", true},
                                                {"ndcg@", true},       {"map@", true},
                                                {"acc@", true},        {"psnr", true},
                                                {"ssim", true},        {"mcc", true},
                                                {"dsc", true},         {"inception score", true},
                                                {"wer", false},        {"cer", false},
                                                {"fid", false},        {"kid", false},
                                                {"mmd", false},        {"swd", false},
                                                {"lpips", false},      {"frechet", false},
                                                {"ppl", false},        {"perplexity", false},
                                                {"error rate", false}, {"mae", false},
                                                {"rmse", false},       {"edit distance", false}}};

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '@';
}

/// The place of `word` as a word of its own.
std::size_t find_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !is_name_char(text[at - 1]);
    std::size_t end = at + word.size();
    if (word.back() == '@') {
      const std::size_t number = end;
      while (end < text.size() && ((text[end] >= '0' && text[end] <= '9') || text[end] == 'k'))
        ++end;
      if (end == number) continue;
    }
    if (begins && (end >= text.size() || !is_name_char(text[end]))) return at;
  }
  return std::string_view::npos;
}

}  // namespace

FoundScore first_score_name(std::string_view text) {
  FoundScore found;
  for (const ScoreName& each : k_names) {
    const std::size_t place = find_word(text, each.word);
    if (place == std::string_view::npos) continue;
    const bool sooner = found.name == nullptr || place < found.at ||
                        (place == found.at && each.word.size() > found.name->word.size());
    if (sooner) found = {&each, place};
  }
  return found;
}

void ScoreCourse::add(double value) {
  if (count == 0) first = best = value;
  last = value;
  best = more_is_better ? std::max(best, value) : std::min(best, value);
  ++count;
}

const char* ScoreCourse::judged() const {
  const bool up = more_is_better;
  if (up && share && best <= k_none && (count >= 2 || ends)) return "score-none";
  if (count < 2) return nullptr;
  const double lost = up ? first - last : last - first;
  const double needed = up && share ? k_lost : k_lost_ratio * std::fabs(first);
  if (lost > 0 && lost >= needed) return "score-worse";
  if (up && share && first >= k_good) return nullptr;
  const double gained = up ? best - first : first - best;
  const double little = (up ? k_unmoved : k_unmoved_error) * std::fabs(first);
  return ends && gained <= little && first != 0 ? "score-unmoved" : nullptr;
}

}  // namespace aplomb::record
