/// One side of train_step.py: training steps of a model folder, on request.
///
///     train_step_bench MODEL ADAPTER COMPUTE ATTENTION IDS     (a PEFT folder; float32 | bfloat16;
///     eager | sdpa)
///
/// IDS: lines of token ids, one batch row a line, every label counts. Reads numbers of steps from
/// standard input, one a line; after so many steps prints `seconds processor_seconds loss
/// peak_rss_bytes` (loss: mean of the last step, before its update). A step is forward, backward,
/// AdamW over the adapter. Before the first line it prints `ready`.

#include <fmt/format.h>
#include <sys/resource.h>
#include <torch/optim/adamw.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <iostream>
#include <sstream>

#include "train/model/adapter.h"
#include "train/model/process_memory.h"

namespace {

using namespace aplomb::train;

train::text::TokenBatch read_batch(const std::string& path) {
  train::text::TokenBatch batch;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line); ++batch.rows) {
    std::istringstream words(line);
    batch.columns = 0;
    for (std::int64_t id = 0; words >> id; ++batch.columns) {
      batch.ids.push_back(id);
      batch.labels.push_back(batch.columns == 0 ? train::text::k_ignored : id);
      batch.positions.push_back(batch.columns);
      batch.segments.push_back(0);
    }
  }
  return batch;
}

std::int64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  train::model::keep_freed_memory();
  const torch::Dtype dtype =
      std::string(argv[3]) == "bfloat16" ? torch::kBFloat16 : torch::kFloat32;
  train::model::ModelOptions options;
  options.base = dtype;
  options.compute = dtype;
  options.attention = std::string(argv[4]) == "eager" ? train::model::Attention::eager
                                                      : train::model::Attention::sdpa;
  const auto model = train::model::load_model(argv[1], options);
  if (!model || !train::model::load_adapter(**model, argv[2])) return 1;
  (*model)->train();
  std::vector<torch::Tensor> trained;
  for (const auto& [name, each] : (*model)->trainable_parameters()) trained.push_back(each);
  torch::optim::AdamW optimizer(trained, torch::optim::AdamWOptions(1e-3).weight_decay(0));
  const train::text::TokenBatch batch = read_batch(argv[5]);
  std::cout << "ready" << std::endl;
  for (int steps = 0; std::cin >> steps;) {
    const auto begin = std::chrono::steady_clock::now();
    const std::clock_t processor_begin = std::clock();  // of all threads
    double loss = 0;
    for (int i = 0; i < steps; ++i) {
      const train::model::LossSum sum = (*model)->loss(batch);
      optimizer.zero_grad();
      (sum.sum / static_cast<double>(sum.count)).backward();
      optimizer.step();
      loss = sum.cross_entropy.item<double>() / static_cast<double>(sum.count);
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    const double processor = static_cast<double>(std::clock() - processor_begin) / CLOCKS_PER_SEC;
    std::cout << fmt::format("{:.6f} {:.6f} {:.8f} {}", taken.count(), processor, loss,
                             peak_bytes())
              << std::endl;
  }
  return 0;
}
