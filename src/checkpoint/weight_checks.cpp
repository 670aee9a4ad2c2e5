#include "checkpoint/weight_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/median.h"
#include "core/text.h"

namespace aplomb::checkpoint {
namespace {

// Times the median RMS of its kind. Small Llamas and GPT-2s trained in order reached 1.7
// (tools/weight_thresholds.py); other fan-ins of one kind (27 and 4608 inputs of a ResNet's
// convolutions, deviations by 1 / sqrt(inputs)) explain 13, and 2,500 times the inputs 50.
constexpr double k_odd_scale = 50;
constexpr std::size_t k_fewest_kin = 4;  // tensors of a kind that make a median
// Of the median row norm. In those models rows of tokens that occur lay above 0.64 (with rates far
// too high above 0.31), of tokens that do not at 0.24 to 0.40 once training had gone far, and at
// 0.5 to 1.3 before and with tied embeddings: what the norm tells it tells late.
constexpr double k_small_row = 0.25;
constexpr std::int64_t k_narrow = 16;  // shorter rows are that short by chance
// Off the usual deviation by more than this. Tables of 64 elements and more scatter by 9 % at most;
// of 554 configurations of transformers 517 ask for 0.02 and 14 for 0.01; torch's own nn.Embedding
// starts at 1.
constexpr double k_init_factor = 2;
// Six layers are the Transformer's own, which is post-LN; beyond them its warm-up becomes critical
// (arXiv:2002.04745).
constexpr std::size_t k_deep = 7;
// Past any step 0 of a warm-up, whose rate is 0.
constexpr std::int64_t k_surely_moved = 10;
constexpr std::uint64_t k_compare_bytes = 1U << 20U;

double rms(const scan::TensorStats& stats) {
  const auto finite = static_cast<double>(stats.finite());
  return finite > 0 ? std::sqrt(stats.sum_squares / finite) : 0;
}

double median(std::vector<double> values) {
  return values.empty() ? 0 : core::upper_median(std::move(values));
}

class Checks {
 public:
  Checks(const Checkpoint& checkpoint, const Survey& survey)
      : checkpoint_(checkpoint), survey_(survey) {}

  void scale() {
    std::map<TensorKind, std::vector<double>> sizes;
    for (const SurveyedTensor& each : survey_.tensors) {
      if (each.stats && rms(*each.stats) > 0) sizes[each.kind].push_back(rms(*each.stats));
    }
    std::map<TensorKind, double> medians;  // once a kind: a checkpoint may hold 100,000 tensors
    for (const auto& [kind, kin] : sizes) {
      if (kin.size() >= k_fewest_kin) medians[kind] = median(kin);
    }
    for (const SurveyedTensor& each : survey_.tensors) {
      const bool weight = each.stats && tensor(each).type->is_float && !each.nonfinite() &&
                          each.kind != TensorKind::buffer;
      if (!weight) continue;
      const double own = rms(*each.stats);
      if (each.beyond_fp16()) {
        note("tensor.absurd_scale", core::Severity::warning, each,
             fmt::format("its largest element is {}, beyond what fp16 holds (65504)",
                         core::show_number(each.stats->max_abs)));
      } else if (const auto known = medians.find(each.kind); known != medians.end()) {
        const double usual = known->second;
        // Biases and fresh LoRA factors are small by design.
        const bool far = own > k_odd_scale * usual;
        if (far && each.kind != TensorKind::bias && each.kind != TensorKind::lora_b) {
          note("tensor.absurd_scale", core::Severity::warning, each,
               fmt::format("its RMS is {}, {} times that of the other {}", core::show_number(own),
                           core::show_number(own / usual, 3), name(each.kind)));
        }
      }
    }
  }

