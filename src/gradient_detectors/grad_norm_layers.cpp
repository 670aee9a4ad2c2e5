/// Gradient norms of the layers, where a program logs them: by how much they differ says which
/// layers learn nothing, and which one blows up.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/median.h"
#include "detectors/kept.h"
#include "detectors/support.h"
#include "task/metric_words.h"

namespace aplomb::gradient_detectors {
namespace {

constexpr std::size_t k_layers = 4;
constexpr std::uint64_t k_least = 3;
constexpr double k_vanished = 1e-3;  // of the largest layer's norm
constexpr double k_gone = 1e-4;
constexpr double k_apart = 100;  // x the median layer
constexpr double k_grown = 10;   // x its own first level
constexpr double k_large = 10;

const detectors::DetectorSpec& grad_norm_layers_spec() {
  static const detectors::DetectorSpec spec{
      "grad_norm.layers",
      {"grad_norm.layer_vanishing", "grad_norm.layer_exploding"},
      "Gradient norms of layers that vanish with depth, or of one that explodes",
      "The global norm shows the largest layer only: layers that get no gradient hide behind it.",
      "grad_norm/layers.0 2e-7 ... grad_norm/layers.11 1.0",
      {},
      {{"vanished", k_vanished, "fraction", 0, 1,
        "benchmark here: norms of the blocks of pre-norm transformers differ by 3 to 30"},
       {"gone", k_gone, "fraction", 0, 1,
        "a thousandth in two layers, or a ten-thousandth in one: a product of factors below 1"},
       {"apart", k_apart, "x", 2, 1e6, "a hundred times the median layer"},
       {"grown", k_grown, "x", 1, 1e6, "an order of magnitude above its own start"}},
      {"https://arxiv.org/abs/1211.5063"},
      false,
      {task::Part::grad_part}};
  return spec;
}

/// The number of the layer that a metric's name says: `grad_norm/model.layers.7.mlp` -> 7.
int layer_of(const std::string& name) {
  constexpr std::array<std::string_view, 7> k_words = {"layer", "layers", "block", "blocks",
                                                       "h",     "stage",  "stages"};
  const std::vector<std::string> words = task::name_words(name);
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (const std::string_view word : k_words) {
      std::string_view digits;
      if (words[i] == word && i + 1 < words.size()) digits = words[i + 1];
      if (words[i].size() > word.size() && words[i].starts_with(word))
        digits = std::string_view(words[i]).substr(word.size());
      const auto number = core::parse_number(digits);
      if (number && *number >= 0 && *number < 10000) return static_cast<int>(*number);
    }
  }
  return -1;
}

class GradNormLayersDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return grad_norm_layers_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext& context,
               std::vector<detectors::Symptom>&) override {
    std::map<int, detectors::Sample> of_frame;
    for (const detectors::Reading& reading : frame.readings) {
      if (reading.part != task::Part::grad_part || !std::isfinite(reading.value)) continue;
      const int layer = number_of(context, reading);
      if (layer < 0) continue;
      // Of several weights of one layer: the norm of them together.
      auto [at, fresh] = of_frame.emplace(layer, sample_of(frame, reading));
      if (!fresh) at->second.value = std::hypot(at->second.value, reading.value);
    }
    for (const auto& [layer, sample] : of_frame) layers_[layer].add(sample);
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    std::vector<Layer> levels;
    for (const auto& [number, norms] : layers_) {
      if (norms.count() < k_least) continue;
      levels.push_back({number, norms.median(0, 0.25), norms.median(0.75, 1), norms.median(0.95, 1),
                        norms.back()});
    }
    if (levels.size() < k_layers) return;
    // Beside one that explodes all the others look small.
    if (!report_exploding(levels, context, out)) report_vanishing(levels, context, out);
  }

 private:
  struct Layer {
    int number = 0;
    double first = 0;
    double last = 0;
    double end = 0;  ///< of the last records: what explodes does so within few
    detectors::Sample latest;
  };

  int number_of(const detectors::RunContext& context, const detectors::Reading& reading) {
    const auto [at, fresh] = numbers_.emplace(reading.series, -1);
    if (fresh) at->second = layer_of(series_name(context, reading, ""));
    return at->second;
  }

  static detectors::Symptom about(const char* id, core::Severity severity, const Layer& layer) {
    detectors::Symptom symptom;
    symptom.id = id;
    symptom.severity = severity;
    symptom.series = "grad_norm";
    symptom.first_step = symptom.last_step = layer.latest.step;
    add_evidence(symptom, layer.latest.origin);
    return symptom;
  }

  static void report_vanishing(const std::vector<Layer>& levels,
                               const detectors::RunContext& context,
                               std::vector<detectors::Symptom>& out) {
    const auto less = [](const Layer& a, const Layer& b) { return a.last < b.last; };
    const Layer& most = *std::max_element(levels.begin(), levels.end(), less);
    const Layer& least = *std::min_element(levels.begin(), levels.end(), less);
    if (!(most.last > 0)) return;
    std::size_t vanished = 0;
    std::string told;
    int run_from = -1, run_to = -2;
    const auto flush = [&] {
      if (run_from < 0) return;
      told += (told.empty() ? "" : ", ") + (run_from == run_to
                                                ? fmt::format("{}", run_from)
                                                : fmt::format("{} to {}", run_from, run_to));
    };
    for (const Layer& layer : levels) {
      if (layer.last >= k_vanished * most.last) continue;
      ++vanished;
      if (layer.number != run_to + 1) {
        flush();
        run_from = layer.number;
      }
      run_to = layer.number;
    }
    flush();
    if (vanished < 2 && least.last >= k_gone * most.last) return;
    detectors::Symptom symptom = about("grad_norm.layer_vanishing", core::Severity::warning, least);
    symptom.measures["layers"] = told;
    symptom.measures["count"] = static_cast<double>(vanished);
    symptom.measures["of"] = static_cast<double>(levels.size());
    symptom.measures["least"] = least.last;
    symptom.measures["ratio"] = least.last / most.last;
    symptom.summary = fmt::format(
        "gradients vanish in {} of {} layers ({}): {} in layer {} against {} in layer {} at {}",
        vanished, levels.size(), told, core::show_number(least.last), least.number,
        core::show_number(most.last), most.number, at_step(context, least.latest.step));
    add_evidence(symptom, most.latest.origin);
    out.push_back(std::move(symptom));
  }

  static bool report_exploding(const std::vector<Layer>& levels,
                               const detectors::RunContext& context,
                               std::vector<detectors::Symptom>& out) {
    std::vector<double> values;
    values.reserve(levels.size());
    for (const Layer& layer : levels) values.push_back(layer.last);
    const double middle = core::upper_median(values);
    for (const Layer& layer : levels) {
      if (layer.end < k_large || layer.end < k_apart * middle || layer.end < k_grown * layer.first)
        continue;
      detectors::Symptom symptom =
          about("grad_norm.layer_exploding", core::Severity::unstable, layer);
      symptom.measures["layer"] = static_cast<double>(layer.number);
      symptom.measures["norm"] = layer.end;
      symptom.measures["ratio"] = layer.end / layer.first;
      symptom.summary =
          fmt::format("the gradient norm of layer {} grows {} -> {} by {}, the others stay at {}",
                      layer.number, core::show_number(layer.first), core::show_number(layer.end),
                      at_step(context, layer.latest.step), core::show_number(middle));
      out.push_back(std::move(symptom));
      return true;
    }
    return false;
  }

  std::map<int, detectors::Kept> layers_;
  std::map<std::uint32_t, int> numbers_;  ///< of a series
};

}  // namespace

std::unique_ptr<detectors::Detector> make_grad_norm_layers_detector() {
  return std::make_unique<GradNormLayersDetector>();
}

}  // namespace aplomb::gradient_detectors
