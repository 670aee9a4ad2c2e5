/// Which known schedule the logged learning rate follows, and what that schedule was made for: its
/// warm-up, the steps that it spans. A schedule that is stepped with each batch where passes were
/// meant, or made for a tenth of the run, shows as numbers here.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <set>

#include "detectors/kept.h"
#include "detectors/support.h"

namespace aplomb::gradient_detectors {
namespace {

constexpr std::size_t k_least = 6;
constexpr double k_fits = 0.012;  // of the peak: four printed digits, and steps counted from 0 or 1
constexpr double k_gone = 1e-4;   // of the peak: such steps do nothing
// Judgement in view of one run whose milestones were stepped with each batch.
constexpr double k_rest = 0.02;        // of the peak: what schedules end at, not what they train at
constexpr double k_rest_share = 0.85;  // of the records
constexpr double k_gone_share = 0.25;  // of the records; linear and cosine ends are there for 1 %
constexpr double k_back = 1.5;         // from one record to the next, after it had fallen
constexpr double k_same = 0.006;       // three printed digits
constexpr double k_had_fallen = 0.7;   // of the peak

const detectors::DetectorSpec& lr_shape_spec() {
  static const detectors::DetectorSpec spec{
      "lr.shape",
      {"lr.shape", "lr.vanishes", "lr.restarts", "resume.lr_again"},
      "Which schedule the learning rate follows, and how many steps it was made for",
      "A schedule that is stepped in the wrong unit is at its end while the run has hardly begun.",
      "lr 1e-3, 1e-4, 1e-5, 1e-6 at steps 10, 20, 30, 40: an exponential that counts batches",
      {record::Role::lr},
      {{"fits", k_fits, "fraction", 1e-4, 0.1, "digits that trainers print"},
       {"gone", k_gone, "fraction", 1e-9, 0.1,
        "benchmark here: sound schedules end at a tenth of the peak, or pass below 1e-4 of it in "
        "their last hundredth"},
       {"gone_share", k_gone_share, "fraction", 0.05, 1,
        "'lr 0 on more than 20 % of records', as real runs were sorted"}},
      {"https://arxiv.org/abs/1608.03983", "https://arxiv.org/abs/1706.02677"}};
  return spec;
}

struct Shape {
  std::string name;
  double total = 0;   ///< steps from the peak to the end of the schedule; 0 where it has none
  double factor = 0;  ///< of a step or exponential schedule: x each `every` steps
  double every = 0;
};

/// The part of a schedule behind its peak, as (steps since the peak, share of the peak).
struct Fall {
  std::vector<double> at;
  std::vector<double> share;
};

template <typename Curve>
bool fits(const Fall& fall, const Curve& curve) {
  for (std::size_t i = 0; i < fall.at.size(); ++i) {
    if (std::fabs(curve(fall.at[i]) - fall.share[i]) > k_fits) return false;
  }
  return true;
}

std::optional<Shape> constant(const Fall& fall) {
  if (!fits(fall, [](double) { return 1.0; })) return std::nullopt;
  return Shape{"constant", 0, 0, 0};
}

/// From the last sample that lies clear of both ends.
std::optional<double> clear_place(const Fall& fall, double& share) {
  for (std::size_t i = fall.at.size(); i-- > 0;) {
    if (fall.share[i] < 0.97 && fall.share[i] > 0.03) {
      share = fall.share[i];
      return fall.at[i];
    }
  }
  return std::nullopt;
}

std::optional<Shape> linear(const Fall& fall) {
  double share = 0;
  const auto at = clear_place(fall, share);
  if (!at) return std::nullopt;
  const double total = *at / (1 - share);
  if (!fits(fall, [&](double t) { return std::max(0.0, 1 - t / total); })) return std::nullopt;
  return Shape{"linear", total, 0, 0};
}

std::optional<Shape> cosine(const Fall& fall) {
  double share = 0;
  const auto at = clear_place(fall, share);
  if (!at) return std::nullopt;
  const double total = std::numbers::pi * *at / std::acos(2 * share - 1);
  const auto curve = [&](double t) {
    return t >= total ? 0.0 : 0.5 * (1 + std::cos(std::numbers::pi * t / total));
  };
  if (!fits(fall, curve)) return std::nullopt;
  return Shape{"cosine", total, 0, 0};
}

std::optional<Shape> exponential(const Fall& fall) {
  double share = 0;
  const auto at = clear_place(fall, share);
  if (!at || *at <= 0) return std::nullopt;
  const double rate = std::log(share) / *at;
  for (std::size_t i = 0; i < fall.at.size(); ++i) {
    if (fall.share[i] <= 0) continue;
    if (std::fabs(std::log(fall.share[i]) - rate * fall.at[i]) >
        0.03 + 0.02 * std::fabs(rate * fall.at[i]))
      return std::nullopt;
  }
  const double decade = std::log(0.1) / rate;
  return Shape{"exponential", 0, 0.1, decade};
}

std::optional<Shape> steps(const Fall& fall) {
  std::vector<double> edges;
  double factor = 0;
  for (std::size_t i = 1; i < fall.at.size(); ++i) {
    const double ratio = fall.share[i - 1] > 0 ? fall.share[i] / fall.share[i - 1] : 1;
    if (std::fabs(ratio - 1) < 1e-3) continue;
    if (ratio > 0.95 || ratio <= 0) return std::nullopt;
    factor = factor == 0 ? ratio : factor;
    edges.push_back(fall.at[i]);
  }
  if (edges.empty() || edges.size() * 3 > fall.at.size()) return std::nullopt;
  const double every = edges.size() > 1
                           ? (edges.back() - edges.front()) / static_cast<double>(edges.size() - 1)
                           : edges.front();
  return Shape{"step", 0, factor, every};
}

std::optional<Shape> inverse_root(const Fall& fall, double from) {
  if (from <= 0) return std::nullopt;
  if (!fits(fall, [&](double t) { return std::sqrt(from / (from + t)); })) return std::nullopt;
  return Shape{"inverse square root", 0, 0, 0};
}

class LrShapeDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return lr_shape_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext& context,
               std::vector<detectors::Symptom>&) override {
    const detectors::Reading* lr = finite_of(frame, record::Role::lr);
    if (lr == nullptr || lr->value < 0) return;
    const std::int64_t before = rates_.count() > 0 ? rates_.back().step : frame.step;
    const bool said = std::any_of(context.resumed_at.begin(), context.resumed_at.end(),
                                  [&](std::int64_t at) { return at > before && at <= frame.step; });
    if (rates_.count() > 0 && frame.segment != segment_) {
      rates_ = detectors::Kept();
      resumed_from_.reset();
    } else if (said) {
      earlier_ = rates_;
      resumed_from_ = before;
      after_ = detectors::Kept();
    }
    segment_ = frame.segment;
    rates_.add(sample_of(frame, *lr));
    if (resumed_from_) after_.add(rates_.back());
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    report_again(context, out);
    if (rates_.size() < k_least) return;
    std::size_t peak = 0;
    for (std::size_t i = 0; i < rates_.size(); ++i) {
      if (rates_[i].value > rates_[peak].value * (1 + 1e-6)) peak = i;
    }
    if (!(rates_[peak].value > 0)) return;
    report_gone(peak, context, out);
    report_restarts(peak, context, out);
    report_shape(peak, context, out);
  }

