/// Energy-based fine-tuning: alignment, diversity and the CFM loss against their healthy ranges.

#include <fmt/format.h>

#include "detectors/range_watch.h"

namespace aplomb::policy_detectors {
namespace {

constexpr double k_alignment =
    0.3;  // axolotl's training stability guide: healthy 0.3 to 0.9, should rise
constexpr double k_diversity = 1.0;  // axolotl's training stability guide: above 1.0 mode collapse
constexpr double k_cfm = 10.0;       // axolotl's training stability guide: below 10, should fall

const detectors::DetectorSpec& ebft_ranges_spec() {
  static const detectors::DetectorSpec spec{
      "ebft.ranges",
      {"ebft.alignment_low", "ebft.diversity_high", "ebft.cfm_high"},
      "EBFT metrics outside their healthy ranges",
      "Low alignment: features do not match; high diversity term: the samples have collapsed.",
      "ebft/alignment 0.12, 0.11, 0.09",
      {record::Role::alignment, record::Role::diversity, record::Role::cfm_loss},
      {{"alignment", k_alignment, "", 0, 1,
        "axolotl's training stability guide: healthy 0.3 to 0.9"},
       {"diversity", k_diversity, "", 0, 10,
        "axolotl's training stability guide: above 1.0 mode collapse"},
       {"cfm", k_cfm, "", 0, 1000, "axolotl's training stability guide: below 10"}},
      {"https://docs.axolotl.ai"}};
  return spec;
}

class EbftRangesDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return ebft_ranges_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    add_finite(frame, record::Role::alignment, alignment_);
    add_finite(frame, record::Role::diversity, diversity_);
    add_finite(frame, record::Role::cfm_loss, cfm_);
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    report(alignment_, "ebft.alignment_low", "alignment", false, context, out);
    report(diversity_, "ebft.diversity_high", "diversity", true, context, out);
    report(cfm_, "ebft.cfm_high", "cfm_loss", true, context, out);
  }

 private:
  static void report(const detectors::RangeWatch& watch, const char* id, const char* series,
                     bool high, const detectors::RunContext& context,
                     std::vector<detectors::Symptom>& out) {
    if (!watch.fires()) return;
    // On its way into the healthy range: a run starts outside of it.
    const double moved = watch.last().value - watch.first().value;
    const bool improving =
        watch.count() >= 5 && (high ? moved < -0.1 * std::fabs(watch.first().value)
                                    : moved > 0.1 * std::fabs(watch.first().value));
    const core::Severity severity = improving                 ? core::Severity::note
                                    : watch.lasting() && high ? core::Severity::unstable
                                                              : core::Severity::warning;
    detectors::Symptom symptom = detectors::describe_range(watch, id, series, severity);
    symptom.measures["improving"] = improving;
    symptom.summary =
        fmt::format("{} is {} at {}, outside its healthy range in {} of the records", series,
                    core::show_number(watch.last().value), at_step(context, watch.last().step),
                    detectors::percent(watch.share()));
    if (improving) symptom.summary += ", but on its way";
    out.push_back(std::move(symptom));
  }

  detectors::RangeWatch alignment_{detectors::RangeWatch::Side::below, k_alignment};
  detectors::RangeWatch diversity_{detectors::RangeWatch::Side::above, k_diversity};
  detectors::RangeWatch cfm_{detectors::RangeWatch::Side::above, k_cfm};
};

}  // namespace

std::unique_ptr<detectors::Detector> make_ebft_ranges_detector() {
  return std::make_unique<EbftRangesDetector>();
}

}  // namespace aplomb::policy_detectors