  void duplicates() {
    using Signature = std::tuple<std::uint64_t, double, double, double>;
    std::map<Signature, std::vector<const SurveyedTensor*>> same;
    for (const SurveyedTensor& each : survey_.tensors) {
      if (!each.stats || each.kind == TensorKind::buffer) continue;
      // Constant tensors (norms at 1, biases at 0) are equal by their nature.
      const bool constant = each.stats->zeros == each.stats->count ||
                            (each.stats->zeros == 0 && each.stats->max_abs == each.stats->min_abs);
      if (constant || each.stats->count < 2) continue;
      same[{each.stats->count, each.stats->sum, each.stats->sum_squares, each.stats->max_abs}]
          .push_back(&each);
    }
    for (const auto& [signature, list] : same) {
      for (std::size_t i = 1; i < list.size(); ++i) {
        const tensors::Tensor& first = tensor(*list[0]);
        if (!equal(first, tensor(*list[i]))) continue;
        const bool tied = list[0]->kind != list[i]->kind;  // embedding and head
        note("tensor.duplicated", core::Severity::note, *list[i],
             fmt::format("equal to {} in every element{}", first.name, tied ? ": tied" : ""));
      }
    }
  }

  void embedding_rows() {
    for (const SurveyedTensor& each : survey_.tensors) {
      const tensors::Tensor& table = tensor(each);
      const bool fits = each.kind == TensorKind::embedding && each.stats && !each.nonfinite() &&
                        table.shape.size() == 2 && table.shape[0] >= 16 &&
                        table.shape[1] >= k_narrow && table.type->block == 1;
      if (fits) rows_of(each, table);
    }
  }

  void mixed_types() {
    std::map<TensorKind, std::map<std::string_view, std::size_t>> types;
    for (const SurveyedTensor& each : survey_.tensors) {
      const tensors::Tensor& own = tensor(each);
      if (own.type != nullptr && own.type->is_float && each.kind != TensorKind::buffer) {
        ++types[each.kind][own.type->name];
      }
    }
    for (const SurveyedTensor& each : survey_.tensors) {
      const auto& of_kind = types[each.kind];
      if (of_kind.size() < 2 || tensor(each).type == nullptr) continue;
      const auto most = std::max_element(of_kind.begin(), of_kind.end(),
                                         [](auto& a, auto& b) { return a.second < b.second; });
      if (tensor(each).type->name == most->first || !tensor(each).type->is_float) continue;
      note("tensor.mixed_dtype", core::Severity::note, each,
           fmt::format("{} where most {} are {}", core::lower(tensor(each).type->name),
                       name(each.kind), core::lower(most->first)));
    }
  }

  void init() {
    const auto value = [&](const char* key, double otherwise) {
      const auto found = checkpoint_.config.find(key);
      return found == checkpoint_.config.end() ? otherwise : found->second;
    };
    const double range = value("initializer_range", 0.02);
    const double layers =
        std::max(value("num_hidden_layers", value("n_layer", deepest() + 1)), 1.0);
    for (const SurveyedTensor& each : survey_.tensors) {
      if (!each.stats || each.nonfinite() || each.stats->count < 64) continue;
      const double own = rms(*each.stats);
      if (each.kind == TensorKind::embedding) judge_init(each, own, range, "embeddings");
      if (is_residual(tensor(each).name) && layers > 1)
        judge_residual(each, own, range, range / std::sqrt(2 * layers));
      if (each.kind == TensorKind::norm && std::fabs(own - 1) > 0.5 && own > 0) {
        note("init.unusual", core::Severity::warning, each,
             fmt::format("a norm weight starts at {}, not at 1", core::show_number(own)));
      }
    }
  }

  /// Two norms and more a layer and none behind the last: they stand behind the residual sums.
  void norms_at_init() {
    std::map<int, int> norms;  // by layer; -1: outside of all layers
    const SurveyedTensor* first = nullptr;
    for (const SurveyedTensor& each : survey_.tensors) {
      const std::string& own = tensor(each).name;
      const bool of_inputs = core::lower(own).find("embed") != std::string::npos;
      if (each.kind != TensorKind::norm || of_inputs) continue;
      const int layer = layer_of(own);
      ++norms[layer];
      if (layer == 0 && first == nullptr) first = &each;
    }
    const bool behind = norms.erase(-1) > 0;
    const bool pairs =
        std::all_of(norms.begin(), norms.end(), [](auto& of) { return of.second >= 2; });
    if (behind || !pairs || first == nullptr || norms.size() < k_deep) return;
    note("init.post_norm", core::Severity::note, *first,
         fmt::format(
             "{} layers with their norms behind the residual sums (post-LN; norm_first=False "
             "in PyTorch), none behind the last: norms in front of them (pre-LN) keep deep "
             "stacks trainable at usual rates, post-LN needs a long warm-up",
             norms.size()));
  }