 private:
  detectors::Symptom about(const char* id, core::Severity severity, std::size_t from) const {
    detectors::Symptom symptom;
    symptom.id = id;
    symptom.severity = severity;
    symptom.series = "lr";
    symptom.first_step = rates_[from].step;
    symptom.last_step = rates_.back().step;
    symptom.measures["peak"] = peak_of();
    add_evidence(symptom, rates_[from].origin);
    add_evidence(symptom, rates_.back().origin);
    return symptom;
  }

  double peak_of() const {
    double peak = 0;
    for (const detectors::Sample& sample : rates_.samples()) peak = std::max(peak, sample.value);
    return peak;
  }

  /// Rates behind the resume are those of the run's beginning, that many steps before, and not what
  /// the rate had come to.
  bool equals_the_beginning(std::int64_t offset) const {
    std::size_t equal = 0;
    std::size_t moved = 0;
    std::size_t compared = 0;
    for (const detectors::Sample& sample : after_.samples()) {
      const std::int64_t step = sample.step - offset;
      for (const detectors::Sample& first : earlier_.samples()) {
        if (first.step != step) continue;
        ++compared;
        equal += std::fabs(first.value - sample.value) <= k_same * first.value ? 1 : 0;
        moved += std::fabs(first.value - earlier_.back().value) > k_fits * first.value ? 1 : 0;
      }
    }
    return compared >= 2 && equal == compared && moved > 0;
  }

