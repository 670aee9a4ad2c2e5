#include "checkpoint/open_file.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "checkpoint/gguf.h"
#include "checkpoint/optimizer_state.h"
#include "checkpoint/own_files.h"
#include "checkpoint/pickle_walk.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/tensor_shard.h"
#include "core/text.h"
#include "tensors/mapped_file.h"

namespace aplomb::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t k_most_json = 256U << 20U;
constexpr std::string_view k_own_training_state = "training_state.json";

/// The first number that a key of this name has in JSON text: the keys asked for stand at the top
/// level before anything that nests (both files are written with sorted keys, log_history after
/// global_step), and `NaN` elsewhere in the file does no harm.
std::optional<double> json_number(std::string_view text, std::string_view key) {
  const std::string quoted = fmt::format("\"{}\"", key);
  for (std::size_t at = 0; (at = text.find(quoted, at)) != std::string_view::npos;) {
    at += quoted.size();
    std::string_view rest = core::trim(text.substr(at, 64));
    if (rest.empty() || rest.front() != ':') continue;
    rest = core::trim(rest.substr(1));
    if (rest.starts_with("true")) return 1;
    if (rest.starts_with("false")) return 0;
    const core::NumberPrefix number = core::parse_number_prefix(rest);
    if (number.size > 0) return number.value;
  }
  return std::nullopt;
}

void take_numbers(std::string_view text, std::initializer_list<std::string_view> keys,
                  std::map<std::string, double>& out) {
  for (const std::string_view key : keys) {
    if (const auto number = json_number(text, key)) out.emplace(key, *number);
  }
}

/// The two newest learning rates of a trainer_state.json's log_history: whether it rises.
void take_logged_rates(std::string_view text, std::map<std::string, double>& out) {
  constexpr std::string_view k_key = "\"learning_rate\"";
  std::size_t end = text.size();
  for (const char* name : {"last_logged_lr", "lr_logged_before"}) {
    const std::size_t at = end == 0 ? std::string_view::npos : text.rfind(k_key, end - 1);
    if (at == std::string_view::npos) return;
    if (const auto rate = json_number(text.substr(at, 96), "learning_rate")) {
      out.emplace(name, *rate);
    }
    end = at;
  }
}

/// `rng_state_3.pth` -> 3, `random_states_0.pkl` -> 0, `rng_state.pth` -> -1.
int rank_of(std::string_view name) {
  const std::size_t dot = name.find('.');
  const std::size_t line = name.substr(0, dot).rfind('_');
  int rank = -1;
  if (dot != std::string_view::npos && line != std::string_view::npos) {
    std::from_chars(name.data() + line + 1, name.data() + dot, rank);
  }
  return rank;
}

/// The values of the first of several keys that the root of a file has.
const pickle::PickleNode* first_of(const pickle::PickleDocument& document,
                                   std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    const pickle::PickleNode* found = document.find(document.at(document.root), key);
    if (found != nullptr) return found;
  }
  return nullptr;
}

class FileReader {
 public:
  explicit FileReader(Opening& opening) : opening_(opening), out_(opening.out) {}

  void file(const std::string& path, const std::string& role) {
    CheckpointFile entry{path, role, {}, 0, false};
    auto mapped = tensors::MappedFile::open(path);
    if (mapped) {
      entry.bytes = (*mapped)->size();
      entry.format = read(path, role, **mapped, *mapped, out_.files.size());
      entry.readable = !entry.format.empty();
    } else {
      opening_.note("checkpoint.unreadable", core::Severity::failed, path, mapped.error().text);
    }
    out_.files.push_back(std::move(entry));
  }

