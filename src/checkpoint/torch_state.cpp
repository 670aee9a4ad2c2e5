#include "checkpoint/torch_state.h"

#include <algorithm>
#include <charconv>

#include "checkpoint/optimizer_state.h"
#include "checkpoint/pickle_walk.h"
#include "checkpoint/tensor_shard.h"
#include "pickle/loop_state.h"

namespace aplomb::checkpoint {
namespace {

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

class TorchState {
 public:
  TorchState(const StoredFile& file, Opening& opening)
      : file_(file), opening_(opening), out_(opening.out) {}

  void take(const TorchFile& read) {
    opening_.join(read.findings);
    if (file_.role == FileRole::scheduler) take_all_schedules(read.document);
    if (file_.role == FileRole::scaler)
      take_scaler(read.document, read.document.at(read.document.root));
    if (file_.role == FileRole::rng) {
      out_.rng_ranks.push_back(rank_of(file_.name()));
      join(pickle::generators_in(read.document), out_.generators);
    }
    if (file_.role == FileRole::data) out_.data_position.emplace_back(file_.name());
    take_optimizer(read);
    if (file_.role == FileRole::weights || file_.role == FileRole::adapter) take_weights(read);
  }

 private:
  /// Each rank's file holds all of what is not sharded.
  static std::shared_ptr<const TensorShard> whole_of(const tensors::Tensor& tensor) {
    return std::make_shared<const TensorShard>(
        TensorShard{tensor.shape, std::vector<std::int64_t>(tensor.shape.size(), 0), {}});
  }

  void take_weights(const TorchFile& file) {
    const bool of_rank = is_rank_file(file_.name());
    const pickle::PickleDocument& document = file.document;
    const pickle::PickleNode* part =
        first_of(document, {"state_dict", "model_state_dict", "model", "module", "net", "network",
                            "model_state", "weights", "params"});
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
    if (from != document.root) take_loop(document, from, optimizers);
    visit_tensors(document, from, [&](const std::string& name, std::size_t at) {
      if (theirs.count(at) > 0) return;
      tensors::Tensor tensor = file.tensors[at];
      tensor.name = name;
      if (of_rank && tensor.shard == nullptr) tensor.shard = whole_of(tensor);
      opening_.add_weight(std::move(tensor), file_.index);
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
    take_all_schedules(document);
    const pickle::PickleNode* scaler =
        first_of(document, {"scaler", "grad_scaler", "amp_scaler", "scaler_state_dict",
                            "scaler_state", "grad_scaler_state_dict"});
    if (scaler != nullptr) take_scaler(document, *scaler);
  }

  /// One schedule, or several: the first one's position and rate, and how many there are.
  void take_all_schedules(const pickle::PickleDocument& document) {
    std::size_t count = 0;
    for (const pickle::NodeId each : find_nodes(document, k_schedule_depth, true, is_schedule))
      count += take_schedule(document, document.at(each)) ? 1 : 0;
    if (count == 0 && file_.role == FileRole::scheduler)
      count += take_schedule(document, document.at(document.root)) ? 1 : 0;
    if (count > 0) out_.scheduler["schedules"] += static_cast<double>(count);
  }

  /// The state of a torch schedule, under whatever name (`muon_scheduler_state`, a list of several).
  static constexpr int k_schedule_depth = 4;  // root / "lr_scheduler" / "muon" / object / state
  static bool is_schedule(const pickle::PickleDocument& document, const pickle::PickleNode& node) {
    if (node.kind != pickle::PickleKind::dict || document.find(node, "last_epoch") == nullptr)
      return false;
    return document.find(node, "_last_lr") != nullptr ||
           document.find(node, "_step_count") != nullptr ||
           document.find(node, "base_lrs") != nullptr;
  }

  static void join(const std::vector<std::string>& names, std::vector<std::string>& into) {
    for (const std::string& each : names) {
      if (std::find(into.begin(), into.end(), each) == into.end()) into.push_back(each);
    }
  }

  /// Random states and the position in the data: of what is neither weights nor moments.
  void take_loop(const pickle::PickleDocument& document, pickle::NodeId weights,
                 const std::vector<pickle::NodeId>& optimizers) {
    std::unordered_set<pickle::NodeId> apart(optimizers.begin(), optimizers.end());
    apart.insert(weights);
    for (const pickle::NodeId each : find_nodes(document, k_schedule_depth, true, is_schedule))
      apart.insert(each);
    const pickle::LoopState found = pickle::loop_state_in(document, apart);
    join(found.generators, out_.generators);
    join(found.data_position, out_.data_position);
    if (!found.generators.empty() && out_.rng_ranks.empty()) out_.rng_ranks.push_back(-1);
  }

  void take_optimizer(const TorchFile& file) {
    auto state = read_optimizers(file, find_optimizers(file.document));
    if (!state) return;
    state->path = file_.path;
    opening_.add_optimizer(std::move(*state), is_rank_file(file_.name()));
  }

  bool take_schedule(const pickle::PickleDocument& document, const pickle::PickleNode& node) {
    if (document.find(node, "last_epoch") == nullptr) return false;
    for (const char* key : {"last_epoch", "_step_count"}) {
      if (const auto number = document.number(document.find(node, key)))
        out_.scheduler.emplace(key, *number);
    }
    const pickle::PickleNode* rates = document.find(node, "_last_lr");
    if (rates != nullptr && !rates->items.empty()) {
      if (const auto lr = document.number(&document.at(rates->items.front())))
        out_.scheduler.emplace("last_lr", *lr);
    }
    return true;
  }

  void take_scaler(const pickle::PickleDocument& document, const pickle::PickleNode& node) {
    for (const char* key : {"scale", "_growth_tracker", "growth_interval"}) {
      const auto number = document.number(document.find(node, key));
      if (number) out_.scaler.emplace(key, *number);
    }
  }

  const StoredFile& file_;
  Opening& opening_;
  Checkpoint& out_;
};

}  // namespace

std::string read_torch_state(const StoredFile& file, Opening& opening) {
  const auto read = read_torch(file.bytes(), file.mapped, file.path, opening.verify);
  if (!read) {
    opening.unreadable(file.path, read.error());
    return {};
  }
  take_torch_state(file, *read, opening);
  return read->format;
}

void take_torch_state(const StoredFile& file, const TorchFile& read, Opening& opening) {
  TorchState(file, opening).take(read);
}

}  // namespace aplomb::checkpoint
