/// Runs that are stopped and go on otherwise than they stopped.
///
/// Fault and twin are both resumed half-way; the twin puts everything back. None of the faults
/// announces itself: only what the records show is left to be seen. Moments that are lost are not
/// among them: the small language is learnt as well without, so that no harm is done.

#include <map>
#include <memory>

#include "train/lab/fault_parts.h"

namespace aplomb::train::lab {
namespace {

constexpr const char* k_once =
    "the state is lost before the first step; each step after it is what the state allows";

using Change = std::function<void(LabRun&)>;

Runner resumed(Change change) {
  return [change = std::move(change)](const Request& request) {
    LabRun lab(request.seed);
    lab.restart_at = lab.options.length.max_steps / 2;
    if (request.faulty) change(lab);
    return run_lab(lab, request);
  };
}

Fault make_resume_fault(FaultText text, Harm harm, Change change) {
  Fault fault = make_fault(std::move(text), std::move(harm), GuardRole::nothing, k_once, {});
  fault.run = resumed(std::move(change));
  return fault;
}

Fault schedule_anew() {
  return make_resume_fault(
      {"resume.schedule-anew",
       "the schedule begins again, with its warm-up",
       {"resume.scheduler-lost"}},
      at_end("the planned decay of the learning rate did not come"), [](LabRun& lab) {
        lab.hooks.restart = [](RestartParts parts) { parts.schedule_back = parts.step; };
      });
}

Fault data_anew() {
  return make_resume_fault(
      {"resume.data-from-start",
       "the data begin again with the first batch",
       {"resume.data-position-lost"}},
      at_end("samples already seen come again, others never"), [](LabRun& lab) {
        lab.hooks.restart = [](RestartParts parts) { (void)parts.data.seek({}); };
      });
}

/// Weights as they were at `step`, kept while the run passes it; 0: before the first one.
using Kept = std::map<std::string, at::Tensor>;

void keep_weights(LabRun& lab, std::int64_t step, const std::shared_ptr<Kept>& kept) {
  const auto keep = [kept](const std::vector<NamedTensor>& parameters) {
    for (const NamedTensor& each : parameters) (*kept)[each.name] = each.tensor.detach().clone();
  };
  if (step == 0) {
    lab.hooks.before_step = [keep, kept](const auto& parameters, const Place& place) {
      if (place.step == 1) keep(parameters);
    };
    return;
  }
  lab.hooks.after_step = [keep, step](const auto& parameters, const Place& place) {
    if (place.step == step) keep(parameters);
  };
}

void load_kept(LabRun& lab, std::int64_t step) {
  const auto kept = std::make_shared<Kept>();
  keep_weights(lab, step, kept);
  lab.hooks.restart = [kept](RestartParts parts) {
    const at::NoGradGuard no_grad;
    for (NamedTensor& each : parts.parameters) each.tensor.copy_(kept->at(each.name));
  };
}

Fault older_checkpoint() {
  return make_resume_fault({"resume.older-weights",
                            "the weights of an earlier checkpoint, all else of the latest",
                            {"resume.wrong-checkpoint-loaded"}},
                           above_twin(1.1), [](LabRun& lab) { load_kept(lab, 10); });
}

Fault keys_unmatched() {
  return make_resume_fault({"resume.initial-weights",
                            "no key of the checkpoint matches: the weights are as drawn",
                            {"resume.wrong-checkpoint-loaded"}},
                           above_twin(1.1), [](LabRun& lab) { load_kept(lab, 0); });
}

/// Weights and moments go on; step, schedule and data count from zero, and nothing is said of it.
Fault steps_anew() {
  return make_resume_fault({"resume.steps-from-zero",
                            "weights and moments are loaded, and the loop counts from zero",
                            {"resume.global-step-reset", "resume.scheduler-lost"},
                            "the schedule is a function of the step and starts again with it"},
                           at_end("half of the plan is run twice"), [](LabRun& lab) {
                             lab.hooks.restart = [](RestartParts parts) {
                               parts.schedule_back = parts.step;
                               (void)parts.data.seek({});
                             };
                             lab.hooks.logged = [](Trace& trace) {
                               const std::int64_t back =
                                   trace.resumed_at.empty() ? 0 : trace.resumed_at.front();
                               bool past = false;
                               for (Sample& each : trace.samples) {
                                 past = past || each.step > back;
                                 if (past) each.step -= back;
                               }
                               trace.resumed_at.clear();
                             };
                           });
}

}  // namespace

void add_resume_faults(std::vector<Fault>& roster) {
  for (auto make : {schedule_anew, data_anew, older_checkpoint, keys_unmatched, steps_anew}) {
    roster.push_back(make());
  }
}

}  // namespace aplomb::train::lab
