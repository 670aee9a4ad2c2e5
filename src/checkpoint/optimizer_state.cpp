#include "checkpoint/optimizer_state.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "checkpoint/coded_tensor.h"
#include "checkpoint/tensor_shard.h"
#include "core/text.h"

namespace aplomb::checkpoint {
namespace {

constexpr std::size_t k_most_search = 20'000;  // nodes looked at: optimizers lie near the root

constexpr std::string_view k_bitsandbytes = "__bnb_optimizer_quant_state__";

bool is_optimizer(const pickle::PickleDocument& document, const pickle::PickleNode& node) {
  if (node.kind != pickle::PickleKind::dict) return false;
  const pickle::PickleNode* state = document.find(node, "state");
  const pickle::PickleNode* groups = document.find(node, "param_groups");
  return state != nullptr && state->kind == pickle::PickleKind::dict && groups != nullptr &&
         (groups->kind == pickle::PickleKind::list || groups->kind == pickle::PickleKind::tuple);
}

class Reader {
 public:
  Reader(const TorchFile& file, OptimizerState& out, std::int64_t shift)
      : file_(file), document_(file.document), out_(out), shift_(shift) {}

  void read(const pickle::PickleNode& node) {
    const pickle::PickleNode* groups = document_.find(node, "param_groups");
    const pickle::PickleNode* state = document_.find(node, "state");
    if (groups == nullptr || state == nullptr) return;
    for (const pickle::NodeId id : groups->items) take_group(document_.at(id));
    for (std::size_t i = 0; i + 1 < state->items.size(); i += 2) {
      take_state(id_of(document_.at(state->items[i])), document_.at(state->items[i + 1]));
    }
  }

 private:
  /// Ids are numbers, or names in FSDP's full state dicts: those are numbered as they come.
  std::int64_t id_of(const pickle::PickleNode& key) {
    if (key.kind != pickle::PickleKind::text) return key.number + shift_;
    const auto fresh = static_cast<std::int64_t>(out_.names.size());
    const auto [found, added] = named_.emplace(key.text, fresh);
    if (added) {
      out_.names.emplace_back(key.text);
      out_.name_keyed = true;
    }
    return found->second;
  }

  void take_group(const pickle::PickleNode& node) {
    OptimizerGroup group;
    if (node.kind != pickle::PickleKind::dict) return;
    for (std::size_t i = 0; i + 1 < node.items.size(); i += 2) {
      const std::string key(document_.at(node.items[i]).text);
      const pickle::PickleNode& value = document_.at(node.items[i + 1]);
      if (key == "params") {
        for (const pickle::NodeId id : value.items)
          group.parameters.push_back(id_of(document_.at(id)));
      } else if (key == "betas" && value.items.size() == 2) {
        take_number(group, "beta1", document_.at(value.items[0]));
        take_number(group, "beta2", document_.at(value.items[1]));
      } else if (value.kind == pickle::PickleKind::text) {
        group.words[key] = core::sanitize(value.text);
      } else {
        take_number(group, key, value);
      }
    }
    const auto decoupled = group.numbers.find("decoupled_weight_decay");
    group.decoupled = decoupled == group.numbers.end() || decoupled->second != 0;
    out_.groups.push_back(std::move(group));
  }

  void take_number(OptimizerGroup& group, const std::string& key, const pickle::PickleNode& value) {
    std::optional<double> number = document_.number(&value);
    if (!number && value.kind == pickle::PickleKind::tensor)
      number = scalar(value);  // lr as a tensor
    if (number) group.numbers[key] = *number;
  }

  std::optional<double> scalar(const pickle::PickleNode& node) const {
    const tensors::Tensor& tensor = file_.tensors[static_cast<std::size_t>(node.number)];
    double value = 0;
    if (tensor.count != 1 || !tensors::read_elements(tensor, 0, std::span(&value, 1)))
      return std::nullopt;
    return value;
  }

  void take_state(std::int64_t id, const pickle::PickleNode& node) {
    ParameterState state;
    state.id = id;
    if (node.kind != pickle::PickleKind::dict) return;
    std::map<std::string, tensors::Tensor> tensors;
    collect(node, state, tensors);
    decode_states(tensors);
    const bool named = out_.name_keyed && static_cast<std::size_t>(id) < out_.names.size();
    const std::string owner =
        named ? core::sanitize(out_.names[static_cast<std::size_t>(id)]) : std::to_string(id);
    for (auto& [key, tensor] : tensors) {
      state.tensors[key] = out_.tensors.size();
      out_.tensors.push_back(std::move(tensor));
      out_.tensors.back().name = owner + "." + core::sanitize(key);
    }
    out_.states.push_back(std::move(state));
  }

