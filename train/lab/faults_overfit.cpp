/// Runs that learn their data by heart.

#include "train/lab/fault_parts.h"

namespace aplomb::train::lab {
namespace {

constexpr const char* k_early =
    "the run is ended after three evaluations without a better one, and the best is its result";

/// Long enough to learn by heart, on texts with more than a few ways to go on.
void study(LabRun& lab) {
  lab.options.length.max_steps = 240;
  lab.options.optim.learning_rate = 4e-3;
  lab.language.words = 64;
  lab.language.followers = 8;
  lab.guard_patience = k_patience;
}

Fault make_study(FaultText text, Harm harm, std::function<void(LabRun&)> change) {
  Fault fault = make_fault(std::move(text), std::move(harm), GuardRole::avoids, k_early, {});
  fault.run = trained(study, std::move(change));
  return fault;
}

Fault many_epochs() {
  return make_study({"overfit.forty-epochs",
                     "forty passes over 48 samples",
                     {"overfit.too-many-epochs", "overfit.too-little-data"},
                     "passes and samples are two ends of one number"},
                    held_out_rises(), [](LabRun& lab) { lab.language.samples = 48; });
}

Fault little_data() {
  return make_study({"overfit.sixteen-samples",
                     "sixteen samples in all",
                     {"overfit.too-little-data", "overfit.too-many-epochs"},
                     "passes and samples are two ends of one number"},
                    held_out_rises(), [](LabRun& lab) { lab.language.samples = 16; });
}

/// The file has 320 rows, and 20 sentences.
Fault duplicates() {
  return make_study({"overfit.rows-repeated",
                     "each of twenty samples stands sixteen times in the file",
                     {"overfit.too-little-data", "overfit.too-many-epochs"},
                     "a repeated row is a pass more over the same text"},
                    held_out_rises(), [](LabRun& lab) {
                      lab.language.samples = 20;
                      lab.language.copies = 16;
                    });
}

/// The twin sees the same few samples as often, at a rate at which it does not yet know them.
Fault lr_memorises() {
  Fault fault =
      make_study({"overfit.lr-x10",
                  "ten times the rate on 40 samples: known by heart within a few passes",
                  {"overfit.lr-too-high", "overfit.too-little-data", "overfit.too-many-epochs"},
                  "a small set is needed for it to show"},
                 held_out_rises(), {});
  const auto gently = [](LabRun& lab) {
    study(lab);
    lab.language.samples = 40;
    lab.options.optim.learning_rate /= 10;
  };
  fault.run = trained(gently, [](LabRun& lab) { lab.options.optim.learning_rate *= 10; });
  return fault;
}

Fault eval_leak() {
  Fault fault =
      make_study({"overfit.eval-leak",
                  "the held-out samples are training samples",
                  {"overfit.eval-leak", "overfit.too-little-data", "overfit.too-many-epochs"},
                  "by heart it is learnt as well: the leak only hides it"},
                 at_end("the held-out loss says nothing"), [](LabRun& lab) {
                   lab.language.samples = 24;
                   lab.language.held_out = 24;
                   lab.language.leaks = true;
                 });
  fault.guard = GuardRole::nothing;
  fault.guard_because = "the held-out loss, by which it would act, is what is wrong";
  return fault;
}

Fault no_regularization() {
  return make_study(
      {"overfit.no-regularization",
       "a wider model without weight decay on 64 samples",
       {"overfit.low-regularization", "overfit.too-little-data", "overfit.too-many-epochs"},
       "what holds a model back and how much it sees are weighed against each other"},
      held_out_rises(), [](LabRun& lab) {
        lab.language.samples = 64;
        lab.options.optim.weight_decay = 0;
        lab.options.optim.lr_scheduler_type = "constant";
        lab.model.intermediate_size = 352;
      });
}

}  // namespace

void add_overfit_faults(std::vector<Fault>& roster) {
  for (auto make :
       {many_epochs, little_data, duplicates, lr_memorises, eval_leak, no_regularization}) {
    roster.push_back(make());
  }
}

}  // namespace aplomb::train::lab
