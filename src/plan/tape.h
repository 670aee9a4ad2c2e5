#pragma once
/// Tape: autograd without numbers. The operators of a model are called as PyTorch calls them; what
/// they allocate, save for backward and give back is entered in a Ledger, what they cost on a
/// Clock.
///
/// Which operand an operator saves follows PyTorch's derivatives.yaml: a product saves a factor
/// only where the other one needs a gradient (so a frozen weight saves no input), softmax its
/// result, a sum nothing. Storages are shared as there: a view costs nothing, and a tensor that
/// nobody saved goes when its last owner does. Backward walks the nodes in reverse, as autograd's
/// engine does.
///
/// Shapes are not kept, only counts of elements: `width` is bytes an element.

#include <functional>
#include <map>
#include <vector>

#include "plan/clock.h"
#include "plan/ledger.h"

namespace aplomb::plan {

/// Where the gradient of a trained parameter is kept between backward and the optimizer.
struct Gradient {
  Held held;
  double share = 1;  ///< of it that this rank keeps (ZeRO 2 and 3, FSDP: one over the ranks)
};

struct Tensor {
  Held storage;
  double count = 0;
  int width = 4;
  int node = -1;               ///< what made it; -1 where it needs no gradient
  const void* leaf = nullptr;  ///< identity of a parameter: autocast keeps one copy of each

  bool needs_gradient() const { return node >= 0; }
  double bytes() const { return count * width; }
};

class Tape {
 public:
  /// `autocast`: bytes an element that matrix products are cast to; 0: no autocast.
  /// `cpu`: CPU kernels (a dropout mask is as wide as its input; one byte on CUDA).
  Tape(Ledger& ledger, Clock& clock, int autocast, bool cpu = false)
      : ledger_(ledger), clock_(clock), autocast_(autocast), cpu_(cpu) {}

  /// Saved tensors are entered as this part from here on; returns what it was.
  Part enter(Part part);

  /// A parameter whose bytes are in the ledger already; `gradient` null: frozen.
  Tensor parameter(const Held& storage, double count, int width, Gradient* gradient);
  /// A tensor from outside; with `wants_gradient` its gradient is there after backward().
  Tensor input(const Held& storage, double count, int width, bool wants_gradient);

  // --- operators; every one gives a new storage unless said
  Tensor cast(const Tensor& x, int width);       ///< x itself where it has this width
  Tensor slice(const Tensor& x, double count);   ///< shares x's storage
  Tensor scale(const Tensor& x);                 ///< product or sum with a number; also neg, clone
  Tensor saving_input(const Tensor& x);          ///< silu, gelu, pow
  Tensor saving_result(const Tensor& x);         ///< tanh, relu, softmax, rsqrt
  Tensor add(const Tensor& a, const Tensor& b);  ///< gradients pass through
  Tensor multiply(const Tensor& a, const Tensor& b);
  Tensor mean(const Tensor& x, double count);    ///< and every other reduction; saves nothing
  Tensor gather(const Tensor& x, double count);  ///< rows by index
  Tensor dropout(const Tensor& x, double probability);
  Tensor layer_norm(const Tensor& x, const Tensor& weight, double rows);
  Tensor fused_norm(const Tensor& x, const Tensor& weight, double rows);  ///< Liger's RMSNorm
  /// `width` 0: as wide as x, or fp32 where autocast makes it so.
  Tensor softmax(const Tensor& x, int width);
  /// x as operators get it that CUDA's autocast runs in fp32 (pow, softmax, layer_norm).
  Tensor to_exact(const Tensor& x);
  Tensor embedding(const Tensor& weight, double count);
  /// a @ b with `flops`; both are cast by autocast.
  Tensor matmul(const Tensor& a, const Tensor& b, double count, double flops);
  /// x @ weight.T, `rows` rows.
  Tensor linear(const Tensor& x, const Tensor& weight, double rows, double in, double out);
  /// x @ dequantised(weight).T: the 16-bit weight is there only while it is used, in backward
  /// again.
  Tensor linear_quantised(const Tensor& x, const Tensor& weight, double rows, double in,
                          double out);
  /// softmax(q k) v in one kernel; `statistics`: fp32 numbers kept a row.
  Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, double statistics,
                   double flops);
  /// A product a group of rows, each with a matrix of `weight`; autocast does not reach it.
  Tensor grouped(const Tensor& x, const Tensor& weight, double count, double flops);
  Tensor cross_entropy(const Tensor& logits);  ///< saves the log-probabilities
  /// Head and loss in one kernel that works through the rows in pieces (Liger): the gradients are
  /// made in forward.
  Tensor fused_loss(const Tensor& x, const Tensor& weight, double rows, double hidden,
                    double vocabulary);
  /// Runs `layer` without saving; backward runs it again from `x` and `arguments`, which are kept.
  Tensor checkpoint(const Tensor& x, const std::vector<Held>& arguments,
                    const std::function<Tensor(Tape&, const Tensor&)>& layer);

  /// The copies that autocast keeps of trained weights go, as when its context ends.
  void end_autocast() { copies_.clear(); }
  void backward(const Tensor& loss);
  /// What backward() left for a tensor of input().
  Held gradient_of(const Tensor& input) { return std::move(nodes_[index(input.node)].arrived); }

  int autocast() const { return autocast_; }
  Ledger& ledger() { return ledger_; }
  Clock& clock() { return clock_; }

 private:
  struct Edge {
    int node = -1;
    double count = 0;
    int width = 4;
    double bytes() const { return count * width; }
  };
  struct Node {
    std::vector<Edge> edges;
    std::vector<Held> saved;
    Held arrived;      ///< the gradient of what it made
    double flops = 0;  ///< of each edge's product
    int flop_width = 4;
    bool passes = false;       ///< an edge of the same size gets the gradient itself
    double passing_bytes = 0;  ///< needed while it runs
    Gradient* parameter = nullptr;
    bool outside = false;
    std::function<Held(const Held&)> replay;
  };
  static std::size_t index(int node) { return static_cast<std::size_t>(node); }

  Tensor made(double count, int width);
  /// A node of these inputs, where one needs a gradient; -1 else.
  int add_node(std::initializer_list<const Tensor*> inputs);
  void save(int node, const Tensor& tensor);
  Tensor to_compute(const Tensor& x);
  void run_back(Node& node);
  void arrive(const Edge& edge, Held gradient);
  void keep(Node& node);

  Ledger& ledger_;
  Clock& clock_;
  int autocast_;
  bool cpu_;
  bool saving_ = true;
  Part part_ = Part::activations;
  std::vector<Node> nodes_;
  std::map<const void*, Tensor> copies_;
};

}  // namespace aplomb::plan