  /// After so many steps every norm weight of a model that trains has moved from its start, 1.
  void norms_at_one(std::int64_t step) {
    const SurveyedTensor* first = nullptr;
    std::size_t norms = 0;
    std::size_t at_one = 0;
    for (const SurveyedTensor& each : survey_.tensors) {
      if (each.kind != TensorKind::norm || !each.stats || each.stats->count < 2) continue;
      ++norms;
      const auto count = static_cast<double>(each.stats->count);
      if (each.stats->sum != count || each.stats->max_abs != 1) continue;
      ++at_one;
      if (first == nullptr) first = &each;
    }
    if (norms < k_fewest_kin || at_one < norms) return;
    note("norm.at_start", core::Severity::warning, *first,
         fmt::format(
             "all {} norm weights are still exactly 1 at step {}: no update has reached them, "
             "or each was rounded away (bf16 has steps of 0.0078 at 1: `aplomb ckpt precision` "
             "says which)",
             norms, step));
  }

  std::vector<WeightNote> take() { return std::move(notes_); }

 private:
  const tensors::Tensor& tensor(const SurveyedTensor& each) const {
    return checkpoint_.tensors[each.tensor];
  }

  void note(std::string_view id, core::Severity severity, const SurveyedTensor& each,
            std::string text) {
    notes_.push_back({id, severity, each.tensor, std::move(text)});
  }

  double deepest() const {
    int most = 0;
    for (const tensors::Tensor& each : checkpoint_.tensors)
      most = std::max(most, layer_of(each.name));
    return most;
  }

  static bool is_residual(const std::string& tensor_name) {
    if (tensor_name.ends_with("bias")) return false;  // 0 at the start
    return tensor_name.find("o_proj") != std::string::npos ||
           tensor_name.find("down_proj") != std::string::npos ||
           tensor_name.find("c_proj") != std::string::npos;
  }

  /// Both GPT-2's initialisation, scaled by depth, and the plain one are in use. What is far above the
  /// plain one adds up over the layers; so does the plain one where the architecture is GPT-2's.
  void judge_residual(const SurveyedTensor& each, double own, double plain, double scaled) {
    const bool is_gpt2 = tensor(each).name.find("c_proj") != std::string::npos;
    if (own > k_init_factor * plain || is_gpt2) {
      judge_init(each, own, scaled, "projections into the residual");
    } else if (own > k_init_factor * scaled && deepest() + 1 >= k_deep) {
      note("init.unscaled_residual", core::Severity::note, each,
           fmt::format("a deviation of {} at the start; scaled by depth it would be {} (divided by "
                       "sqrt(2 layers), as GPT-2's)",
                       core::show_number(own), core::show_number(scaled)));
    }
  }

  void judge_init(const SurveyedTensor& each, double own, double usual, const char* what) {
    if (own < k_init_factor * usual && own > usual / k_init_factor) return;
    note("init.unusual", core::Severity::warning, each,
         fmt::format("a deviation of {} at the start; {} usually have {}", core::show_number(own),
                     what, core::show_number(usual)));
  }

  static bool equal(const tensors::Tensor& a, const tensors::Tensor& b) {
    if (a.type != b.type || a.count != b.count || a.type->bits % 8 != 0) return false;
    if (!a.bytes.empty() && a.bytes.data() == b.bytes.data()) return true;
    const std::uint64_t step = k_compare_bytes / (a.type->bits / 8);
    std::vector<std::byte> one;
    std::vector<std::byte> other;
    for (std::uint64_t from = 0; from < a.count; from += step) {
      const std::uint64_t count = std::min(step, a.count - from);
      const auto x = tensors::raw_elements(a, from, count, one);
      const auto y = tensors::raw_elements(b, from, count, other);
      if (x.empty() || !std::equal(x.begin(), x.end(), y.begin(), y.end())) return false;
    }
    return true;
  }

