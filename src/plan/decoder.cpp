#include "plan/decoder.h"

namespace aplomb::plan {

Decoder::Decoder(const ModelShape& local, const Training& training, const Weights& weights)
    : shape_(local),
      training_(training),
      weights_(weights),
      tokens_(training.tokens()),
      residual_(training.tokens() /
                (training.parallelism.sequence ? training.parallelism.tensor : 1)) {}

Tensor Decoder::use(Tape& tape, const StoredWeight& weight) {
  return tape.parameter(weight.storage, weight.weight.count(), weight.width,
                        weight.trains ? weight.gradient.get() : nullptr);
}

/// LlamaRMSNorm.forward; one kernel that keeps its input where Liger's is used.
Tensor Decoder::norm(Tape& tape, const Tensor& x, const StoredWeight* weight, double rows) const {
  const Tensor scale = use(tape, *weight);
  if (!shape_.rms_norm) return tape.layer_norm(x, scale, rows);
  if (training_.kernels.fused_layers) return tape.fused_norm(x, scale, rows);
  const Tensor wide = tape.cast(x, 4);
  const Tensor variance = tape.mean(tape.saving_input(wide), rows);
  const Tensor inverse = tape.saving_result(tape.scale(variance));
  const Tensor normal = tape.cast(tape.multiply(wide, inverse), x.width);
  return tape.multiply(scale, normal);
}

Tensor Decoder::project(Tape& tape, const Tensor& x, const StoredWeight& weight) const {
  const Weight& shape = weight.weight;
  const Tensor base =
      weight.quantised ? tape.linear_quantised(x, use(tape, weight), tokens_, shape.in, shape.out)
                       : tape.linear(x, use(tape, weight), tokens_, shape.in, shape.out);
  return weight.adapter == nullptr ? base : with_adapter(tape, x, base, weight);
}

/// peft/tuners/lora/layer.py, Linear.forward.
Tensor Decoder::with_adapter(Tape& tape, const Tensor& x, const Tensor& base,
                             const StoredWeight& weight) const {
  const Weight& shape = weight.weight;
  Adapter& adapter = *weight.adapter;
  Tensor wide = tape.cast(x, training_.adapter.width);
  if (training_.method == Method::dora) {
    wide = tape.dropout(wide, training_.adapter.dropout);
    const Tensor extra = magnitude(tape, wide, base, weight);
    return tape.cast(tape.add(base, extra), base.width);
  }
  const Tensor a = tape.parameter(adapter.a, shape.in * training_.adapter.rank,
                                  training_.adapter.width, &adapter.of_a);
  const Tensor b = tape.parameter(adapter.b, shape.out * training_.adapter.rank,
                                  training_.adapter.width, &adapter.of_b);
  const Tensor low = tape.linear(tape.dropout(wide, training_.adapter.dropout), a, tokens_,
                                 shape.in, training_.adapter.rank);
  const Tensor up = tape.scale(tape.linear(low, b, tokens_, training_.adapter.rank, shape.out));
  return tape.cast(tape.add(base, up), base.width);
}

/// peft/tuners/lora/dora.py, DoraLinearLayer.forward: the whole of W + BA is built in passing to
/// take the norms of its rows.
Tensor Decoder::magnitude(Tape& tape, const Tensor& wide, const Tensor& base,
                          const StoredWeight& weight) const {
  const Weight& shape = weight.weight;
  Adapter& adapter = *weight.adapter;
  const int width = tape.autocast() > 0 ? tape.autocast() : training_.adapter.width;
  const bool casts = width != training_.adapter.width;
  const double square = shape.in * shape.in;
  const double whole = shape.in * shape.out;
  Ledger& ledger = tape.ledger();
  const Held eye =
      hold(ledger, Part::passing, square * (training_.adapter.width + (casts ? width : 0)));
  const Held product = hold(ledger, Part::passing, whole * width);
  const Held update = hold(ledger, Part::passing, casts ? whole * training_.adapter.width : 0);
  const Held copy =
      hold(ledger, Part::passing, weight.width == 4 ? 0 : whole * training_.adapter.width);
  tape.clock().run(2 * (square + whole) * training_.adapter.rank, width, (square + 3 * whole) * 4);
  hold(ledger, Part::passing, 2 * whole * 4);  // W + BA, and its scaled second term
  const Tensor scale =
      tape.parameter(adapter.magnitude, shape.out, training_.adapter.width, &adapter.of_magnitude);
  const Tensor a = tape.parameter(adapter.a, shape.in * training_.adapter.rank,
                                  training_.adapter.width, &adapter.of_a);
  const Tensor b = tape.parameter(adapter.b, shape.out * training_.adapter.rank,
                                  training_.adapter.width, &adapter.of_b);
  const Tensor ratio = tape.scale(scale);
  const Tensor low = tape.linear(wide, a, tokens_, shape.in, training_.adapter.rank);
  const Tensor up = tape.linear(low, b, tokens_, training_.adapter.rank, shape.out);
  Tensor result = base;
  if (training_.adapter.dropout > 0) {
    result = tape.linear(wide, use(tape, weight), tokens_, shape.in, shape.out);
  }
  return tape.add(tape.multiply(tape.scale(ratio), result), tape.scale(tape.multiply(ratio, up)));
}

/// apply_rotary_pos_emb: the tables need no gradient, so the products keep nothing but them.
Tensor Decoder::rotate(Tape& tape, const Tensor& x) const {
  if (training_.kernels.fused_layers) return tape.scale(x);
  const double table =
      training_.batch.length / training_.parallelism.context * shape_.attention.head_dim;
  const int width = tape.autocast() > 0 && training_.precision.stored == 4 ? 4 : x.width;
  const Tensor cosines{hold(tape.ledger(), Part::passing, 0), table, width, -1, nullptr};
  const Tensor half = tape.scale(tape.slice(x, x.count / 2));
  Tensor turned = tape.add(x, half);
  const Tensor left = tape.multiply(x, cosines);
  return tape.add(left, tape.multiply(turned, cosines));
}

/// c * tanh(x / c).
Tensor Decoder::cap(Tape& tape, const Tensor& x) {
  return tape.scale(tape.saving_result(tape.scale(x)));
}

Tensor Decoder::eager_attention(Tape& tape, const Tensor& q, const Tensor& k,
                                const Tensor& v) const {
  const double pairs = tokens_ * training_.batch.length * shape_.attention.heads;
  const double flops = 2 * pairs * shape_.attention.head_dim;
  const Tensor keys = tape.gather(k, q.count);
  const Tensor values = tape.gather(v, q.count);
  const Tensor queries = tape.scale(q);
  const Part outside = tape.enter(Part::scores);
  Tensor weights;
  {
    // The mask is as wide as the residual stream, and so are the scores from here on.
    const Tensor mask{hold(tape.ledger(), Part::passing, 0), pairs / shape_.attention.heads,
                      training_.precision.stored, -1, nullptr};
    const Tensor scores = tape.scale(tape.matmul(queries, keys, pairs, flops));
    const Tensor bent = shape_.capped ? cap(tape, scores) : scores;
    weights = tape.softmax(tape.add(bent, mask), shape_.attention.rotary ? 4 : 0);
  }
  weights = tape.dropout(tape.cast(weights, q.width), shape_.attention.dropout);
  const Tensor out = tape.matmul(weights, values, q.count, flops);
  tape.enter(outside);
  return tape.scale(out);
}

Tensor Decoder::self_attention(Tape& tape, const Tensor& x, std::size_t index) const {
  const double of_q = tokens_ * shape_.attention.heads * shape_.attention.head_dim;
  const double of_kv = tokens_ * shape_.attention.kv_heads * shape_.attention.head_dim;
  Tensor q;
  Tensor k;
  Tensor v;
  if (shape_.attention.fused_qkv) {
    const Tensor all = project(tape, x, *weights_.find(index, "qkv"));
    q = tape.slice(all, of_q);
    k = tape.slice(all, of_kv);
    v = tape.slice(all, of_kv);
  } else {
    q = project(tape, x, *weights_.find(index, "q"));
    k = project(tape, x, *weights_.find(index, "k"));
    v = project(tape, x, *weights_.find(index, "v"));
  }
  if (shape_.attention.qk_norm != NormPlace::none) {
    const bool each = shape_.attention.qk_norm == NormPlace::head;
    q = norm(tape, q, weights_.find(index, "q_norm"),
             each ? tokens_ * shape_.attention.heads : tokens_);
    k = norm(tape, k, weights_.find(index, "k_norm"),
             each ? tokens_ * shape_.attention.kv_heads : tokens_);
  }
  if (shape_.attention.rotary) {
    q = rotate(tape, q);
    k = rotate(tape, k);
  }
  Tensor out;
  if (training_.kernels.attention == Attention::eager) {
    out = eager_attention(tape, q, k, v);
  } else {
    // A causal kernel skips half of the pairs (arXiv:2307.08691, section 3.1).
    const double flops = 4 * of_q * training_.batch.length / 2;
    out = tape.attention(q, k, v, tokens_ * shape_.attention.heads, flops);
  }
  return tape.dropout(project(tape, out, *weights_.find(index, "out")), shape_.dropout);
}

/// ACT2FN of transformers/activations.py.
Tensor Decoder::activate(Tape& tape, const Tensor& x) const {
  if (shape_.mlp.activation == "relu") return tape.saving_result(x);
  if (shape_.mlp.activation == "relu2") return tape.saving_input(tape.saving_result(x));
  if (shape_.mlp.activation != "gelu_new") return tape.saving_input(x);
  // NewGELUActivation is written out in Python: four tensors are kept where a kernel keeps one.
  const Tensor half = tape.scale(x);
  const Tensor cube = tape.saving_input(tape.to_exact(x));
  const Tensor inner = tape.scale(tape.add(x, tape.scale(cube)));
  return tape.multiply(half, tape.scale(tape.saving_result(inner)));
}

Tensor Decoder::feed_forward(Tape& tape, const Tensor& x, std::size_t index, double width) const {
  const StoredWeight& down = *weights_.find(index, "down");
  Tensor inner;
  if (shape_.mlp.fused_gate_up) {
    const Tensor both = project(tape, x, *weights_.find(index, "gate"));
    const Tensor gate = tape.slice(both, tokens_ * width);
    inner = tape.multiply(tape.slice(both, tokens_ * width), activate(tape, gate));
  } else if (shape_.mlp.gated) {
    const Tensor gate = project(tape, x, *weights_.find(index, "gate"));
    if (training_.kernels.fused_layers) {
      const Tensor up = project(tape, x, *weights_.find(index, "up"));
      inner = tape.multiply(gate, up);
    } else {
      const Tensor active = activate(tape, gate);
      const Tensor up = project(tape, x, *weights_.find(index, "up"));
      inner = tape.multiply(active, up);
    }
  } else {
    inner = activate(tape, project(tape, x, *weights_.find(index, "up")));
  }
  return tape.dropout(project(tape, inner, down), shape_.dropout);
}

/// transformers/integrations/moe.py, grouped_mm_experts_forward: tokens sorted by expert, two
/// grouped products in the format of the weights (autocast does not reach them).
Tensor Decoder::experts(Tape& tape, const Tensor& x, std::size_t index) const {
  const double visits = tokens_ * shape_.experts.per_token;
  const double width = shape_.experts.width;
  const Tensor scores = tape.linear(x, use(tape, *weights_.find(index, "router")), tokens_,
                                    shape_.hidden, shape_.experts.count);
  const Tensor chosen = tape.gather(tape.softmax(scores, 4), visits);
  const Tensor shares = tape.scale(chosen);
  const Tensor gate_up = use(tape, *weights_.find(index, "gate_up_experts"));
  const Tensor down = use(tape, *weights_.find(index, "down_experts"));
  const Tensor sorted = tape.cast(tape.gather(x, visits * shape_.hidden), gate_up.width);
  const Tensor both =
      tape.grouped(sorted, gate_up, visits * 2 * width, 4 * visits * shape_.hidden * width);
  const Tensor gate = tape.slice(both, visits * width);
  const Tensor inner = tape.multiply(activate(tape, gate), tape.slice(both, visits * width));
  const Tensor out =
      tape.grouped(inner, down, visits * shape_.hidden, 2 * visits * shape_.hidden * width);
  const Tensor weighted = tape.gather(tape.multiply(out, shares), out.count);
  Tensor routed = tape.cast(tape.mean(weighted, x.count), x.width);
  if (shape_.experts.shared_width <= 0) return routed;
  const Tensor shared = feed_forward(tape, x, index, shape_.experts.shared_width);
  const Tensor opened = tape.saving_result(
      tape.linear(x, use(tape, *weights_.find(index, "shared_gate")), tokens_, shape_.hidden, 1));
  return tape.add(routed, tape.multiply(opened, shared));
}

/// Sequence parallel: a reduce-scatter leaves each GPU its share of the tokens (arXiv:2205.05198).
Tensor Decoder::to_residual(Tape& tape, const Tensor& x) const {
  return training_.parallelism.sequence ? tape.mean(x, residual_ * shape_.hidden) : x;
}

Tensor Decoder::layer(Tape& tape, const Tensor& x, std::size_t index) const {
  const StoredWeight* weight = weights_.find(index, "norm");
  const bool post = shape_.extra_norms > 0;
  Tensor inner = to_residual(tape, self_attention(tape, norm(tape, x, weight, residual_), index));
  if (post) inner = norm(tape, inner, weight, residual_);
  const Tensor middle = tape.add(x, inner);
  const Tensor normal = norm(tape, middle, weight, residual_);
  inner = shape_.experts.count > 0 ? experts(tape, normal, index)
                                   : feed_forward(tape, normal, index, shape_.mlp.width);
  inner = to_residual(tape, inner);
  if (post) inner = norm(tape, inner, weight, residual_);
  return tape.add(middle, inner);
}

Tensor Decoder::head(Tape& tape, const Tensor& x) const {
  const StoredWeight* weight = weights_.outer(shape_.tied ? "embedding" : "head");
  const double kept = training_.rollouts.grpo
                          ? training_.batch.micro * (training_.rollouts.completion + 1)
                          : tokens_;
  const Tensor scored = training_.rollouts.grpo ? tape.slice(x, kept * shape_.hidden) : x;
  const Part outside = tape.enter(Part::logits);
  if (training_.kernels.fused_loss) {
    const Tensor loss =
        tape.fused_loss(scored, use(tape, *weight), kept, shape_.hidden, shape_.vocab);
    tape.enter(outside);
    return loss;
  }
  const Tensor logits = tape.linear(scored, use(tape, *weight), kept, shape_.hidden, shape_.vocab);
  logits.storage->become(Part::logits);
  Tensor loss = tape.cross_entropy(shape_.capped ? cap(tape, logits) : logits);
  tape.enter(outside);
  return loss;
}

/// Arguments that every layer gets, and that a checkpoint therefore keeps: the tables of rotary
/// positions, and the causal mask where attention is not one kernel.
std::vector<Held> Decoder::shared_by_layers(Tape& tape, int width) const {
  const double length = training_.batch.length / training_.parallelism.context;
  std::vector<Held> shared;
  if (shape_.attention.rotary)
    shared.push_back(
        hold(tape.ledger(), Part::activations, 2 * length * shape_.attention.head_dim * width));
  if (training_.kernels.attention == Attention::eager) {
    shared.push_back(hold(tape.ledger(), Part::activations,
                          training_.batch.micro * training_.batch.sequences * length *
                              training_.batch.length * width));
  }
  return shared;
}

Tensor Decoder::forward(Tape& tape) const {
  const StoredWeight& embedding = *weights_.outer("embedding");
  Tensor x = tape.embedding(use(tape, embedding), residual_ * shape_.hidden);
  if (const StoredWeight* positions = weights_.outer("positions")) {
    const double rows = training_.batch.length / training_.parallelism.context;
    x = tape.dropout(tape.add(x, tape.embedding(use(tape, *positions), rows * shape_.hidden)),
                     shape_.dropout);
  }
  if (training_.checkpointing && !x.needs_gradient()) {
    // enable_input_require_grads(), which checkpointing with adapters calls.
    x = tape.input(x.storage, x.count, x.width, true);
  }
  const std::vector<Held> shared = shared_by_layers(tape, x.width);
  const auto layers = static_cast<std::size_t>(shape_.layers);
  for (std::size_t i = 0; i < layers; ++i) {
    const auto run = [this, i](Tape& on, const Tensor& in) { return layer(on, in, i); };
    x = training_.checkpointing ? tape.checkpoint(x, shared, run) : run(tape, x);
  }
  x = norm(tape, x, weights_.outer("norm"), residual_);
  Tensor loss = head(tape, x);
  tape.end_autocast();
  return loss;
}

}  // namespace aplomb::plan
