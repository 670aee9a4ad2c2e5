#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.h"
#include "facts/common_facts.h"

namespace aplomb::facts {
namespace {

/// Methods of `peft.method` that train weights of the model itself.
bool trains_weights(std::string_view method) {
  static constexpr std::array<std::string_view, 6> k_whole = {"full",   "none",  "freeze",
                                                              "galore", "badam", "llamapro"};
  return std::find(k_whole.begin(), k_whole.end(), method) != k_whole.end();
}

/// Whether an adapter trains in the place of the weights: it is named or measured, or the base is
/// in few bits, which no optimizer can move. A trainer whose option of the method says `full` may
/// state the rank of the adapter that it does not use.
void derive_adapter(FactView& view) {
  const std::string method = view.word("peft.method");
  const bool whole = trains_weights(method);
  const bool adapter = !method.empty() || view.positive("peft.rank") || view.truth("peft.used") ||
                       view.positive("quant.bits");
  if (whole || adapter) {
    view.set("config.adapter", adapter && !whole, whole ? "all weights train" : "an adapter trains",
             {"peft.method", "peft.rank"});
  }
}

/// The kind tells whether a learning rate means what it means to Adam.
void derive_optimizer(FactView& view) {
  const std::string name = view.word("optim.name");
  if (name.empty()) return;
  const auto has = [&name](std::string_view part) { return name.find(part) != std::string::npos; };
  // GaLore projects gradients onto few directions and takes learning rates of its own
  // (arXiv:2403.03507).
  const bool adam = has("adam") && !has("galore");
  view.set("config.optimizer",
           std::string(has("sgd") ? "sgd"
                       : adam     ? "adam"
                                  : "other"),
           name, {"optim.name"});
}

/// As stated, where no adapter trains in their place those that train, or that of a transformer of
/// these measures (12 layers hidden^2 and the embedding, arXiv:2001.08361 table 1).
void derive_weights(FactView& view) {
  constexpr double k_toy = 10e6;
  auto weights = view.positive("model.params");
  if (!weights && !view.truth("config.adapter")) weights = view.positive("model.trainable_params");
  const auto layers = view.positive("model.layers");
  const auto hidden = view.positive("model.hidden");
  if (!weights && layers && hidden) {
    weights =
        12 * *layers * *hidden * *hidden + *hidden * view.positive("model.vocab_size").value_or(0);
  }
  if (!weights) return;
  const std::string told = "about " + core::show_number(*weights, 2) + " weights";
  const FactView::Names from = {"model.params", "model.hidden", "model.layers"};
  view.set("config.weights", *weights, told, from);
  view.set("config.toy", *weights < k_toy, told, from);
}

}  // namespace

std::vector<Deriver> training_facts() {
  return {{.name = "adapter",
           .reads = {"peft.method", "peft.rank", "peft.used", "quant.bits"},
           .gives = {"config.adapter"},
           .derive = derive_adapter},
          {.name = "optimizer",
           .reads = {"optim.name"},
           .gives = {"config.optimizer"},
           .derive = derive_optimizer},
          {.name = "weights",
           .reads = {"config.adapter", "model.params", "model.trainable_params", "model.layers",
                     "model.hidden", "model.vocab_size"},
           .gives = {"config.weights", "config.toy"},
           .derive = derive_weights}};
}

}  // namespace aplomb::facts