  /// Rows of zeros and rows far shorter than the others: tokens that training never saw.
  void rows_of(const SurveyedTensor& each, const tensors::Tensor& table) {
    const auto rows = static_cast<std::uint64_t>(table.shape[0]);
    const auto width = static_cast<std::uint64_t>(table.shape[1]);
    std::vector<double> norms(rows);
    std::vector<float> row(width);
    for (std::uint64_t i = 0; i < rows; ++i) {
      if (!tensors::read_elements(table, i * width, std::span<float>(row))) return;
      double squares = 0;
      for (const float x : row) squares += static_cast<double>(x) * x;
      norms[i] = std::sqrt(squares);
    }
    const double usual = median(norms);
    std::vector<std::uint64_t> few;
    std::uint64_t zero = 0;
    std::uint64_t small = 0;
    for (std::uint64_t i = 0; i < rows; ++i) {
      if (norms[i] >= k_small_row * usual && usual > 0) continue;
      (norms[i] == 0 ? zero : small) += 1;
      if (few.size() < 5) few.push_back(i);
    }
    if (zero + small < 2) return;  // one row is the padding token's
    std::string first;
    for (const std::uint64_t i : few) first += fmt::format("{}{}", first.empty() ? "" : ", ", i);
    note("embedding.untrained_rows", core::Severity::note, each,
         fmt::format(
             "{} of {} rows are zero and {} shorter than a quarter of the median, the first: "
             "{}",
             zero, rows, small, first));
  }

