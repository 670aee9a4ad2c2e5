/// Runs a model on token ids from Python tests and writes what comes out, as safetensors.
///
///     model_probe logits MODEL IDS OUT [key=value...]       OUT holds `logits` [B, T, V]
///     model_probe gradients MODEL IDS OUT [key=value...]    ... `loss` (sum), and the gradient of all that trains
///     model_probe save MODEL OUT [key=value...]             a PEFT folder (after adapter=...), or a full model
///
/// IDS: lines of ids, one row a line; labels are the ids. Options: attention=eager|sdpa
/// base=|compute=float32|bfloat16, adapter=FOLDER (PEFT), merge=1, checkpointing=1, train=all,
/// z_loss=X, segments=N (documents of N tokens packed in a row), lora=RANK, dora=RANK, chunk=N.

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <sstream>

#include "train/model/adapter.h"
#include "train/model/weights.h"

namespace {

using namespace aplomb::train;
using namespace aplomb::train::model;
using Options = std::map<std::string, std::string>;

torch::Dtype dtype(const std::string& name) {
  if (name == "bfloat16") return torch::kBFloat16;
  return name == "float16" ? torch::kFloat16 : torch::kFloat32;
}

text::TokenBatch read_batch(const std::string& path, std::int64_t document) {
  text::TokenBatch batch;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::int64_t column = 0;
    for (std::int64_t id = 0; words >> id; ++column) {
      batch.ids.push_back(id);
      batch.labels.push_back(document > 0 && column % document == 0 ? text::k_ignored : id);
      batch.positions.push_back(document > 0 ? column % document : column);
      batch.segments.push_back(document > 0 ? column / document : 0);
    }
    batch.columns = column;
    ++batch.rows;
  }
  return batch;
}

[[noreturn]] void stop(const aplomb::core::Error& error) {
  fmt::print(stderr, "{}\n", error.text);
  std::exit(1);
}

std::shared_ptr<LanguageModel> open(const std::string& folder, Options& options,
                                    AdapterOptions& adapter) {
  ModelOptions how;
  how.base = dtype(options["base"]);
  how.compute = dtype(options["compute"]);
  how.attention = options["attention"] == "eager" ? Attention::eager : Attention::sdpa;
  how.gradient_checkpointing = options.contains("checkpointing");
  if (options.contains("z_loss")) how.z_loss = std::stod(options["z_loss"]);
  if (options.contains("chunk")) how.loss_chunk = std::stol(options["chunk"]);
  auto model = load_model(folder, how);
  if (!model) stop(model.error());
  if (options["train"] == "all") (*model)->train_all_parameters();
  if (options.contains("adapter")) {
    if (auto read = read_adapter_options(options["adapter"]); read) adapter = *read;
    if (auto loaded = load_adapter(**model, options["adapter"]); !loaded) stop(loaded.error());
  }
  for (const char* kind : {"lora", "dora"}) {
    if (!options.contains(kind)) continue;
    adapter.rank = std::stol(options[kind]);
    adapter.dora = std::string(kind) == "dora";
    if (auto attached = attach_adapter(**model, adapter); !attached) stop(attached.error());
  }
  if (options.contains("merge")) merge_adapter(**model);
  return *model;
}

void write(const std::string& path,
           const std::vector<std::pair<std::string, torch::Tensor>>& tensors) {
  if (auto written = write_safetensors(path, tensors); !written) stop(written.error());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  Options options;
  std::erase_if(words, [&](const std::string& word) {
    const auto at = word.find('=');
    if (at == std::string::npos || word.find('/') < at) return false;
    options[word.substr(0, at)] = word.substr(at + 1);
    return true;
  });
  if (words.size() < 3) return 2;
  torch::manual_seed(1);
  AdapterOptions adapter;
  const auto model = open(words[1], options, adapter);
  if (words[0] == "save") {
    const auto saved = options.contains("lora") || options.contains("dora") ||
                               (options.contains("adapter") && !options.contains("merge"))
                           ? save_adapter(*model, adapter, words[2], words[1])
                           : save_full(*model, words[2], torch::kFloat32);
    if (!saved) stop(saved.error());
    return 0;
  }
  const std::int64_t document = options.contains("segments") ? std::stol(options["segments"]) : 0;
  const text::TokenBatch batch = read_batch(words[2], document);
  if (words[0] == "logits") {
    const torch::NoGradGuard no_grad;
    model->eval();
    write(words[3],
          {{"logits", model->logits(make_input(batch, model->config().vocab_size, torch::kCPU))}});
    return 0;
  }
  model->train();
  const LossSum loss = model->loss(batch);
  loss.sum.backward();
  std::vector<std::pair<std::string, torch::Tensor>> found = {{"loss", loss.sum.detach()}};
  for (const auto& [name, tensor] : model->trainable_parameters())
    found.emplace_back(name, tensor.grad());
  write(words[3], found);
  return 0;
}
