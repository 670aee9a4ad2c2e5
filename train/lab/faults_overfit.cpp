/// Runs that learn their data by heart.

#include "train/lab/fault_parts.h"

namespace aplomb::train::lab {
namespace {

constexpr const char* k_sound = "every step is sound; there are too many of them";

/// Long enough to learn by heart, on texts with more than a few ways to go on.
void study(LabRun& lab) {
  lab.options.length.max_steps = 240;
  lab.options.optim.learning_rate = 4e-3;
  lab.language.words = 64;
  lab.language.followers = 8;
}

Fault make_study(FaultText text, Harm harm, std::function<void(LabRun&)> change) {
  Fault fault = make_fault(std::move(text), std::move(harm), GuardRole::nothing, k_sound, {});
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

Fault lr_memorises() {
  return make_study({"overfit.lr-x3",
                     "three times the rate on 40 samples: known by heart within a few passes",
                     {"overfit.lr-too-high", "overfit.too-little-data", "overfit.too-many-epochs"},
                     "a small set is needed for it to show"},
                    held_out_rises(), [](LabRun& lab) {
                      lab.language.samples = 40;
                      lab.options.optim.learning_rate *= 3;
                    });
}

Fault eval_leak() {
  return make_study({"overfit.eval-leak",
                     "the held-out samples are training samples",
                     {"overfit.eval-leak", "overfit.too-little-data", "overfit.too-many-epochs"},
                     "by heart it is learnt as well: the leak only hides it"},
                    at_end("the held-out loss says nothing"), [](LabRun& lab) {
                      lab.language.samples = 24;
                      lab.language.held_out = 24;
                      lab.language.leaks = true;
                    });
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