  const Checkpoint& checkpoint_;
  const Survey& survey_;
  std::vector<WeightNote> notes_;
};

}  // namespace

std::vector<WeightNote> check_weights(const Checkpoint& checkpoint, const Survey& survey) {
  Checks checks(checkpoint, survey);
  checks.scale();
  checks.duplicates();
  checks.embedding_rows();
  checks.mixed_types();
  if (checkpoint.step() == 0) {
    checks.init();
    checks.norms_at_init();
  }
  if (checkpoint.step().value_or(0) >= k_surely_moved && !checkpoint.is_adapter)
    checks.norms_at_one(*checkpoint.step());
  return checks.take();
}

const std::vector<CheckpointSymptom>& checkpoint_symptoms() {
  static const std::vector<CheckpointSymptom> all = {
      {"tensor.nonfinite", "weights that are NaN or infinite",
       "every forward pass through them gives NaN; a run cannot come back from it", ""},
      {"tensor.all_zero", "a weight whose every element is 0",
       "it passes nothing on, and where both factors of a product are zero it never learns", ""},
      {"tensor.frozen", "tensors with the same bits in two checkpoints",
       "what the optimizer holds should move: rounding, a cut graph or a missing group kept it",
       "torch.equal on the two files"},
      {"tensor.updates_lost", "weights that the next update would leave as they are",
       "an update below half the distance to a neighbouring value rounds away, every step",
       "round to nearest, IEEE 754; arXiv:2010.06192"},
      {"tensor.unheld", "weights that are in no parameter group of the optimizer",
       "no step moves them: the optimizer was built from another list, or before they were made",
       "counted by shape and order; an adapter's base, tied heads and averages are left out"},
      {"tensor.absurd_scale", "weights far larger than others of their kind, or beyond fp16",
       "one such tensor overflows activations and dominates the gradient norm",
       "fp16's largest value 65504; 50 times the median RMS of its kind, where models in order "
       "reach "
       "1.7 (tools/weight_thresholds.py)"},
      {"tensor.duplicated", "two tensors with the same elements",
       "right where weights are tied; otherwise a layer was copied or a shard loaded twice", ""},
      {"tensor.mixed_dtype", "weights of one kind in different number formats",
       "a module that was left out of a cast, or cast alone", ""},
      {"embedding.untrained_rows", "rows of an embedding that training never reached",
       "a token that uses such a row enters the model as noise",
       "arXiv:2405.05417; a quarter of the median row norm: tools/weight_thresholds.py"},
      {"init.unusual", "an initialisation far from the usual one, in a checkpoint of step 0",
       "embeddings and projections that start too large let activations grow with depth",
       "GPT-2: deviation 0.02, projections into the residual divided by sqrt(2 layers)"},
      {"init.unscaled_residual", "projections into the residual that are not scaled by depth",
       "each layer adds as much to the residual stream: its variance grows with depth",
       "GPT-2: divided by sqrt(2 layers)"},
      {"init.post_norm", "norms behind the residual sums in a deep stack",
       "gradients near the output are large at the start: without a long warm-up it diverges",
       "arXiv:2002.04745; deeper than the Transformer's six layers"},
      {"norm.at_start", "every norm weight is exactly 1 after training steps",
       "norms that cannot scale; the same updates may be lost elsewhere too",
       "the guide on frozen norm weights: 49 of 49 at step 754"},
      {"adapter.untrained", "every LoRA B is still zero", "the adapter changes nothing", ""},
      {"checkpoint.incomplete", "parts or shards that are missing",
       "a resume starts from something else than what was saved", ""},
      {"checkpoint.steps_disagree", "step counters that contradict each other",
       "the parts are of different moments: rate and moments do not fit the weights", ""},
      {"checkpoint.truncated", "tensors that lie beyond the end of their file",
       "the file was cut, or is still being written", ""},
      {"checkpoint.changed", "a file of a checkpoint that has another size than when it was opened",
       "it was being written or cut while it was read: look again once it is whole", ""},
      {"checkpoint.lost", "bytes of a file that could not be had any more while it was read",
       "the file was cut under the reader, or the disk fails; the bytes count as zeros", ""},
      {"checkpoint.altered",
       "files that differ from the checkpoint's manifest, or are missing or new",
       "it is not what was saved: damaged on the way, or changed by somebody",
       "SHA-256 of every file: aplomb ckpt scan --write-manifest"},
      {"checkpoint.overlap", "tensors or archive members that share bytes",
       "no writer makes such a file: it is damaged or made to deceive", ""},
      {"checkpoint.bad-crc", "a member of an archive that does not fit its checksum",
       "the file was damaged on the disk or on the way", "CRC-32 of the zip directory"},
      {"pickle.dangerous", "a pickle that names or does what no checkpoint needs",
       "loading it with torch.load(weights_only=False) would run code, write files or open "
       "connections",
       "src/pickle/globals.def: what picklescan, fickling and modelscan refuse, and more"},
      {"pickle.suspicious", "a pickle that names what is on no list of what checkpoints hold",
       "loading it imports that module and may run its code: look at where the file comes from",
       "src/pickle/globals.def"},
      {"pickle.inconclusive", "a pickle that cannot be followed to its end",
       "cut, damaged, encrypted or packed in a way that is not read: it cannot be called safe", ""},
      {"code.template", "a chat template that reaches for Python's own attributes or runs commands",
       "rendering it outside of Jinja's sandbox runs what it says",
       "CVE-2024-34359 (llama-cpp-python)"},
      {"code.lambda", "a Keras configuration that holds Python code or names what runs it",
       "loading it with safe_mode=False, or with Keras 2, runs that",
       "CVE-2024-3660, CVE-2025-1550 (Keras)"},
      {"code.remote", "a configuration that has modules of a repository make the model",
       "loading it with trust_remote_code=True runs them: look at them first",
       "auto_map of transformers"},
      {"code.config", "a configuration that has Python's own functions called",
       "hydra.utils.instantiate, NeMo or an unsafe YAML loader run what it names",
       "_target_ of hydra; CVE-2020-14343 (PyYAML)"},
      {"code.path", "an archive or a model that names places outside of its folder",
       "unpacking or loading it writes or reads there",
       "CVE-2007-4559 (tarfile), CVE-2024-27318 "
       "(ONNX)"},
      {"code.native", "machine code beside or within the weights",
       "loading the model with it runs that: look at where it comes from", ""},
  };
  return all;
}

}  // namespace aplomb::checkpoint
