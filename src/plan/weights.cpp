#include "plan/weights.h"

#include <algorithm>

namespace aplomb::plan {
namespace {

bool is_target(const Training& training, const std::string& name) {
  if (training.adapter.targets.empty()) return true;
  return std::any_of(training.adapter.targets.begin(), training.adapter.targets.end(),
                     [&](const auto& each) { return name == each || each.ends_with("." + name); });
}

}  // namespace

double quantised_bytes(const Training& training) {
  if (training.quantisation.bits > 4) return 1;
  return 0.5 + (training.quantisation.double_quant ? 1.0 / 64 + 4.0 / (64 * 256) : 4.0 / 64);
}

Weights::Weights(Ledger& ledger, const ModelShape& local, const Training& training)
    : ledger_(ledger), training_(training) {
  const std::vector<Weight> layer = layer_weights(local);
  for (double i = 0; i < local.layers; ++i) {
    std::vector<StoredWeight>& stored = layers_.emplace_back();
    for (const Weight& each : layer) stored.push_back(store(each, false));
  }
  for (const StoredWeight& each : layers_.empty() ? outer_ : layers_.front())
    layer_bytes_ += each.weight.count() * each.width;
  for (const Weight& each : outer_weights(local)) outer_.push_back(store(each, true));
  for (const StoredWeight& each : outer_) outer_bytes_ += each.weight.count() * each.width;
}

StoredWeight Weights::store(const Weight& weight, bool outer) {
  StoredWeight stored;
  stored.weight = weight;
  stored.width = training_.precision.stored;
  const bool saved =
      std::any_of(training_.adapter.saved_modules.begin(), training_.adapter.saved_modules.end(),
                  [&](const std::string& each) { return each == weight.name; });
  stored.trains = training_.method == Method::full || saved;
  stored.quantised = training_.quantisation.on && weight.linear && !outer;
  // peft/utils/other.py, prepare_model_for_kbit_training: what is not quantised goes to fp32.
  if (training_.quantisation.on && !stored.quantised) stored.width = 4;
  const double shards = training_.parallelism.zero >= 3 ? training_.ranks() : 1;
  const double each = stored.quantised ? quantised_bytes(training_) : stored.width;
  const double held = training_.offload.weights ? 0 : weight.count() * each / shards;
  stored.storage = hold(ledger_, Part::weights, held);
  base_ += weight.count();
  if (stored.trains) {
    stored.gradient = std::make_unique<Gradient>();
    stored.gradient->share = training_.parallelism.zero >= 2 ? 1 / training_.ranks() : 1;
    count_trained(weight, weight.count(), stored.width);
  }
  const bool adapted = training_.method != Method::full && weight.linear && !outer;
  if (adapted && is_target(training_, weight.name)) adapt(stored);
  return stored;
}

void Weights::adapt(StoredWeight& stored) {
  const Weight& base = stored.weight;
  auto made = std::make_unique<Adapter>();
  const double shards = training_.parallelism.zero >= 3 ? training_.ranks() : 1;
  const double share = training_.parallelism.zero >= 2 ? 1 / training_.ranks() : 1;
  const auto add = [&](Held& held, Gradient& gradient, double in, double out) {
    held = hold(ledger_, Part::adapter, in * out * training_.adapter.width / shards);
    gradient.share = share;
    adapter_ += in * out;
    count_trained({"", "", in, out, 1, true}, in * out, training_.adapter.width);
  };
  add(made->a, made->of_a, base.in, training_.adapter.rank);
  add(made->b, made->of_b, training_.adapter.rank, base.out);
  if (training_.method == Method::dora) add(made->magnitude, made->of_magnitude, 1, base.out);
  stored.adapter = std::move(made);
}

void Weights::count_trained(const Weight& shape, double count, int width) {
  trained_ += count;
  trained_bytes_ += count * width;
  largest_trained_ = std::max(largest_trained_, count * width);
  const bool matrix = shape.in > 1 && shape.out > 1;
  factored_ += matrix ? (shape.in + shape.out) * shape.copies : count;
  if (matrix && shape.role != "embedding" && shape.role != "head") trained_matrices_ += count;
}

void Weights::complete_gradients() {
  const auto fill = [this](Gradient& gradient, double bytes) {
    if (gradient.held == nullptr)
      gradient.held = hold(ledger_, Part::gradients, bytes * gradient.share);
  };
  const auto complete = [&](StoredWeight& each) {
    if (each.trains) fill(*each.gradient, each.weight.count() * each.width);
    if (each.adapter == nullptr) return;
    fill(each.adapter->of_a, each.weight.in * training_.adapter.rank * training_.adapter.width);
    fill(each.adapter->of_b, each.weight.out * training_.adapter.rank * training_.adapter.width);
    if (each.adapter->magnitude != nullptr)
      fill(each.adapter->of_magnitude, each.weight.out * training_.adapter.width);
  };
  for (std::vector<StoredWeight>& layer : layers_)
    for (StoredWeight& each : layer) complete(each);
  for (StoredWeight& each : outer_) complete(each);
}

const StoredWeight* Weights::find(std::size_t layer, std::string_view role) const {
  for (const StoredWeight& each : layers_[layer]) {
    if (each.weight.role == role) return &each;
  }
  return nullptr;
}

const StoredWeight* Weights::outer(std::string_view role) const {
  for (const StoredWeight& each : outer_) {
    if (each.weight.role == role) return &each;
  }
  return nullptr;
}

}  // namespace aplomb::plan
