#include "demo/tiny_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace aplomb::demo {
namespace {

constexpr int k_inputs = 2;
constexpr int k_points = 1536;
constexpr int k_held_out = 384;
constexpr int k_eval_every = 50;

/// splitmix64: a stream of numbers that is the same on every machine.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
  }
  double uniform() { return static_cast<double>(next() >> 11U) * 0x1p-53; }
  double normal() {
    double sum = 0;  // of twelve uniform numbers: variance 1, near enough to normal for noise
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum - 6;
  }

 private:
  std::uint64_t state_;
};

struct Points {
  std::vector<float> at;  ///< [count][k_inputs]
  std::vector<float> value;
};

/// Waves over a square, with noise.
Points waves(int count, Draw& draw) {
  Points points;
  for (int i = 0; i < count; ++i) {
    const double x = 2 * draw.uniform() - 1;
    const double y = 2 * draw.uniform() - 1;
    points.at.push_back(static_cast<float>(x));
    points.at.push_back(static_cast<float>(y));
    points.value.push_back(
        static_cast<float>(std::sin(4 * x) + std::cos(3 * y) + 0.1 * draw.normal()));
  }
  return points;
}

/// Weights of one layer, [out][in + 1]: the last of a row is its bias; their gradients; their momentum.
struct Layer {
  int in = 0;
  int out = 0;
  std::vector<float> weight, gradient, velocity;

  Layer(int inputs, int outputs, Draw& draw) : in(inputs), out(outputs) {
    const double bound = std::sqrt(6.0 / inputs);  // He initialisation, uniform
    for (int i = 0; i < out * (in + 1); ++i)
      weight.push_back(
          static_cast<float>(i % (in + 1) == in ? 0 : bound * (2 * draw.uniform() - 1)));
    gradient.resize(weight.size());
    velocity.resize(weight.size());
  }

  void forward(const float* x, float* y) const {
    for (int o = 0; o < out; ++o) {
      const float* row = weight.data() + static_cast<std::ptrdiff_t>(o) * (in + 1);
      float sum = row[in];
      for (int i = 0; i < in; ++i) sum += row[i] * x[i];
      y[o] = sum;
    }
  }

  void add_gradient(const float* x, const float* slope) {
    for (int o = 0; o < out; ++o) {
      float* row = gradient.data() + static_cast<std::ptrdiff_t>(o) * (in + 1);
      for (int i = 0; i < in; ++i) row[i] += slope[o] * x[i];
      row[in] += slope[o];
    }
  }
};

class Network {
 public:
  Network(int hidden, Draw& draw)
      : first_(k_inputs, hidden, draw),
        second_(hidden, 1, draw),
        middle_(static_cast<std::size_t>(hidden)),
        slope_(static_cast<std::size_t>(hidden)) {}

  /// Squared error of one point; with `weight` its gradient, times that, is added to the layers'.
  double loss(const float* x, float value, float weight) {
    first_.forward(x, middle_.data());
    for (float& each : middle_) each = each < 0 ? 0 : each;  // ReLU; NaN stays NaN
    float said = 0;
    second_.forward(middle_.data(), &said);
    const float away = said - value;
    if (weight > 0) backward(x, 2 * weight * away);
    return static_cast<double>(away * away);
  }

  double loss(const Points& points) {
    double sum = 0;
    for (std::size_t i = 0; i < points.value.size(); ++i)
      sum += loss(&points.at[i * k_inputs], points.value[i], 0);
    return sum / static_cast<double>(points.value.size());
  }

  double gradient_norm() const {
    double sum = 0;
    for (const Layer* layer : {&first_, &second_})
      for (const float each : layer->gradient)
        sum += static_cast<double>(each) * static_cast<double>(each);
    return std::sqrt(sum);
  }

  void step(float rate, float momentum) {
    for (Layer* layer : {&first_, &second_}) {
      for (std::size_t i = 0; i < layer->weight.size(); ++i) {
        layer->velocity[i] = momentum * layer->velocity[i] + layer->gradient[i];
        layer->weight[i] -= rate * layer->velocity[i];
        layer->gradient[i] = 0;
      }
    }
  }

 private:
  void backward(const float* x, float slope) {
    for (std::size_t h = 0; h < middle_.size(); ++h)
      slope_[h] = middle_[h] > 0 ? slope * second_.weight[h] : 0;
    second_.add_gradient(middle_.data(), &slope);
    first_.add_gradient(x, slope_.data());
  }

  Layer first_, second_;
  std::vector<float> middle_, slope_;
};

/// As Python prints it: the sign of a NaN says nothing.
std::string shown(double value) { return std::isnan(value) ? "nan" : fmt::format("{:.4g}", value); }

}  // namespace

std::vector<TinyStep> train(const TinyTraining& how) {
  Draw draw(how.seed);
  const Points points = waves(k_points, draw);
  const Points held_out = waves(k_held_out, draw);
  Network network(how.hidden, draw);
  std::vector<TinyStep> steps;
  for (int step = 1; step <= how.steps; ++step) {
    TinyStep now;
    now.step = step;
    for (int i = 0; i < how.batch_size; ++i) {
      const auto at = static_cast<std::size_t>(draw.next() % k_points);
      now.loss += network.loss(&points.at[at * k_inputs], points.value[at],
                               1.0F / static_cast<float>(how.batch_size)) /
                  how.batch_size;
    }
    now.grad_norm = network.gradient_norm();
    network.step(static_cast<float>(how.learning_rate), static_cast<float>(how.momentum));
    if (step % k_eval_every == 0) now.eval_loss = network.loss(held_out);
    steps.push_back(now);
  }
  return steps;
}

std::string log_of(const TinyTraining& how, const std::vector<TinyStep>& steps) {
  std::string text;
  for (const TinyStep& each : steps) {
    if (each.step <= 20 || each.step % 5 == 0)
      text += fmt::format("step {}/{} | loss {} | grad_norm {} | lr {:g}\n", each.step, how.steps,
                          shown(each.loss), shown(each.grad_norm), how.learning_rate);
    if (each.step % k_eval_every == 0)
      text +=
          fmt::format("step {}/{} | eval_loss {}\n", each.step, how.steps, shown(each.eval_loss));
  }
  return text;
}

std::string config_of(const TinyTraining& how) {
  return fmt::format(
      "# A regression with two layers on points on waves.\n"
      "learning_rate: {:g}\noptimizer: sgd\nmomentum: {:g}\nper_device_train_batch_size: "
      "{}\nmax_steps: {}\nseed: {}\n",
      how.learning_rate, how.momentum, how.batch_size, how.steps, how.seed);
}

}  // namespace aplomb::demo
