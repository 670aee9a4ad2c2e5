#include "plan/tape.h"

#include <algorithm>
#include <utility>

namespace aplomb::plan {

Part Tape::enter(Part part) { return std::exchange(part_, part); }

Tensor Tape::parameter(const Held& storage, double count, int width, Gradient* gradient) {
  Tensor made{storage, count, width, -1, storage.get()};
  if (gradient == nullptr) return made;
  nodes_.emplace_back();
  nodes_.back().parameter = gradient;
  made.node = static_cast<int>(nodes_.size()) - 1;
  return made;
}

Tensor Tape::input(const Held& storage, double count, int width, bool wants_gradient) {
  Tensor made{storage, count, width, -1, nullptr};
  if (!wants_gradient) return made;
  nodes_.emplace_back();
  nodes_.back().outside = true;
  made.node = static_cast<int>(nodes_.size()) - 1;
  return made;
}

Tensor Tape::made(double count, int width) {
  return {hold(ledger_, Part::passing, count * width), count, width, -1, nullptr};
}

int Tape::add_node(std::initializer_list<const Tensor*> inputs) {
  const bool wanted = std::any_of(inputs.begin(), inputs.end(),
                                  [](const Tensor* each) { return each->needs_gradient(); });
  if (!wanted) return -1;
  Node node;
  for (const Tensor* each : inputs) {
    if (each->needs_gradient()) node.edges.push_back({each->node, each->count, each->width});
  }
  nodes_.push_back(std::move(node));
  return static_cast<int>(nodes_.size()) - 1;
}

void Tape::save(int node, const Tensor& tensor) {
  if (node < 0 || !saving_) return;
  if (tensor.storage->part() == Part::passing) tensor.storage->become(part_);
  nodes_[index(node)].saved.push_back(tensor.storage);
}

Tensor Tape::to_compute(const Tensor& x) {
  if (autocast_ == 0 || x.width == autocast_) return x;
  if (x.leaf == nullptr) return cast(x, autocast_);
  const auto known = copies_.find(x.leaf);
  if (known != copies_.end()) return known->second;
  Tensor copy = cast(x, autocast_);
  copy.storage->become(Part::cast_weights);
  // ATen/autocast_mode.cpp: only leaves that need a gradient are worth keeping.
  if (x.needs_gradient()) copies_.emplace(x.leaf, copy);
  return copy;
}

Tensor Tape::cast(const Tensor& x, int width) {
  if (x.width == width) return x;
  Tensor out = made(x.count, width);
  out.node = add_node({&x});
  clock_.run(0, width, x.bytes() + out.bytes());
  return out;
}

Tensor Tape::slice(const Tensor& x, double count) {
  Tensor out{x.storage, count, x.width, add_node({&x}), nullptr};
  return out;
}

Tensor Tape::scale(const Tensor& x) {
  Tensor out = made(x.count, x.width);
  out.node = add_node({&x});
  clock_.run(0, x.width, x.bytes() + out.bytes());
  return out;
}

Tensor Tape::saving_input(const Tensor& x) {
  Tensor out = scale(x);
  save(out.node, x);
  return out;
}

Tensor Tape::saving_result(const Tensor& x) {
  Tensor out = scale(x);
  save(out.node, out);
  return out;
}

Tensor Tape::add(const Tensor& a, const Tensor& b) {
  Tensor out = made(std::max(a.count, b.count), std::max(a.width, b.width));
  out.node = add_node({&a, &b});
  if (out.node >= 0) nodes_[index(out.node)].passes = true;
  clock_.run(0, out.width, a.bytes() + b.bytes() + out.bytes());
  return out;
}

Tensor Tape::multiply(const Tensor& a, const Tensor& b) {
  Tensor out = made(std::max(a.count, b.count), std::max(a.width, b.width));
  out.node = add_node({&a, &b});
  if (b.needs_gradient()) save(out.node, a);
  if (a.needs_gradient()) save(out.node, b);
  clock_.run(0, out.width, a.bytes() + b.bytes() + out.bytes());
  return out;
}

Tensor Tape::mean(const Tensor& x, double count) {
  Tensor out = made(count, x.width);
  out.node = add_node({&x});
  clock_.run(0, x.width, x.bytes());
  return out;
}

Tensor Tape::gather(const Tensor& x, double count) {
  Tensor out = made(count, x.width);
  out.node = add_node({&x});
  clock_.run(0, x.width, 2 * out.bytes());
  return out;
}

Tensor Tape::dropout(const Tensor& x, double probability) {
  if (probability <= 0) return x;
  Tensor out = scale(x);
  const int mask_width = cpu_ ? x.width : 1;  // ATen/native/Dropout.cpp, cuda/Dropout.cu
  save(out.node, made(x.count, mask_width));
  return out;
}

Tensor Tape::to_exact(const Tensor& x) {
  // The lists of ATen/autocast_mode.h; the CPU's has none of these operators.
  return autocast_ > 0 && !cpu_ ? cast(x, 4) : x;
}

Tensor Tape::softmax(const Tensor& x, int width) {
  const int wide = width > 0 ? width : autocast_ > 0 && !cpu_ ? 4 : x.width;
  Tensor out = made(x.count, wide);
  out.node = add_node({&x});
  save(out.node, out);
  clock_.run(0, wide, x.bytes() + out.bytes());
  return out;
}

Tensor Tape::fused_norm(const Tensor& x, const Tensor& weight, double rows) {
  Tensor out = made(x.count, x.width);
  out.node = add_node({&x, &weight});
  save(out.node, x);
  save(out.node, weight);
  save(out.node, made(rows, 4));
  clock_.run(0, x.width, 2 * x.bytes());
  return out;
}

Tensor Tape::layer_norm(const Tensor& x, const Tensor& weight, double rows) {
  const Tensor in = to_exact(x);
  const Tensor scale_of = to_exact(weight);
  Tensor out = made(in.count, in.width);
  out.node = add_node({&in, &scale_of});
  save(out.node, in);
  save(out.node, scale_of);
  save(out.node, made(2 * rows, cpu_ ? in.width : 4));
  clock_.run(0, in.width, 2 * in.bytes());
  return out;
}

Tensor Tape::embedding(const Tensor& weight, double count) {
  Tensor out = made(count, weight.width);
  out.node = add_node({&weight});
  clock_.run(0, weight.width, 2 * out.bytes());
  return out;
}

Tensor Tape::matmul(const Tensor& a, const Tensor& b, double count, double flops) {
  const Tensor left = to_compute(a);
  const Tensor right = to_compute(b);
  Tensor out = made(count, std::max(left.width, right.width));
  out.node = add_node({&left, &right});
  if (right.needs_gradient()) save(out.node, left);
  if (left.needs_gradient()) save(out.node, right);
  if (out.node >= 0) {
    nodes_[index(out.node)].flops = flops;
    nodes_[index(out.node)].flop_width = left.width;
  }
  clock_.run(flops, left.width, left.bytes() + right.bytes() + out.bytes());
  return out;
}

Tensor Tape::linear(const Tensor& x, const Tensor& weight, double rows, double in, double out) {
  return matmul(x, weight, rows * out, 2 * rows * in * out);
}

Tensor Tape::linear_quantised(const Tensor& x, const Tensor& weight, double rows, double in,
                              double out) {
  constexpr int k_compute = 2;
  const Tensor left = cast(x, k_compute);
  const Held dequantised = hold(ledger_, Part::passing, in * out * k_compute);
  Tensor result = made(rows * out, k_compute);
  const double flops = 2 * rows * in * out;
  result.node = add_node({&left});
  if (result.node >= 0) {
    Node& node = nodes_[index(result.node)];
    node.saved.push_back(weight.storage);
    node.flops = flops;
    node.flop_width = k_compute;
    node.passing_bytes = in * out * k_compute;
  }
  clock_.run(0, k_compute, weight.bytes() + in * out * k_compute);
  clock_.run(flops, k_compute, left.bytes() + in * out * k_compute + result.bytes());
  return result;
}

Tensor Tape::attention(const Tensor& q, const Tensor& k, const Tensor& v, double statistics,
                       double flops) {
  const Tensor query = to_compute(q);
  const Tensor key = to_compute(k);
  const Tensor value = to_compute(v);
  Tensor out = made(query.count, query.width);
  out.node = add_node({&query, &key, &value});
  for (const Tensor* each : {&query, &key, &value}) save(out.node, *each);
  save(out.node, out);
  save(out.node, made(statistics, 4));
  // Backward makes the scores again: five products for forward's two (arXiv:2307.08691).
  if (out.node >= 0) {
    nodes_[index(out.node)].flops =
        2.5 * flops / static_cast<double>(nodes_[index(out.node)].edges.size());
    nodes_[index(out.node)].flop_width = query.width;
  }
  clock_.run(flops, query.width, query.bytes() + key.bytes() + value.bytes() + out.bytes());
  return out;
}

Tensor Tape::grouped(const Tensor& x, const Tensor& weight, double count, double flops) {
  Tensor out = made(count, weight.width);
  out.node = add_node({&x, &weight});
  if (weight.needs_gradient()) save(out.node, x);
  if (x.needs_gradient()) save(out.node, weight);
  if (out.node >= 0) {
    nodes_[index(out.node)].flops = flops;
    nodes_[index(out.node)].flop_width = weight.width;
  }
  clock_.run(flops, weight.width, x.bytes() + weight.bytes() + out.bytes());
  return out;
}

Tensor Tape::fused_loss(const Tensor& x, const Tensor& weight, double rows, double hidden,
                        double vocabulary) {
  const Tensor in = to_compute(x);
  const Tensor matrix = to_compute(weight);
  // liger_kernel/ops/fused_linear_cross_entropy.py: as many pieces as the vocabulary is wider than
  // the hidden size, so that a piece of logits is about as large as the input.
  const double pieces = std::max(1.0, vocabulary / hidden);
  hold(ledger_, Part::logits, rows / pieces * vocabulary * in.width);
  Tensor loss = made(1, 4);
  loss.node = add_node({&in, &matrix});
  if (in.needs_gradient()) save(loss.node, made(in.count, in.width));
  if (matrix.needs_gradient()) save(loss.node, made(matrix.count, matrix.width));
  clock_.run(6 * rows * hidden * vocabulary, in.width,
             pieces * matrix.bytes() + 4 * rows * vocabulary * in.width);
  return loss;
}

Tensor Tape::cross_entropy(const Tensor& logits) {
  const Tensor wide = cast(logits, 4);
  const Tensor log_probabilities = saving_result(wide);
  Tensor loss = made(1, 4);
  loss.node = add_node({&log_probabilities});
  save(loss.node, log_probabilities);
  return loss;
}

Tensor Tape::checkpoint(const Tensor& x, const std::vector<Held>& arguments,
                        const std::function<Tensor(Tape&, const Tensor&)>& layer) {
  Tensor out;
  {
    Tape unsaved(ledger_, clock_, autocast_, cpu_);
    unsaved.saving_ = false;
    std::swap(unsaved.copies_, copies_);  // autocast's copies outlive the layer
    Tensor plain = x;
    plain.node = -1;
    out = layer(unsaved, plain);
    std::swap(unsaved.copies_, copies_);
    for (auto& copy : copies_) copy.second.node = -1;
  }
  // Whether anything in it trains is the caller's to know: layers under a checkpoint do.
  nodes_.emplace_back();
  const int node = static_cast<int>(nodes_.size()) - 1;
  out.node = node;
  if (x.needs_gradient()) nodes_[index(node)].edges.push_back({x.node, x.count, x.width});
  save(node, x);
  nodes_[index(node)].saved.insert(nodes_[index(node)].saved.end(), arguments.begin(),
                                   arguments.end());
  const Held kept = x.storage;
  const double count = x.count;
  const int width = x.width;
  const bool wants = x.needs_gradient();
  nodes_[index(node)].replay = [this, kept, count, width, wants, layer](const Held& gradient) {
    Tape again(ledger_, clock_, autocast_, cpu_);
    again.enter(part_);
    const Tensor in = again.input(kept, count, width, wants);
    const Tensor result = layer(again, in);
    again.end_autocast();
    if (!result.needs_gradient()) return Held();
    again.nodes_[index(result.node)].arrived = gradient;
    again.backward(result);
    return wants ? again.gradient_of(in) : Held();
  };
  return out;
}

void Tape::keep(Node& node) {
  Gradient& kept = *node.parameter;
  const Held gradient = std::move(node.arrived);
  if (kept.held != nullptr) return;  // added in place
  if (kept.share >= 1 && gradient.use_count() == 1) {
    gradient->become(Part::gradients);
    kept.held = gradient;
  } else {
    kept.held = hold(ledger_, Part::gradients, gradient->bytes() * std::min(1.0, kept.share));
  }
}

void Tape::arrive(const Edge& edge, Held gradient) {
  Node& to = nodes_[index(edge.node)];
  if (to.arrived == nullptr) {
    to.arrived = std::move(gradient);
  } else if (to.arrived.use_count() > 1) {
    to.arrived = hold(ledger_, Part::passing, edge.bytes());
  }
  // Gradients of parameters are put away at once, as autograd's engine does.
  if (to.parameter != nullptr) keep(to);
}

void Tape::run_back(Node& node) {
  const Held gradient = std::move(node.arrived);
  if (node.replay) {
    Held out = node.replay(gradient);
    if (!node.edges.empty() && out != nullptr) arrive(node.edges.front(), std::move(out));
  } else {
    const Held passing =
        node.passing_bytes > 0 ? hold(ledger_, Part::passing, node.passing_bytes) : Held();
    double bytes = gradient->bytes();
    for (const Held& each : node.saved) bytes += each->bytes();
    std::vector<Held> made;
    for (const Edge& edge : node.edges) {
      const bool same = node.passes && edge.bytes() == gradient->bytes();
      made.push_back(same ? gradient : hold(ledger_, Part::passing, edge.bytes()));
      if (!same) bytes += edge.bytes();
    }
    clock_.run(node.flops * static_cast<double>(node.edges.size()), node.flop_width, bytes);
    for (std::size_t i = 0; i < node.edges.size(); ++i) arrive(node.edges[i], std::move(made[i]));
  }
  node.saved.clear();
  node.replay = nullptr;
}

void Tape::backward(const Tensor& loss) {
  if (!loss.needs_gradient()) return;
  Held& seed = nodes_[index(loss.node)].arrived;
  if (seed == nullptr) seed = hold(ledger_, Part::passing, loss.bytes());
  for (std::size_t at = index(loss.node) + 1; at-- > 0;) {
    Node& node = nodes_[at];
    if (node.arrived != nullptr && !node.outside) run_back(node);
  }
}

}  // namespace aplomb::plan