 private:
  /// The format, empty where it could not be read.
  std::string read(const std::string& path, const std::string& role,
                   const tensors::MappedFile& file, std::shared_ptr<const void> owner,
                   std::size_t index) {
    if (role == "trainer-state" || role == "config") return read_json(path, role, file);
    if (file.size() == 0)
      return refuse(path, "is empty; the disk was full, or it is being written");
    if (looks_like_torch(file.bytes()) && !path.ends_with(".safetensors")) {
      return read_pickled(path, role, file, std::move(owner), index);
    }
    if (file.text().starts_with("version https://git-lfs")) {
      return refuse(path, "is a Git LFS pointer, not the file itself; run git lfs pull");
    }
    if (looks_like_safetensors(file.bytes()) || path.ends_with(".safetensors")) {
      return read_safe(path, role, file, owner, index);
    }
    if (file.text().starts_with("\x89HDF"))
      return refuse(path, "is HDF5 (Keras), which is not read");
    if (looks_like_gguf(file.bytes())) return read_blocks(path, file, owner, index);
    return read_pickled(path, role, file, std::move(owner), index);
  }

  std::string refuse(const std::string& path, const std::string& why) {
    opening_.note("checkpoint.unsupported", core::Severity::warning, path,
                  fmt::format("[checkpoint] {} {}", path, why));
    return {};
  }

  std::string read_json(const std::string& path, const std::string& role,
                        const tensors::MappedFile& file) {
    if (file.size() > k_most_json) return refuse(path, "is too large for its name");
    if (fs::path(path).filename() == k_own_training_state) {
      if (take_training_state(file.text(), out_)) return "json";
      return refuse(path, "is no JSON; it was cut off, or is being written");
    }
    if (role == "config") {
      take_numbers(file.text(),
                   {"num_hidden_layers", "n_layer", "initializer_range", "tie_word_embeddings",
                    "vocab_size", "hidden_size", "r", "lora_alpha"},
                   out_.config);
    } else {
      take_numbers(file.text(), {"global_step", "max_steps", "epoch", "train_batch_size"},
                   out_.trainer_state);
      take_logged_rates(file.text(), out_.trainer_state);
    }
    return "json";
  }

  std::string read_safe(const std::string& path, const std::string& role,
                        const tensors::MappedFile& file, const std::shared_ptr<const void>& owner,
                        std::size_t index) {
    auto read = read_safetensors(file.bytes(), owner, path);
    if (!read) {
      opening_.note("checkpoint.unreadable", core::Severity::failed, path, read.error().text);
      return {};
    }
    opening_.join(read->findings);
    if (role == "optimizer" || is_optimizer_file(*read)) {
      if (auto state = optimizer_of(std::move(*read), path))
        opening_.add_optimizer(std::move(*state), false);
      return "safetensors";
    }
    for (tensors::Tensor& tensor : read->tensors) opening_.add_weight(std::move(tensor), index);
    return "safetensors";
  }

  std::string read_blocks(const std::string& path, const tensors::MappedFile& file,
                          const std::shared_ptr<const void>& owner, std::size_t index) {
    auto read = read_gguf(file.bytes(), owner, path);
    if (!read) {
      opening_.note("checkpoint.unreadable", core::Severity::failed, path, read.error().text);
      return {};
    }
    opening_.join(read->findings);
    for (tensors::Tensor& tensor : read->tensors) opening_.add_weight(std::move(tensor), index);
    return "gguf";
  }

  std::string read_pickled(const std::string& path, const std::string& role,
                           const tensors::MappedFile& file, std::shared_ptr<const void> owner,
                           std::size_t index) {
    auto read = read_torch(file.bytes(), std::move(owner), path, opening_.verify);
    if (!read) {
      opening_.note("checkpoint.unreadable", core::Severity::failed, path, read.error().text);
      return {};
    }
    opening_.join(read->findings);
    if (role == "scheduler") take_scheduler(read->document);
    if (role == "scaler") take_scaler(read->document);
    if (role == "rng") out_.rng_ranks.push_back(rank_of(fs::path(path).filename().string()));
    take_optimizer(path, *read);
    if (role == "weights" || role == "adapter") {
      take_weights(*read, index, is_rank_file(fs::path(path).filename().string()));
    }
    return read->format;
  }

  /// Each rank's file holds all of what is not sharded.
  static std::shared_ptr<const TensorShard> whole_of(const tensors::Tensor& tensor) {
    return std::make_shared<const TensorShard>(
        TensorShard{tensor.shape, std::vector<std::int64_t>(tensor.shape.size(), 0), {}});
  }

