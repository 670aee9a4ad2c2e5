#include "plan/step.h"

#include <algorithm>
#include <memory>

#include "plan/decoder.h"
#include "plan/optimizer_bytes.h"

namespace aplomb::plan {
namespace {

/// The shape that one GPU holds: heads, feed-forward width and vocabulary are split by tensor
/// parallelism (arXiv:1909.08053), layers by pipeline parallelism.
ModelShape local_shape(ModelShape shape, const Training& training) {
  shape.attention.heads /= training.parallelism.tensor;
  shape.attention.kv_heads = std::max(1.0, shape.attention.kv_heads / training.parallelism.tensor);
  shape.mlp.width /= training.parallelism.tensor;
  shape.experts.width /= training.parallelism.tensor;
  shape.experts.shared_width /= training.parallelism.tensor;
  shape.vocab /= training.parallelism.tensor;
  shape.layers = std::max(1.0, shape.layers / training.parallelism.pipeline);
  return shape;
}

class StepRun {
 public:
  StepRun(const ModelShape& shape, const Training& training, const Machine& machine)
      : shape_(shape),
        local_(local_shape(shape, training)),
        training_(training),
        machine_(machine),
        clock_(machine.rates),
        weights_(ledger_, local_, training) {}

  Step run() {
    step_.parameters = parameters_of(shape_);
    step_.trained =
        weights_.trained() * training_.parallelism.tensor * training_.parallelism.pipeline;
    step_.adapter =
        weights_.adapter() * training_.parallelism.tensor * training_.parallelism.pipeline;
    standing();
    generation();
    passes();
    optimizer();
    times();
    const auto most = std::max_element(
        step_.moments.begin(), step_.moments.end(),
        [](const Moment& a, const Moment& b) { return a.peak.total() < b.peak.total(); });
    step_.peak = most->peak;
    step_.peak_at = most->name;
    return step_;
  }

 private:
  void begin() { ledger_.begin_moment(); }
  void end(const char* name) { step_.moments.push_back({name, ledger_.peak()}); }

  /// What is there all the time: optimizer state (after its first step), buffers, a reference.
  void standing() {
    const OptimizerBytes state = optimizer_bytes(training_, weights_);
    const double shards = training_.parallelism.zero >= 1 ? training_.ranks() : 1;
    const double bytes = (state.moments + state.master) / shards;
    step_.host_bytes += training_.offload.optimizer ? bytes : 0;
    if (training_.offload.weights)
      step_.host_bytes += weights_.base() * training_.precision.stored / shards;
    held_.push_back(hold(ledger_, Part::optimizer, training_.offload.optimizer ? 0 : bytes));
    if (training_.reference) {
      const double copies = training_.parallelism.zero >= 3 ? training_.ranks() : 1;
      held_.push_back(
          hold(ledger_, Part::weights, weights_.base() * training_.precision.stored / copies));
    }
    held_.push_back(hold(ledger_, Part::gathered, gathered()));
    if (training_.rollouts.engine)
      held_.push_back(
          hold(ledger_, Part::cache, training_.rollouts.engine_share * machine_.memory_bytes));
  }

  /// Weights of other ranks and gradients on their way.
  double gathered() const {
    if (training_.parallelism.zero >= 3) {
      // The layer that runs and the one fetched ahead, and the outer weights, which FSDP keeps
      // whole through forward and backward (torch/distributed/fsdp: the root is not resharded).
      const double compute = training_.precision.autocast > 0 ? training_.precision.autocast
                                                              : training_.precision.stored;
      const double narrower = compute / training_.precision.stored;
      return (2 * weights_.layer_bytes() + weights_.outer_bytes()) * narrower;
    }
    if (training_.parallelism.deepspeed && training_.parallelism.zero >= 1) {
      // Two buckets of 5e8 gradients (DeepSpeed's default reduce_bucket_size), no more than there
      // are.
      const double most =
          training_.parallelism.bucket_bytes > 0 ? training_.parallelism.bucket_bytes : 5e8;
      return 2 * std::min(most, weights_.trained()) * 2;
    }
    // DistributedDataParallel copies every gradient into its buckets
    // (gradient_as_bucket_view=False).
    return training_.parallelism.ddp ? weights_.trained_bytes() : 0;
  }

