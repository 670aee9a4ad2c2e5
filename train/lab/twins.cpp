#include "train/lab/twins.h"

#include "train/lab/lab_run.h"

namespace aplomb::train::lab {
namespace {

using Change = std::function<void(LabRun&)>;

void optimizers(std::vector<std::pair<std::string, Change>>& all) {
  for (const double factor : {0.5, 0.7, 1.5, 2.0}) {
    all.emplace_back("rate-x" + std::to_string(factor).substr(0, 3),
                     [factor](LabRun& lab) { lab.options.optim.learning_rate *= factor; });
  }
  all.emplace_back("no-warmup", [](LabRun& lab) { lab.options.optim.warmup_steps = 0; });
  all.emplace_back("long-warmup", [](LabRun& lab) { lab.options.optim.warmup_steps = 30; });
  all.emplace_back("constant-rate",
                   [](LabRun& lab) { lab.options.optim.lr_scheduler_type = "constant"; });
  all.emplace_back("linear-rate",
                   [](LabRun& lab) { lab.options.optim.lr_scheduler_type = "linear"; });
  all.emplace_back("rate-ends-at-tenth", [](LabRun& lab) { lab.options.optim.min_lr_ratio = 0.1; });
  all.emplace_back("beta2-0.95", [](LabRun& lab) { lab.options.optim.adam_beta2 = 0.95; });
  all.emplace_back("beta2-0.999", [](LabRun& lab) { lab.options.optim.adam_beta2 = 0.999; });
  all.emplace_back("decay-0.1", [](LabRun& lab) { lab.options.optim.weight_decay = 0.1; });
  all.emplace_back("unclipped", [](LabRun& lab) { lab.options.optim.max_grad_norm = 0; });
  all.emplace_back("clipped-at-0.5", [](LabRun& lab) { lab.options.optim.max_grad_norm = 0.5; });
}

void batches(std::vector<std::pair<std::string, Change>>& all) {
  all.emplace_back("batch-4", [](LabRun& lab) {
    lab.options.length.batch_size = lab.options.length.per_device_train_batch_size = 4;
  });
  all.emplace_back("batch-16", [](LabRun& lab) {
    lab.options.length.batch_size = lab.options.length.per_device_train_batch_size = 16;
  });
  all.emplace_back("accumulated",
                   [](LabRun& lab) { lab.options.length.per_device_train_batch_size = 2; });
  all.emplace_back("prompts-count", [](LabRun& lab) { lab.options.data.train_on_inputs = true; });
  all.emplace_back("often-evaluated", [](LabRun& lab) { lab.options.output.eval_step = 10; });
  all.emplace_back("never-evaluated", [](LabRun& lab) { lab.options.output.eval_step = 0; });
  all.emplace_back("resumed", [](LabRun& lab) { lab.restart_at = 60; });
}

void languages(std::vector<std::pair<std::string, Change>>& all) {
  all.emplace_back("harder-language", [](LabRun& lab) {
    lab.language.followers = 6;
    lab.language.grammars = 4;
  });
  all.emplace_back("many-words", [](LabRun& lab) { lab.language.words = 128; });
  all.emplace_back("long-sentences", [](LabRun& lab) { lab.language.sentence_words = 14; });
  all.emplace_back("some-noise", [](LabRun& lab) { lab.language.mixed_up = 0.1; });
  // A harmless spike: one batch in which a quarter of the labels is off.
  all.emplace_back("a-small-spike", [](LabRun& lab) {
    lab.hooks.batch = [](text::TokenBatch& batch, const Place& place) {
      if (!place.training || place.step != 70) return;
      for (std::size_t i = 0; i < batch.labels.size(); i += 4) {
        if (batch.labels[i] != text::k_ignored) batch.labels[i] = 'q';
      }
    };
  });
}

void models(std::vector<std::pair<std::string, Change>>& all) {
  all.emplace_back("bf16-products", [](LabRun& lab) {
    lab.options.precision.fp32 = false;
    lab.options.precision.bf16 = true;
    lab.how.compute = torch::kBFloat16;
  });
  all.emplace_back("fp16-scaled", [](LabRun& lab) {
    lab.options.precision.fp32 = false;
    lab.options.precision.fp16 = true;
    lab.how.compute = torch::kFloat16;
  });
  all.emplace_back("z-loss", [](LabRun& lab) { lab.how.z_loss = 1e-4; });
  all.emplace_back("wider", [](LabRun& lab) { lab.model.intermediate_size = 256; });
}

}  // namespace

const std::vector<Twin>& twins() {
  static const std::vector<Twin> roster = [] {
    std::vector<std::pair<std::string, Change>> changes = {{"as-it-is", [](LabRun&) {}}};
    optimizers(changes);
    batches(changes);
    languages(changes);
    models(changes);
    std::vector<Twin> all;
    // A twin is the change itself: nothing is broken, so both sides of a request are alike.
    for (auto& [name, change] : changes) {
      all.push_back({name, [change = change](const Request& request) {
                       LabRun lab(request.seed);
                       change(lab);
                       return run_lab(lab, request);
                     }});
    }
    for (Twin& each : rl_twins()) all.push_back(std::move(each));
    return all;
  }();
  return roster;
}

}  // namespace aplomb::train::lab