  void take_weights(const TorchFile& file, std::size_t index, bool of_rank) {
    const pickle::PickleDocument& document = file.document;
    const pickle::PickleNode* part =
        first_of(document, {"state_dict", "model_state_dict", "model", "module", "net", "network"});
    pickle::NodeId from = document.root;
    if (part != nullptr &&
        (part->kind == pickle::PickleKind::dict || part->kind == pickle::PickleKind::object)) {
      from = static_cast<pickle::NodeId>(part - document.nodes.data());
      take_progress(document);
    }
    const std::vector<pickle::NodeId> optimizers = find_optimizers(document);
    std::unordered_set<std::size_t> theirs;
    for (const pickle::NodeId id : optimizers) {
      visit_tensors(document, id, [&](const std::string&, std::size_t at) { theirs.insert(at); });
    }
    visit_tensors(document, from, [&](const std::string& name, std::size_t at) {
      if (theirs.count(at) > 0) return;
      tensors::Tensor tensor = file.tensors[at];
      tensor.name = name;
      if (of_rank && tensor.shard == nullptr) tensor.shard = whole_of(tensor);
      opening_.add_weight(std::move(tensor), index);
    });
    out_.in_model_order = true;
  }

  /// `global_step`, `epoch` of files that hold everything (Lightning, nanoGPT, own loops).
  void take_progress(const pickle::PickleDocument& document) {
    for (const char* key : {"global_step", "step", "iteration", "iter_num", "epoch"}) {
      const auto number = document.number(document.find(document.at(document.root), key));
      if (!number) continue;
      const bool epoch = std::string_view(key) == "epoch";
      out_.trainer_state.emplace(epoch ? "epoch" : "global_step", *number);
    }
  }

  void take_optimizer(const std::string& path, const TorchFile& file) {
    auto state = read_optimizers(file, find_optimizers(file.document));
    if (!state) return;
    state->path = path;
    opening_.add_optimizer(std::move(*state), is_rank_file(fs::path(path).filename().string()));
  }

  void take_scheduler(const pickle::PickleDocument& document) {
    const pickle::PickleNode& root = document.at(document.root);
    for (const char* key : {"last_epoch", "_step_count"}) {
      if (const auto number = document.number(document.find(root, key))) {
        out_.scheduler.emplace(key, *number);
      }
    }
    const pickle::PickleNode* rates = document.find(root, "_last_lr");
    if (rates == nullptr || rates->items.empty()) return;
    if (const auto lr = document.number(&document.at(rates->items.front()))) {
      out_.scheduler.emplace("last_lr", *lr);
    }
  }

  void take_scaler(const pickle::PickleDocument& document) {
    for (const char* key : {"scale", "_growth_tracker", "growth_interval"}) {
      const auto number = document.number(document.find(document.at(document.root), key));
      if (number) out_.scaler.emplace(key, *number);
    }
  }

  Opening& opening_;
  Checkpoint& out_;
};

}  // namespace

std::string role_of_file(std::string_view name) {
  const auto starts = [&](std::string_view head) { return name.starts_with(head); };
  const auto ends = [&](std::string_view tail) { return name.ends_with(tail); };
  if (ends(".index.json")) return "index";
  if (name == "trainer_state.json" || name == k_own_training_state) return "trainer-state";
  if (name == "config.json" || name == "adapter_config.json") return "config";
  const bool pickled = ends(".pt") || ends(".bin") || ends(".pth") || ends(".pkl");
  if (starts("optimizer") && (pickled || ends(".safetensors") || ends(".state")))
    return "optimizer";
  if (pickled && starts("scheduler")) return "scheduler";
  if (pickled && starts("scaler")) return "scaler";
  if (pickled && (starts("rng_state") || starts("random_states"))) return "rng";
  if (name == "training_args.bin") return "arguments";
  if (starts("adapter_model.")) return "adapter";
  if (ends(".safetensors") || ends(".ckpt") || ends(".gguf") || (pickled && !ends(".pkl")))
    return "weights";
  return "other";
}

void open_file(Opening& opening, const std::string& path, const std::string& role) {
  FileReader(opening).file(path, role);
}

}  // namespace aplomb::checkpoint
