#include "detection/bank.h"

#include <algorithm>

#include "gradient_detectors/roster.h"
#include "loss_detectors/roster.h"
#include "policy_detectors/roster.h"
#include "run_detectors/roster.h"

namespace aplomb::detection {

std::vector<std::unique_ptr<detectors::Detector>> make_detectors() {
  std::vector<std::unique_ptr<detectors::Detector>> all;
#define APLOMB_MEMBER(slug) all.push_back(loss_detectors::make_##slug##_detector());
#include "loss_detectors/roster.def"
#undef APLOMB_MEMBER
#define APLOMB_MEMBER(slug) all.push_back(gradient_detectors::make_##slug##_detector());
#include "gradient_detectors/roster.def"
#undef APLOMB_MEMBER
#define APLOMB_MEMBER(slug) all.push_back(policy_detectors::make_##slug##_detector());
#include "policy_detectors/roster.def"
#undef APLOMB_MEMBER
#define APLOMB_MEMBER(slug) all.push_back(run_detectors::make_##slug##_detector());
#include "run_detectors/roster.def"
#undef APLOMB_MEMBER
  return all;
}

namespace {

static_assert(static_cast<unsigned>(record::Role::count_) <= 64,
              "roles are kept as bits of one word");

static_assert(static_cast<unsigned>(task::Part::count_) <= 64, "and so are parts");

constexpr std::uint64_t bit(record::Role role) {
  return std::uint64_t{1} << static_cast<unsigned>(role);
}

constexpr std::uint64_t bit(task::Part part) {
  return part == task::Part::none ? 0 : std::uint64_t{1} << static_cast<unsigned>(part);
}

/// Later reports replace earlier ones; `fresh` is empty afterwards.
void fold(std::vector<detectors::Symptom>& fresh, std::vector<detectors::Symptom>& symptoms) {
  for (detectors::Symptom& symptom : fresh) {
    const auto known =
        std::find_if(symptoms.begin(), symptoms.end(), [&](const detectors::Symptom& each) {
          return each.id == symptom.id && each.series == symptom.series;
        });
    if (symptom.summary.empty()) {
      if (known != symptoms.end()) symptoms.erase(known);
    } else if (known == symptoms.end()) {
      symptoms.push_back(std::move(symptom));
    } else {
      *known = std::move(symptom);
    }
  }
  fresh.clear();
}

}  // namespace

DetectorBank::DetectorBank(detectors::RunContext context)
    : context_(std::move(context)), detectors_(make_detectors()) {
  for (const auto& detector : detectors_) {
    std::uint64_t wanted = 0;
    for (const record::Role role : detector->spec().inputs) wanted |= bit(role);
    wants_.push_back(wanted);
    std::uint64_t parts = 0;
    for (const task::Part part : detector->spec().parts) parts |= bit(part);
    parts_.push_back(parts);
  }
}

/// What a detector of levels is sure of in the stage that ends stays; what it could only say over
/// the whole it says of the last stage alone, unless it is an alarm.
void DetectorBank::begin_stage() {
  std::vector<std::unique_ptr<detectors::Detector>> fresh = make_detectors();
  for (std::size_t i = 0; i < detectors_.size(); ++i) {
    if (!detectors_[i]->spec().per_stage) continue;
    std::vector<detectors::Symptom> ended;
    detectors_[i]->finish(context_, ended);
    for (detectors::Symptom& symptom : ended) {
      if (symptom.severity >= core::Severity::unstable) fresh_.push_back(std::move(symptom));
    }
    detectors_[i] = std::move(fresh[i]);
  }
  fold(fresh_, symptoms_);
}

namespace {

/// By the place in the artifact where both have one: counts of steps may begin anew.
bool is_behind(const detectors::Frame& frame, const task::Stage& stage) {
  for (const detectors::Reading& reading : frame.readings) {
    if (reading.origin.source == stage.origin.source && stage.origin.offset > 0 &&
        reading.origin.offset > 0)
      return reading.origin.offset >= stage.origin.offset;
  }
  return frame.step > stage.step;
}

}  // namespace

void DetectorBank::observe(const detectors::Frame& frame) {
  while (stage_ < context_.stages.size() && is_behind(frame, context_.stages[stage_])) {
    ++stage_;
    begin_stage();
  }
  std::uint64_t present = 0;
  std::uint64_t parts = 0;
  for (const detectors::Reading& reading : frame.readings) {
    present |= bit(reading.role);
    parts |= bit(reading.part);
  }
  for (std::size_t i = 0; i < detectors_.size(); ++i) {
    if ((wants_[i] & present) != 0 || (parts_[i] & parts) != 0)
      detectors_[i]->observe(frame, context_, fresh_);
  }
  if (!fresh_.empty()) fold(fresh_, symptoms_);
}

const std::vector<detectors::Symptom>& DetectorBank::so_far() {
  so_far_ = symptoms_;
  for (const auto& detector : detectors_) detector->interim(context_, fresh_);
  fold(fresh_, so_far_);
  return so_far_;
}

namespace {

/// Norms that still hold the loss scale are judged by nothing that their size says.
void leave_out_scaled_norms(std::vector<detectors::Symptom>& symptoms) {
  const auto is_told = [&](std::string_view id) {
    return std::any_of(symptoms.begin(), symptoms.end(), [&](const auto& e) { return e.id == id; });
  };
  if (!is_told("grad_norm.scaled")) return;
  constexpr std::string_view k_by_size[] = {
      "grad_norm.high",     "grad_norm.large",   "grad_norm.oscillating", "grad_norm.climb",
      "grad_norm.spike",    "grad_norm.jumping", "grad_norm.rising",      "grad_norm.leads",
      "grad_norm.piles_up", "clip.every_step"};
  std::erase_if(symptoms, [&](const detectors::Symptom& each) {
    return std::find(std::begin(k_by_size), std::end(k_by_size), each.id) != std::end(k_by_size);
  });
}

}  // namespace

std::vector<detectors::Symptom> DetectorBank::finish() {
  for (const auto& detector : detectors_) detector->finish(context_, fresh_);
  fold(fresh_, symptoms_);
  leave_out_scaled_norms(symptoms_);
  // Nobody calls a run healthy beside an alarm, whatever the one detector saw.
  const bool alarm =
      std::any_of(symptoms_.begin(), symptoms_.end(), [](const detectors::Symptom& symptom) {
        return symptom.severity >= core::Severity::unstable;
      });
  if (alarm)
    std::erase_if(symptoms_,
                  [](const detectors::Symptom& each) { return each.id == "run.healthy"; });
  std::stable_sort(symptoms_.begin(), symptoms_.end(),
                   [](const detectors::Symptom& a, const detectors::Symptom& b) {
                     if (a.severity != b.severity) return a.severity > b.severity;
                     return a.first_step < b.first_step;
                   });
  return symptoms_;
}

}  // namespace aplomb::detection