  /// The rate was there at two places before the resume, with others between: a schedule that restarts.
  bool comes_back_by_itself(const detectors::Sample& behind) const {
    std::size_t stays = 0;
    bool there = false;
    for (const detectors::Sample& sample : rates_.samples()) {
      if (sample.step >= behind.step) break;
      const bool equal = std::fabs(sample.value - behind.value) <= k_same * behind.value;
      stays += equal && !there ? 1 : 0;
      there = equal;
    }
    return stays >= 2;
  }

  /// Behind a resume that the log tells: rates that are those of the run's beginning, step for step.
  void report_again(const detectors::RunContext& context,
                    std::vector<detectors::Symptom>& out) const {
    if (!resumed_from_ || after_.size() < 2 || earlier_.size() < 2) return;
    // The schedule begins at the last record before, or, where the checkpoint was older than that,
    // with the first record behind it.
    const std::int64_t aligned = after_.front().step - earlier_.front().step;
    if (!equals_the_beginning(*resumed_from_) && !equals_the_beginning(aligned)) return;
    if (comes_back_by_itself(after_.front())) return;
    detectors::Symptom symptom;
    symptom.id = "resume.lr_again";
    symptom.severity = core::Severity::warning;
    symptom.series = "lr";
    symptom.first_step = after_.front().step;
    symptom.last_step = after_.back().step;
    symptom.measures["before"] = earlier_.back().value;
    symptom.measures["after"] = after_.front().value;
    symptom.summary = fmt::format(
        "behind the resume at {} the learning rate is that of the run's beginning: {}, where it "
        "had "
        "come to {}",
        at_step(context, *resumed_from_), core::show_number(after_.front().value, 3),
        core::show_number(earlier_.back().value, 3));
    add_evidence(symptom, earlier_.front().origin);
    add_evidence(symptom, earlier_.back().origin);
    add_evidence(symptom, after_.front().origin);
    out.push_back(std::move(symptom));
  }

  /// Rates far below the peak from some record to the end.
  void report_gone(std::size_t peak, const detectors::RunContext& context,
                   std::vector<detectors::Symptom>& out) const {
    std::size_t from = rates_.size();
    while (from > peak + 1 && rates_[from - 1].value < k_gone * rates_[peak].value) --from;
    std::size_t gone = rates_.size() - from;
    double share = static_cast<double>(gone) / static_cast<double>(rates_.size());
    if (gone == 0) {  // a small rest, and nearly all of the run at it
      while (from > peak + 1 && rates_[from - 1].value < k_rest * rates_[peak].value) --from;
      gone = rates_.size() - from;
      share = static_cast<double>(gone) / static_cast<double>(rates_.size());
      if (share < k_rest_share) return;
    }
    // What is exactly 0 is told by lr.ends_early.
    if (gone < 3 || share < k_gone_share || rates_[from].value <= 0) return;
    detectors::Symptom symptom = about("lr.vanishes", core::Severity::warning, from);
    symptom.measures["share"] = share;
    symptom.measures["last"] = rates_.back().value;
    symptom.measures["from_step"] = static_cast<double>(rates_[from].step);
    symptom.summary = fmt::format(
        "learning rate falls from {} to {}: below a {} of its peak from {} on, {} of the records",
        core::show_number(rates_[peak].value, 3), core::show_number(rates_.back().value, 3),
        rates_[from].value < k_gone * rates_[peak].value ? "ten-thousandth" : "fiftieth",
        at_step(context, rates_[from].step), detectors::percent(share));
    out.push_back(std::move(symptom));
  }

  /// Two restarts or more at equal distances, or at distances that grow by one factor (SGDR,
  /// arXiv:1608.03983): made so.
  static bool is_regular(const std::vector<std::size_t>& back) {
    if (back.size() < 2) return false;
    std::size_t from = 0;
    std::optional<double> factor;
    double last = 0;
    double first = 0;
    for (const std::size_t at : back) {
      const auto length = static_cast<double>(at - from);
      if (first == 0) first = std::max(length, 1.0);
      if (last > 0) {
        const double grown = length / last;
        // A record more or less, as the restarts fall between two records; of the first cycle as well.
        const double slack = 1.5 / last + (factor ? *factor * 1.5 / first : 0);
        if (factor ? std::fabs(grown - *factor) > slack : grown < 1 - slack) return false;
        factor = factor.value_or(grown);
      }
      last = length;
      from = at;
    }
    return true;
  }

