/// A gradient norm that rises for several records before the loss jumps: the warning came first, and
/// says from which checkpoint to go on. Where the log ends in such a rise the jump is still to come.

#include <fmt/format.h>

#include "core/median.h"
#include "detectors/kept.h"
#include "detectors/support.h"

namespace aplomb::gradient_detectors {
namespace {

constexpr std::size_t k_before = 20;  // records before the jump
constexpr std::size_t k_after = 3;
constexpr double k_jump = 1.5;  // x the loss before
constexpr double k_rise = 1.3;  // x the norm before
constexpr double k_sigmas = 4;
constexpr std::size_t k_lead = 3;   // records
constexpr std::size_t k_climb = 5;  // records in a row, each above the one before
constexpr double k_warned = 8;      // x the norm before

const detectors::DetectorSpec& grad_norm_leads_spec() {
  static const detectors::DetectorSpec spec{
      "grad_norm.leads",
      {"grad_norm.leads", "grad_norm.rising"},
      "The gradient norm rises for several records before the loss jumps or ceases to be finite, "
      "or "
      "is rising so at the end of the log",
      "The checkpoint to go on from lies before the rise, not before the jump.",
      "grad_norm 0.65, 0.66, 0.9, 2.3, 5.7, 14 while the loss stays at 1.4, then 6.4",
      {record::Role::loss, record::Role::grad_norm},
      {{"jump", k_jump, "x", 1.1, 100, "as large as no noise of a language model's loss"},
       {"rise", k_rise, "x", 1.05, 100,
        "arXiv:2309.14322: gradient norms rise some steps before a spike of the loss"},
       {"lead", static_cast<double>(k_lead), "records", 1, 100,
        "one large norm is that of the batch itself"},
       {"warned", k_warned, "x", 1.5, 1000,
        "benchmark here: no healthy real run ends in five rising norms beyond 8x its level"}},
      {"https://arxiv.org/abs/2309.14322"},
      true};
  return spec;
}

class GradNormLeadsDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return grad_norm_leads_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    const detectors::Reading* loss = reading_of(frame, record::Role::loss);
    const detectors::Reading* norm = reading_of(frame, record::Role::grad_norm);
    if (loss == nullptr || norm == nullptr || ended_) return;
    if (!std::isfinite(loss->value)) ended_ = true;
    losses_.add(sample_of(frame, *loss));
    norms_.add(sample_of(frame, *norm));
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    const std::size_t jump = jump_at();
    if (jump >= norms_.size()) warn_of_rise(context, out);
    if (jump < k_before || jump >= norms_.size()) return;
    const std::size_t from = rise_before(jump);
    if (from + k_lead > jump) return;
    const detectors::Sample& onset = norms_[from];
    const detectors::Sample& peak = norms_[jump - 1];
    detectors::Symptom symptom;
    symptom.id = "grad_norm.leads";
    symptom.severity = core::Severity::note;
    symptom.series = "grad_norm";
    symptom.first_step = onset.step;
    symptom.last_step = losses_[jump].step;
    symptom.measures["step"] = static_cast<double>(onset.step);
    symptom.measures["jump_step"] = static_cast<double>(losses_[jump].step);
    symptom.measures["lead"] = static_cast<double>(losses_[jump].step - onset.step);
    symptom.summary = fmt::format(
        "grad_norm rises from {} on ({} -> {}), {} before the loss {} at {}",
        at_step(context, onset.step), core::show_number(level_), core::show_number(peak.value),
        fmt::format("{} {}s", losses_[jump].step - onset.step, context.step_word()),
        std::isfinite(losses_[jump].value) ? "jumps" : "ceases to be finite",
        at_step(context, losses_[jump].step));
    add_evidence(symptom, onset.origin);
    add_evidence(symptom, peak.origin);
    add_evidence(symptom, losses_[jump].origin);
    out.push_back(std::move(symptom));
  }

 private:
  void warn_of_rise(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) {
    if (norms_.size() < 2 * k_before || context.reinforcement) return;
    const std::size_t from = rise_before(norms_.size());
    const detectors::Sample& last = norms_[norms_.size() - 1];
    if (from + k_climb > norms_.size() || level_ <= 0 || last.value < k_warned * level_) return;
    for (std::size_t i = norms_.size() - k_climb + 1; i < norms_.size(); ++i) {
      if (norms_[i].value <= norms_[i - 1].value) return;
    }
    detectors::Symptom symptom;
    symptom.id = "grad_norm.rising";
    symptom.severity = core::Severity::warning;
    symptom.series = "grad_norm";
    symptom.first_step = norms_[from].step;
    symptom.last_step = last.step;
    symptom.measures["step"] = static_cast<double>(norms_[from].step);
    symptom.measures["ratio"] = last.value / level_;
    symptom.summary = fmt::format(
        "grad_norm rises from {} on without a pause, {} -> {} ({:.0f}x): so it does before a loss "
        "jumps",
        at_step(context, norms_[from].step), core::show_number(level_),
        core::show_number(last.value), last.value / level_);
    add_evidence(symptom, norms_[from].origin);
    add_evidence(symptom, last.origin);
    out.push_back(std::move(symptom));
  }

  static double median_of(const detectors::Kept& kept, std::size_t from, std::size_t to) {
    std::vector<double> values;
    for (std::size_t i = from; i < to; ++i) values.push_back(kept[i].value);
    return core::upper_median(std::move(values));
  }

  /// The first loss from which three in a row are far above the median before it, or the first that
  /// is no number; none: size().
  std::size_t jump_at() const {
    for (std::size_t i = k_before; i < losses_.size(); ++i) {
      if (!std::isfinite(losses_[i].value)) return i;
      if (i + k_after > losses_.size()) continue;
      const double before = median_of(losses_, i - k_before / 2, i);
      bool stays = before > 0;
      for (std::size_t j = i; j < i + k_after && stays; ++j)
        stays = losses_[j].value > k_jump * before;
      if (stays) return i;
    }
    return losses_.size();
  }

  /// Where the unbroken rise that ends at the jump began.
  std::size_t rise_before(std::size_t jump) {
    const std::size_t begin = jump > 4 * k_before ? jump - 4 * k_before : 0;
    const std::size_t middle = begin + (jump - begin) / 2;
    level_ = median_of(norms_, begin, middle);
    std::vector<double> off;
    for (std::size_t i = begin; i < middle; ++i) off.push_back(std::fabs(norms_[i].value - level_));
    const double sigma = 1.48 * core::upper_median(std::move(off));  // of a normal deviation
    const double limit = std::max(k_rise * level_, level_ + k_sigmas * sigma);
    std::size_t from = jump;
    while (from > middle && norms_[from - 1].value > limit) --from;
    return from;
  }

  detectors::Kept losses_;
  detectors::Kept norms_;
  double level_ = 0;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_grad_norm_leads_detector() {
  return std::make_unique<GradNormLeadsDetector>();
}

}  // namespace aplomb::gradient_detectors
