#include "log_text/split_scores.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "core/text.h"
#include "log_text/number.h"

namespace aplomb::log_text {
namespace {

constexpr std::size_t k_longest_line = 400;
constexpr std::size_t k_most_after = 24;
constexpr std::uint64_t k_followed = 3;  // lines of held-out scores: one alone is no course
// Judgement over outsiders' logs in view, not measured apart; near the bounds of src/task/elsewhere.cpp, which
// compares series. Of a squared measure the factor is the square of the error's, rounded down.
constexpr double k_times = 1.5;
constexpr double k_times_squared = 2.0;
constexpr double k_least_loss = 0.05;
constexpr double k_share_lost = 0.15;  // of 1
constexpr std::size_t k_group = 3;     // as many values of one measure are a table of groups

enum class Kind : std::uint8_t { share, linear, squared };

struct Measure {
  std::string_view word;
  Kind kind;
};

constexpr std::array<Measure, 37> k_measures = {
    {{"acc", Kind::share},         {"accuracy", Kind::share},  {"auc", Kind::share},
     {"auroc", Kind::share},       {"f1", Kind::share},        {"r2", Kind::share},
     {"iou", Kind::share},         {"miou", Kind::share},      {"dice", Kind::share},
     {"recall", Kind::share},      {"precision", Kind::share}, {"exact", Kind::share},
     {"em", Kind::share},          {"spearman", Kind::share},  {"pearson", Kind::share},
     {"map", Kind::share},         {"mrr", Kind::share},       {"ndcg", Kind::share},
     {"mae", Kind::linear},        {"rmse", Kind::linear},     {"mape", Kind::linear},
     {"wer", Kind::linear},        {"cer", Kind::linear},      {"error", Kind::linear},
     {"err", Kind::linear},        {"eer", Kind::linear},      {"ppl", Kind::linear},
     {"perplexity", Kind::linear}, {"loss", Kind::squared},    {"mse", Kind::squared},
     {"nll", Kind::squared},       {"bce", Kind::squared},     {"ce", Kind::squared},
     {"xent", Kind::squared},      {"logloss", Kind::squared}, {"huber", Kind::squared},
     {"l1", Kind::linear}}};

constexpr std::array<std::string_view, 7> k_held_out = {"val",  "valid",      "validation", "dev",
                                                        "eval", "validating", "valset"};
constexpr std::array<std::string_view, 5> k_training = {"train", "training", "trn", "tr",
                                                        "trainset"};
/// Other data by their usual names.
constexpr std::array<std::string_view, 20> k_test = {
    "test",       "testing",  "holdout",     "hold",   "heldout",    "held",     "report",
    "production", "live",     "field",       "unseen", "deployment", "backtest", "oos",
    "acceptance", "external", "independent", "pilot",  "customers",  "fresh"};
/// A score of these is no score of the model on data like those of training, or none of this model.
constexpr std::array<std::string_view, 52> k_not_compared = {
    "baseline",       "naive",   "persistence", "majority", "chance",        "random",
    "constant",       "before",  "untrained",   "initial",  "start",         "teacher",
    "zero",           "ood",     "shifted",     "shift",    "corrupt",       "corrupted",
    "noise",          "noisy",   "adversarial", "attack",   "fgsm",          "pgd",
    "longer",         "longest", "length",      "lengths",  "extrapolation", "generalization",
    "generalisation", "floor",   "quantized",   "int8",     "int4",          "quantised",
    "pruned",         "class",   "worst",       "minority", "yesterday",     "reference",
    "hard",           "harder",  "few",         "shot",     "perturbed",     "masked",
    "dropped",        "target",  "fold",        "threshold"};

template <std::size_t N>
bool among(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

struct Score {
  const Measure* measure = nullptr;  ///< null: the bare word of a split, `val 0.16`
  bool held_out = false;
  bool training = false;
  bool test = false;
  bool not_compared = false;
  double value = 0;
};

const Measure* measure_named(std::string_view word) {
  const auto found = std::find_if(k_measures.begin(), k_measures.end(),
                                  [&](const Measure& each) { return each.word == word; });
  return found == k_measures.end() ? nullptr : &*found;
}

/// What a name says: `valid_auc`, `mse/holdout`, `val rmse`.
void add_word(Score& score, std::string_view word) {
  if (const Measure* measure = measure_named(word)) score.measure = measure;
  score.held_out = score.held_out || among(word, k_held_out);
  score.training = score.training || among(word, k_training);
  score.test = score.test || among(word, k_test);
  score.not_compared = score.not_compared || among(word, k_not_compared);
}

using core::is_digit;

/// The scores of a line in lower case: every number behind words that name a measure or a split. The words
/// of a split stay in force up to the next ones: `valid mse 0.05  MAE 0.7`.
class ScoresOfLine {
 public:
  explicit ScoresOfLine(std::string_view text) : text_(text) {}

  std::vector<Score> read() {
    for (std::size_t at = 0; at < text_.size();) {
      if (begins_number(at)) {
        at = number(at);
      } else {
        at = is_word(text_[at]) ? word(at) : at + 1;
      }
    }
    return std::move(scores_);
  }

 private:
  bool begins_number(std::size_t at) const {
    const bool sign = text_[at] == '-' && at + 1 < text_.size() && is_digit(text_[at + 1]);
    return (is_digit(text_[at]) || sign) && (at == 0 || !is_word(text_[at - 1]));
  }

  std::size_t word(std::size_t at) {
    std::size_t end = at;
    while (end < text_.size() && is_word(text_[end])) ++end;
    const std::string_view word = text_.substr(at, end - at);
    Score said;
    add_word(said, word);
    if (said.held_out || said.training || said.test) {
      scope_ = said;
      if (name_.measure == nullptr) name_ = {};
    }
    add_word(name_, word);
    named_ = true;
    return end;
  }

  std::size_t number(std::size_t at) {
    const Scanned found = scan_number(text_.substr(at));
    std::size_t end = at + std::max<std::size_t>(found.size, 1);
    const bool unit = end < text_.size() && is_word(text_[end]);
    if (found.size > 0 && named_ && !unit && std::isfinite(found.value)) {
      const bool percent = end < text_.size() && text_[end] == '%';
      keep(percent ? found.value / 100 : found.value);
    }
    while (end < text_.size() && is_word(text_[end])) ++end;
    name_ = {};
    named_ = false;
    return end;
  }

  void keep(double value) {
    Score score = name_;
    const bool of_none = !name_.held_out && !name_.training && !name_.test;
    score.held_out = name_.held_out || (of_none && scope_.held_out);
    score.training = name_.training || (of_none && scope_.training);
    score.test = name_.test || (of_none && scope_.test);
    score.not_compared = name_.not_compared || (scope_.not_compared && name_.measure == nullptr);
    score.value = value;
    if (score.measure != nullptr || score.held_out) scores_.push_back(score);
  }

  std::string_view text_;
  Score scope_;
  Score name_;
  bool named_ = false;
  std::vector<Score> scores_;
};

std::vector<Score> scores_of(std::string_view text) { return ScoresOfLine(text).read(); }

bool holds_split_word(std::string_view lower, bool (*is)(std::string_view)) {
  for (std::size_t at = 0; at < lower.size();) {
    while (at < lower.size() && !is_word(lower[at])) ++at;
    std::size_t end = at;
    while (end < lower.size() && is_word(lower[end])) ++end;
    if (end > at && is(lower.substr(at, end - at))) return true;
    at = end;
  }
  return false;
}

bool is_test(std::string_view word) { return among(word, k_test); }
bool is_not_compared(std::string_view word) { return among(word, k_not_compared); }

struct Pair {
  const Measure* measure = nullptr;
  double held_out = 0;
  double elsewhere = 0;
  std::size_t line = 0;
  bool test = false;
  double lost = 0;  ///< in multiples of what other data explain; below 1: not worse
};

double share_of(double value) { return value > 1 && value <= 100 ? value / 100 : value; }

double lost_of(Kind kind, double held_out, double elsewhere) {
  if (kind == Kind::share) return (share_of(held_out) - share_of(elsewhere)) / k_share_lost;
  if (!(held_out > 0) || elsewhere < k_least_loss) return 0;
  return elsewhere / held_out / (kind == Kind::squared ? k_times_squared : k_times);
}

}  // namespace

void SplitScores::line(std::string_view text, std::uint64_t number, std::uint64_t offset) {
  if (text.empty() || text.size() > 4096) return;
  const bool split = text.find("al") != text.npos || text.find("AL") != text.npos ||
                     text.find("dev") != text.npos || text.find("Dev") != text.npos;
  if (!split && held_out_lines_ < k_followed) return;
  if (!split && after_.size() >= k_most_after) return;
  if (text.find_first_of("0123456789") == text.npos) return;
  const std::string lower = core::lower(text.substr(0, k_longest_line));
  const std::vector<Score> scores = scores_of(lower);
  const bool held_out =
      std::any_of(scores.begin(), scores.end(),
                  [](const Score& score) { return score.held_out && !score.not_compared; }) &&
      !holds_split_word(lower, is_test);
  if (held_out) {
    ++held_out_lines_;
    held_out_ = {lower, number, offset};
    after_.clear();
  } else if (held_out_lines_ >= k_followed && !scores.empty() && after_.size() < k_most_after) {
    after_.push_back({std::string(text.substr(0, k_longest_line)), number, offset});
  }
}

namespace {

/// Scores of the lines behind the last held-out ones beside their counterparts there.
std::vector<Pair> pairs_of(std::string_view held_out_text, const std::vector<std::string>& after) {
  std::map<const Measure*, double> held_out;
  for (const Score& score : scores_of(held_out_text))
    if (score.held_out && !score.not_compared) held_out.emplace(score.measure, score.value);
  // `val 0.16` is the loss, whatever its formula.
  const auto counterpart = [&](const Measure* measure) {
    const auto known = held_out.find(measure);
    return known == held_out.end() && measure->kind == Kind::squared ? held_out.find(nullptr)
                                                                     : known;
  };
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const std::string lower = core::lower(after[i]);
    const bool test = holds_split_word(lower, is_test);
    if (!test && holds_split_word(lower, is_not_compared)) continue;
    for (const Score& score : scores_of(lower)) {
      const bool other = !score.held_out && !score.training && !score.not_compared;
      if (score.measure == nullptr || !other) continue;
      const auto known = counterpart(score.measure);
      if (known == held_out.end()) continue;
      pairs.push_back({score.measure, known->second, score.value, i, test,
                       lost_of(score.measure->kind, known->second, score.value)});
    }
  }
  return pairs;
}

/// A loss of no named data may be anything's, and several values of one measure are a table of groups.
bool is_worse(const Pair& pair, const std::vector<Pair>& pairs) {
  if (pair.lost < 1 || pair.test) return pair.lost >= 1;
  const auto same = std::count_if(pairs.begin(), pairs.end(),
                                  [&](const Pair& each) { return each.measure == pair.measure; });
  return pair.measure->word != "loss" && static_cast<std::size_t>(same) < k_group;
}

}  // namespace

void SplitScores::finish(record::RunBuilder& build, record::SourceId source) const {
  if (held_out_lines_ < k_followed || after_.empty()) return;
  std::vector<std::string> after;
  after.reserve(after_.size());
  for (const Place& place : after_) after.push_back(place.text);
  const std::vector<Pair> all = pairs_of(held_out_.text, after);
  const Pair* worst = nullptr;
  for (const Pair& pair : all)
    if (is_worse(pair, all) && (worst == nullptr || pair.lost > worst->lost)) worst = &pair;
  if (worst == nullptr) return;
  const Place& place = after_[worst->line];
  record::Event event;
  event.kind = "score-elsewhere";
  event.severity = core::Severity::note;
  event.text = std::string(core::trim(place.text).substr(0, 160));
  event.caught["name_text"] = std::string(worst->measure->word);
  event.caught["held_out"] = worst->held_out;
  event.caught["elsewhere"] = worst->elsewhere;
  event.caught["is_loss"] = worst->measure->kind == Kind::share ? 0.0 : 1.0;
  event.origin = {source, place.number, place.offset};
  build.event(std::move(event));
}

}  // namespace aplomb::log_text