  void report_restarts(std::size_t peak, const detectors::RunContext& context,
                       std::vector<detectors::Symptom>& out) const {
    std::vector<std::size_t> back;
    double low = rates_[0].value;
    bool fell = false;
    for (std::size_t i = 1; i < rates_.size(); ++i) {
      const double before = rates_[i - 1].value;
      low = std::min(low, before);
      fell = fell || (i > 1 && before < rates_[i - 2].value);
      const bool jumps =
          rates_[i].value > k_back * before && rates_[i].value > k_had_fallen * rates_[peak].value;
      if (!jumps || !fell || before > k_had_fallen * rates_[peak].value) continue;
      back.push_back(i);
      fell = false;
    }
    if (back.empty()) return;
    detectors::Symptom symptom = about("lr.restarts", core::Severity::note, back.front());
    symptom.measures["count"] = static_cast<double>(back.size());
    symptom.measures["first_step"] = static_cast<double>(rates_[back.front()].step);
    symptom.measures["regular"] = is_regular(back);
    symptom.summary = fmt::format("learning rate comes back to its peak {} times, first at {}",
                                  back.size(), at_step(context, rates_[back.front()].step));
    out.push_back(std::move(symptom));
  }

  std::optional<Shape> shape_from(std::size_t peak) const {
    Fall fall;
    for (std::size_t i = peak; i < rates_.size(); ++i) {
      fall.at.push_back(static_cast<double>(rates_[i].step - rates_[peak].step));
      fall.share.push_back(rates_[i].value / rates_[peak].value);
    }
    if (fall.at.size() < 4) return std::nullopt;
    if (auto shape = constant(fall)) return shape;
    if (auto shape = linear(fall)) return shape;
    if (auto shape = cosine(fall)) return shape;
    if (auto shape = steps(fall)) return shape;
    if (auto shape = exponential(fall)) return shape;
    return inverse_root(fall, static_cast<double>(rates_[peak].step));
  }

  void report_shape(std::size_t peak, const detectors::RunContext& context,
                    std::vector<detectors::Symptom>& out) const {
    // A rate that stays at its peak a while falls from the last of those records.
    std::size_t from = peak;
    while (from + 1 < rates_.size() && rates_[from + 1].value > rates_[peak].value * (1 - 1e-4))
      ++from;
    std::optional<Shape> shape = shape_from(peak);
    if (!shape && from > peak) shape = shape_from(from);
    if (!shape) return;
    detectors::Symptom symptom = about("lr.shape", core::Severity::note, 0);
    symptom.measures["name"] = shape->name;
    symptom.measures["warmup_steps"] = static_cast<double>(rates_[peak].step - rates_[0].step);
    symptom.measures["end_frac"] = rates_.back().value / rates_[peak].value;
    symptom.summary = fmt::format("learning rate is {}", shape->name);
    if (peak > 0)
      symptom.summary += fmt::format(" after a warm-up to {}", at_step(context, rates_[peak].step));
    const auto ran = static_cast<double>(rates_.back().step - rates_[peak].step);
    if (shape->total > 0) {
      const double total = shape->total + static_cast<double>(rates_[peak].step);
      symptom.measures["total_steps"] = total;
      symptom.measures["ran_frac"] = ran / shape->total;
      symptom.summary += fmt::format(", made for {:.0f} {}s", total, context.step_word());
      if (context.planned_steps) {
        symptom.measures["total_over_planned"] =
            total / static_cast<double>(*context.planned_steps);
      }
    }
    if (shape->every > 0) {
      symptom.measures["factor"] = shape->factor;
      symptom.measures["every_steps"] = shape->every;
      symptom.summary += fmt::format(", times {} each {} {}s", core::show_number(shape->factor, 3),
                                     core::show_number(shape->every, 3), context.step_word());
    }
    out.push_back(std::move(symptom));
  }

  detectors::Kept rates_;
  detectors::Kept earlier_;  ///< before the last resume
  detectors::Kept after_;
  std::optional<std::int64_t> resumed_from_;
  std::uint16_t segment_ = 0;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_lr_shape_detector() {
  return std::make_unique<LrShapeDetector>();
}

}  // namespace aplomb::gradient_detectors