  /// GRPO without an engine: completions come from the model itself, with keys and values of all
  /// layers; no activations are there then.
  void generation() {
    if (!training_.rollouts.grpo || training_.rollouts.engine) return;
    begin();
    const double width = training_.precision.autocast > 0 ? training_.precision.autocast
                                                          : training_.precision.stored;
    const double kept = 2 * local_.layers * local_.attention.kv_heads * local_.attention.head_dim *
                        width * training_.rollouts.batch * training_.batch.length;
    const Held cache = hold(ledger_, Part::cache, kept);
    const Held logits =
        hold(ledger_, Part::logits, training_.rollouts.batch * local_.vocab * (width + 4));
    end("generation");
  }

  void passes() {
    // With accumulation the gradients of earlier micro-batches are there from the start.
    if (training_.batch.accumulation > 1) weights_.complete_gradients();
    begin();
    auto tape =
        std::make_unique<Tape>(ledger_, clock_, training_.precision.autocast, training_.cpu);
    const Decoder decoder(local_, training_, weights_);
    const Tensor loss = decoder.forward(*tape);
    end("forward");
    forward_flops_ = clock_.flops();
    step_.kept = ledger_.live();
    begin();
    tape->backward(loss);
    tape.reset();
    weights_.complete_gradients();
    end("backward");
    step_.whole = ledger_.live();
  }

  void optimizer() {
    begin();
    const OptimizerBytes state = optimizer_bytes(training_, weights_);
    const Held passing = hold(ledger_, Part::passing, state.passing);
    end("optimizer step");
  }

  void times() {
    step_.flops = clock_.flops();
    const double recomputed = training_.checkpointing ? forward_flops_ : 0;
    step_.model_flops = step_.flops - recomputed;
    step_.product_s = clock_.product_s() * training_.batch.accumulation;
    step_.memory_s = clock_.memory_s() * training_.batch.accumulation;
    step_.tokens = training_.batch.micro * training_.batch.length * training_.batch.accumulation *
                   training_.ranks();
    if (machine_.rates.bytes_per_s <= 0) return;
    const Bytes& whole = step_.whole;
    const double shards = training_.parallelism.zero >= 3 ? training_.ranks() : 1;
    // The optimizer reads and writes its state, the gradients and the weights once.
    step_.optimizer_s = (2 * whole[Part::optimizer] + whole[Part::gradients] +
                         2 * weights_.trained_bytes() / shards) /
                        machine_.rates.bytes_per_s;
    exchange();
    host();
    step_.step_s =
        step_.product_s + step_.memory_s + step_.optimizer_s + step_.exposed_s + step_.host_s;
  }

  /// Offloaded state costs the way of its gradients to the host and of the new weights back, once a
  /// step; offloaded weights cost their own way for forward and for backward. What the host
  /// computes is not counted.
  void host() {
    if (machine_.host_bytes_per_s <= 0) return;
    double bytes = 0;
    const double share = 1 / training_.ranks();
    if (training_.offload.optimizer)
      bytes += 2 * weights_.trained_bytes() * (training_.parallelism.zero >= 1 ? share : 1);
    if (training_.offload.weights)
      bytes +=
          2 * weights_.base() * training_.precision.stored * share * training_.batch.accumulation;
    step_.host_s = bytes / machine_.host_bytes_per_s;
  }

  /// Ring collectives move (n - 1) / n of the bytes a pass; an all-reduce makes two
  /// (arXiv:1910.02054, section 7).
  void exchange() {
    const double n = training_.ranks();
    if (n <= 1 || machine_.link_bytes_per_s <= 0) return;
    const double ring = (n - 1) / n / machine_.link_bytes_per_s;
    double bytes = 2 * weights_.trained_bytes();
    if (training_.parallelism.zero >= 3) {
      const double compute = training_.precision.autocast > 0 ? training_.precision.autocast
                                                              : training_.precision.stored;
      bytes =
          training_.batch.accumulation * (2 * weights_.base() * compute + weights_.trained_bytes());
    }
    step_.exchange_s = bytes * ring;
    // Gradients travel while backward runs (two thirds of the pass); weights while layers compute.
    const double window =
        (step_.product_s + step_.memory_s) * (training_.parallelism.zero >= 3 ? 1.0 : 2.0 / 3);
    step_.exposed_s = std::max(0.0, step_.exchange_s - window);
  }

  const ModelShape& shape_;
  ModelShape local_;
  const Training& training_;
  const Machine& machine_;
  Ledger ledger_;
  Clock clock_;
  Weights weights_;
  std::vector<Held> held_;
  double forward_flops_ = 0;
  Step step_;
};

}  // namespace

Step run_step(const ModelShape& shape, const Training& training, const Machine& machine) {
  return StepRun(shape, training, machine).run();
}

}  // namespace aplomb::plan