  void collect(const pickle::PickleNode& node, ParameterState& state,
               std::map<std::string, tensors::Tensor>& tensors) const {
    for (std::size_t i = 0; i + 1 < node.items.size(); i += 2) {
      const std::string key(document_.at(node.items[i]).text);
      const pickle::PickleNode& value = document_.at(node.items[i + 1]);
      if (key == "step") {
        state.step =
            value.kind == pickle::PickleKind::tensor ? scalar(value) : document_.number(&value);
      } else if (auto tensor = tensor_of(value)) {
        tensors.insert_or_assign(key, std::move(*tensor));
      } else if (key == k_bitsandbytes && value.kind == pickle::PickleKind::dict &&
                 tensors.empty()) {
        collect(value, state, tensors);
      }
    }
  }

  /// A tensor, a rank's part of one, or the values of one that is kept in a code.
  std::optional<tensors::Tensor> tensor_of(const pickle::PickleNode& node) const {
    if (node.kind == pickle::PickleKind::tensor) return tensor_at(&node);
    if (const auto local = local_tensor(document_, node)) return tensor_at(&document_.at(*local));
    const auto shape = wrapper_size(document_, node);
    const auto codes = shape ? tensor_at(document_.find(node, "codes")) : std::nullopt;
    const auto scales = codes ? tensor_at(document_.find(node, "scale")) : std::nullopt;
    if (!scales) return std::nullopt;
    TensorCode code{*codes, {}, *scales};
    if (const auto map = tensor_at(document_.find(node, "qmap")); map && map->count <= 256) {
      code.values.resize(map->count);
      if (!tensors::read_elements(*map, 0, std::span<float>(code.values))) return std::nullopt;
    }
    return decode_tensor(std::move(code), *shape);
  }
  std::optional<tensors::Tensor> tensor_at(const pickle::PickleNode* node) const {
    if (node == nullptr || node->kind != pickle::PickleKind::tensor) return std::nullopt;
    return file_.tensors[static_cast<std::size_t>(node->number)];
  }

  const TorchFile& file_;
  const pickle::PickleDocument& document_;
  OptimizerState& out_;
  std::int64_t shift_;
  std::unordered_map<std::string_view, std::int64_t> named_;
};

}  // namespace

const ParameterState* OptimizerState::state(std::int64_t id) const {
  const auto found =
      std::lower_bound(states.begin(), states.end(), id,
                       [](const ParameterState& each, std::int64_t key) { return each.id < key; });
  return found == states.end() || found->id != id ? nullptr : &*found;
}

std::vector<pickle::NodeId> find_nodes(const pickle::PickleDocument& document, int most_depth,
                                       bool in_objects, IsWanted is_wanted) {
  std::vector<pickle::NodeId> found;
  std::vector<bool> seen(document.nodes.size(), false);
  std::vector<std::pair<pickle::NodeId, int>> open{{document.root, 0}};
  std::size_t looked = 0;
  for (std::size_t at = 0; at < open.size() && looked < k_most_search; ++at) {
    const auto [id, depth] = open[at];
    if (seen[id]) continue;
    seen[id] = true;
    ++looked;
    const pickle::PickleNode& node = document.at(id);
    if (is_wanted(document, node)) {
      found.push_back(id);
      continue;
    }
    if (depth >= most_depth) continue;
    for (const pickle::NodeId child : node.items) {
      const pickle::PickleKind kind = document.at(child).kind;
      const bool enters = kind == pickle::PickleKind::dict || kind == pickle::PickleKind::list ||
                          (in_objects && kind == pickle::PickleKind::object);
      if (enters && open.size() < k_most_search) open.emplace_back(child, depth + 1);
    }
  }
  return found;
}

std::vector<pickle::NodeId> find_optimizers(const pickle::PickleDocument& document) {
  return find_nodes(document, 3, false,
                    is_optimizer);  // root / "optimizer_states" / list / state_dict
}

std::optional<OptimizerState> read_optimizers(const TorchFile& file,
                                              const std::vector<pickle::NodeId>& nodes) {
  if (nodes.empty()) return std::nullopt;
  OptimizerState state;
  state.optimizers = nodes.size();
  std::int64_t shift = 0;
  for (const pickle::NodeId id : nodes) {
    Reader(file, state, shift).read(file.document.at(id));
    for (const OptimizerGroup& group : state.groups) {
      for (const std::int64_t each : group.parameters) shift = std::max(shift, each + 1);
    }
  }
  std::stable_sort(state.states.begin(), state.states.end(),
                   [](const ParameterState& a, const ParameterState& b) { return a.id < b.id; });
  return state;
}

}  // namespace aplomb::checkpoint
