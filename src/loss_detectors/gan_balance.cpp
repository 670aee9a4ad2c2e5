/// An adversarial pair out of balance: the discriminator tells every sample apart, its loss goes to
/// 0 and the generator's grows, with a gradient that no longer says where to go. Losses that wander
/// against each other are how such a pair trains.

#include <fmt/format.h>

#include "detectors/kept.h"
#include "detectors/support.h"

namespace aplomb::loss_detectors {
namespace {

constexpr std::size_t k_least = 8;
/// At balance the discriminator's loss is 2 ln 2 = 1.386, or half of that where it is a mean.
/// A judge that guesses costs ln 2 on each half of its batch, 2 ln 2 where they are added.
constexpr double k_judge_least = 0.25;
constexpr double k_judge_most = 1.6;
constexpr double k_won = 0.1;
constexpr double k_grown = 1.5;  // x the generator's loss of the first quarter

const detectors::DetectorSpec& gan_balance_spec() {
  static const detectors::DetectorSpec spec{
      "gan.balance",
      {"gan.discriminator_wins", "gan.balanced"},
      "The discriminator's loss is at 0 while the generator's grows",
      "A judge that is always right gives a gradient that vanishes: the generator learns no more.",
      "d_loss 0.6, 0.1, 0.01, 0.002 beside g_loss 0.9, 3.1, 6.2, 8.8",
      {},
      {{"won", k_won, "nats", 1e-4, 1, "2 ln 2 at balance (arXiv:1406.2661); 0 where it is won"},
       {"grown", k_grown, "x", 1, 100, "benchmark here: pairs that train wander by less"}},
      {"https://arxiv.org/abs/1406.2661", "https://arxiv.org/abs/1701.04862"},
      false,
      {task::Part::discriminator, task::Part::generator}};
  return spec;
}

class GanBalanceDetector final : public detectors::Detector {
 public:
  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    add_finite(frame, task::Part::discriminator, judge_);
    add_finite(frame, task::Part::generator, maker_);
  }

  void finish(const detectors::RunContext&, std::vector<detectors::Symptom>& out) override {
    if (judge_.count() < k_least || maker_.count() < k_least) return;
    const double judge = judge_.median(0.6, 1);
    const double maker = maker_.median(0.6, 1);
    // A critic of the Wasserstein kind has losses of either sign.
    const bool critic = judge_.median(0, 1) < 0 || maker < 0;
    if (!critic && is_balanced()) out.push_back(balanced());
    if (critic || judge > k_won || maker < k_grown * maker_.median(0, 0.25) || maker < 2) return;
    detectors::Symptom symptom;
    symptom.id = "gan.discriminator_wins";
    symptom.severity = core::Severity::warning;
    symptom.series = "discriminator";
    symptom.first_step = judge_.front().step;
    symptom.last_step = judge_.back().step;
    symptom.measures["discriminator"] = judge;
    symptom.measures["generator"] = maker;
    symptom.summary = fmt::format(
        "the discriminator's loss is {} and the generator's {}: every sample is told apart",
        core::show_number(judge, 3), core::show_number(maker, 3));
    add_evidence(symptom, judge_.back().origin);
    add_evidence(symptom, maker_.back().origin);
    out.push_back(std::move(symptom));
  }

  const detectors::DetectorSpec& spec() const override { return gan_balance_spec(); }

 private:
  /// Neither side runs away: each stays within a factor of two of its first half, and the judge is
  /// neither always right nor always wrong.
  bool is_balanced() const {
    if (judge_.count() < 2 * k_least || maker_.count() < 2 * k_least) return false;
    const auto stays = [](const detectors::Kept& losses) {
      const double early = losses.median(0.2, 0.6);
      const double late = losses.median(0.6, 1);
      return early > 0 && late < 2 * early && late > 0.5 * early;
    };
    const double judge = judge_.median(0.6, 1);
    return stays(judge_) && stays(maker_) && judge > k_judge_least && judge < k_judge_most;
  }

  detectors::Symptom balanced() const {
    detectors::Symptom symptom;
    symptom.id = "gan.balanced";
    symptom.severity = core::Severity::note;
    symptom.series = "discriminator";
    symptom.first_step = judge_.front().step;
    symptom.last_step = judge_.back().step;
    symptom.measures["discriminator"] = judge_.median(0.6, 1);
    symptom.measures["generator"] = maker_.median(0.6, 1);
    symptom.summary = fmt::format(
        "discriminator at {}, generator at {}: neither runs away from the other",
        core::show_number(judge_.median(0.6, 1), 3), core::show_number(maker_.median(0.6, 1), 3));
    add_evidence(symptom, judge_.front().origin);
    add_evidence(symptom, judge_.back().origin);
    return symptom;
  }

  detectors::Kept judge_;
  detectors::Kept maker_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_gan_balance_detector() {
  return std::make_unique<GanBalanceDetector>();
}

}  // namespace aplomb::loss_detectors
