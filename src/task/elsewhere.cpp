#include "task/elsewhere.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/value.h"
#include "task/metric_words.h"

namespace aplomb::task {
namespace {

constexpr std::size_t k_once = 2;      // samples of a score that is printed at the end
constexpr std::size_t k_followed = 3;  // and of one that was followed all along
constexpr double k_share_lost = 0.15;  // of 1
constexpr double k_times = 1.6;        // of a loss
constexpr double k_nearly_all = 0.9;   // of a score of training; judgement, as is the next
constexpr double k_nearly_none = 0.1;
constexpr double k_least_loss = 0.1;  // beyond noise of a loss that is next to nothing

/// Scores of which more is better, between 0 and 1 (or in percent).
constexpr std::array<std::string_view, 12> k_shares = {"auc",  "accuracy", "acc",    "f1",
                                                       "r2",   "auroc",    "recall", "precision",
                                                       "dice", "iou",      "miou",   "jaccard"};

/// The words of a metric without those that say which data.
std::string core_of(const record::Series& series) {
  std::string name;
  for (const std::string& word : name_words(series.raw_name)) {
    if (is_data_word(word)) continue;
    name += (name.empty() ? "" : " ") + (word == "acc" ? std::string("accuracy") : word);
  }
  return name;
}

bool is_of_training(const std::string& raw_name) {
  const std::vector<std::string> words = name_words(raw_name);
  return std::any_of(words.begin(), words.end(),
                     [](const std::string& word) { return word == "train" || word == "training"; });
}

bool is_share(const std::string& name) {
  return std::any_of(k_shares.begin(), k_shares.end(),
                     [&](std::string_view word) { return name == word; });
}

double share_of(double value) { return value > 1 && value <= 100 ? value / 100 : value; }

/// How much is lost, for comparing; 0 where it is not worse.
double loss_between(const Elsewhere& pair) {
  if (pair.is_loss) {
    const bool worse = pair.elsewhere > k_times * pair.held_out && pair.elsewhere > k_least_loss;
    return worse ? pair.elsewhere - pair.held_out : 0;
  }
  const double lost = share_of(pair.held_out) - share_of(pair.elsewhere);
  return lost >= k_share_lost ? 10 + lost : 0;
}

/// What a line behind the last held-out scores says of other data (src/log_text/split_scores.h).
std::optional<Elsewhere> told_elsewhere(const record::Run& run) {
  for (const record::Event& event : run.events) {
    if (event.kind != "score-elsewhere") continue;
    const auto number = [&](const char* key) {
      const auto found = event.caught.find(key);
      const double* value = found == event.caught.end() ? nullptr : core::as_number(found->second);
      return value == nullptr ? 0.0 : *value;
    };
    const auto name = event.caught.find("name_text");
    const std::string* text = name == event.caught.end() ? nullptr : core::as_text(name->second);
    return Elsewhere{text == nullptr ? "score" : *text, number("held_out"), number("elsewhere"),
                     number("is_loss") > 0, event.origin};
  }
  return std::nullopt;
}

/// Whether a series is printed once or twice, and not as what was best or the mean of training.
bool is_late(const record::Series& series) {
  return !series.empty() && series.count <= k_once && !metric_words(series.raw_name).extreme &&
         !is_of_training(series.raw_name);  // the mean over the run, as trainers end with it
}

/// The score beside the last one of `held_out`, where it is of the same name and was printed behind it.
std::optional<Elsewhere> paired(const record::Series& late, const record::Series& held_out,
                                const std::string& name, bool loss) {
  if (held_out.count < k_followed || held_out.source != late.source) return std::nullopt;
  if (!metric_words(held_out.raw_name).held_out || core_of(held_out) != name) return std::nullopt;
  const std::size_t last = held_out.size() - 1;
  if (late.offset.front() <= held_out.offset[last]) return std::nullopt;
  const Elsewhere pair{name, held_out.value[last], late.value.front(), loss, late.origin(0)};
  const bool finite = std::isfinite(pair.held_out) && std::isfinite(pair.elsewhere);
  return finite ? std::optional<Elsewhere>(pair) : std::nullopt;
}

}  // namespace

std::optional<Elsewhere> score_elsewhere(const record::Run& run) {
  std::optional<Elsewhere> worst;
  for (const record::Series& late : run.series) {
    if (!is_late(late)) continue;
    const std::string name = core_of(late);
    const bool loss = metric_words(late.raw_name).role == record::Role::loss || name == "loss";
    if (name.empty() || (!loss && !is_share(name))) continue;
    for (const record::Series& held_out : run.series) {
      const std::optional<Elsewhere> pair = paired(late, held_out, name, loss);
      if (pair && loss_between(*pair) > (worst ? loss_between(*worst) : 0)) worst = pair;
    }
  }
  return worst ? worst : told_elsewhere(run);
}

std::optional<Elsewhere> score_in_training_only(const record::Run& run) {
  for (const record::Series& held_out : run.series) {
    if (held_out.count < k_followed || !metric_words(held_out.raw_name).held_out) continue;
    const std::string name = core_of(held_out);
    if (!is_share(name) || held_out.value.back() > k_nearly_none) continue;
    for (const record::Series& training : run.series) {
      if (training.count < k_followed || !is_of_training(training.raw_name)) continue;
      const double reached = training.value.back();
      if (core_of(training) != name || reached < k_nearly_all || reached > 1) continue;
      return Elsewhere{name, held_out.value.back(), reached, false,
                       held_out.origin(held_out.size() - 1)};
    }
  }
  return std::nullopt;
}

}  // namespace aplomb::task
