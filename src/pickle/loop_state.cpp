#include "pickle/loop_state.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>

#include "core/text.h"

namespace aplomb::pickle {
namespace {

constexpr std::size_t k_most_keys = 4096;    // of one dict; more than that are weights
constexpr std::size_t k_most_listed = 16;    // names kept for people
constexpr std::int64_t k_mersenne = 5056;    // bytes of torch.get_rng_state()
constexpr std::int64_t k_philox = 16;        // bytes of torch.cuda.get_rng_state()
constexpr std::size_t k_python_words = 625;  // random.getstate()[1]

/// `consumedTrainSamples` and `consumed_train_samples` -> consumed, train, samples.
std::vector<std::string> words_of(std::string_view key) {
  std::vector<std::string> words(1);
  bool small_before = false;
  for (const char c : key.substr(0, 100)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter = std::isalnum(byte) != 0;
    const bool starts = std::isupper(byte) != 0 && small_before;
    if ((!letter || starts) && !words.back().empty()) words.emplace_back();
    if (letter) words.back() += static_cast<char>(std::tolower(byte));
    small_before = std::islower(byte) != 0;
  }
  return words;
}

bool any_of(const std::vector<std::string>& words, std::initializer_list<std::string_view> wanted) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(wanted.begin(), wanted.end(), word) != wanted.end();
  });
}

bool names_generator(const std::vector<std::string>& words) {
  return any_of(words, {"rng", "rngs", "prng"}) ||
         (any_of(words, {"random"}) && any_of(words, {"state", "states"}));
}

/// Which generator a key speaks of; empty: it does not say.
std::string_view generator_named(const std::vector<std::string>& words) {
  if (any_of(words, {"cuda", "gpu", "device"})) return "cuda";
  if (any_of(words, {"torch", "cpu", "pytorch"})) return "torch";
  if (any_of(words, {"numpy", "np"})) return "numpy";
  if (any_of(words, {"python", "py"})) return "python";
  return {};
}

/// Which generator's state a value is, by its form alone.
std::string_view generator_of(const PickleDocument& document, const PickleNode& node) {
  if (node.kind == PickleKind::tensor) {
    const PickleTensor& tensor = document.tensors[static_cast<std::size_t>(node.number)];
    const bool bytes = tensor.type != nullptr && tensor.type->name == "U8";
    if (!bytes || tensor.shape.size() != 1) return {};
    return tensor.shape[0] == k_mersenne ? "torch" : tensor.shape[0] == k_philox ? "cuda" : "";
  }
  if (node.kind != PickleKind::tuple && node.kind != PickleKind::list) return {};
  if (node.items.size() == 5 && document.at(node.items[0]).kind == PickleKind::text &&
      document.at(node.items[0]).text == "MT19937") {
    return "numpy";
  }
  const bool python = node.items.size() == 3 &&
                      document.at(node.items[1]).items.size() == k_python_words &&
                      document.at(node.items[0]).kind == PickleKind::integer;
  return python ? "python" : "";
}

/// `consumed_train_samples`, `tokens_seen`: Megatron keeps it among its arguments.
bool counts_data(const std::vector<std::string>& words) {
  return any_of(words, {"consumed", "seen", "processed", "trained", "global"}) &&
         any_of(words, {"samples", "tokens", "examples", "batches", "sequences", "documents",
                        "instances", "images"});
}

bool is_nothing(const PickleNode& node) {
  const bool holder = node.kind == PickleKind::list || node.kind == PickleKind::tuple ||
                      node.kind == PickleKind::dict || node.kind == PickleKind::set;
  return node.kind == PickleKind::none || (holder && node.items.empty());
}

void add_name(std::vector<std::string>& to, std::string_view name) {
  const std::string shown = core::shorten(core::sanitize(name), 60);
  if (to.size() < k_most_listed && std::find(to.begin(), to.end(), shown) == to.end())
    to.push_back(shown);
}

/// The dict in which a node keeps its members: itself, or an object's state.
const PickleNode* members_of(const PickleDocument& document, const PickleNode& node) {
  if (node.kind == PickleKind::dict) return &node;
  if (node.kind != PickleKind::object || node.items.size() < 3) return nullptr;
  const PickleNode& state = document.at(node.items[2]);
  return state.kind == PickleKind::dict ? &state : nullptr;
}

class LoopWalk {
 public:
  LoopWalk(const PickleDocument& document, const std::unordered_set<NodeId>& apart, LoopState& out)
      : document_(document), apart_(apart), out_(out) {}

  void walk(const PickleNode& node, int levels, bool of_settings = false) {
    const PickleNode* const members = members_of(document_, node);
    if (members == nullptr || members->items.size() > 2 * k_most_keys) return;
    for (std::size_t i = 0; i + 1 < members->items.size(); i += 2) {
      const PickleNode& key = document_.at(members->items[i]);
      const NodeId value = members->items[i + 1];
      if (key.kind != PickleKind::text || apart_.count(value) > 0) continue;
      if (!of_settings) {
        take(key.text, value, levels);
      } else if (counts_data(words_of(key.text)) && document_.number(&document_.at(value))) {
        add_name(out_.data_position, key.text);
      }
    }
  }

  /// The generators in a value that is known to hold some; `named`: what its key says it is of.
  void take_states(const PickleNode& node, std::string_view named, int levels) {
    if (is_nothing(node)) return;
    const std::string_view kind = generator_of(document_, node);
    if (!kind.empty() || !named.empty())
      return add_name(out_.generators, kind.empty() ? named : kind);
    const std::size_t before = out_.generators.size();
    const PickleNode* const members = members_of(document_, node);
    for (std::size_t i = 0;
         members != nullptr && levels > 0 && i + 1 < members->items.size() && i < 2 * k_most_listed;
         i += 2) {
      const PickleNode& key = document_.at(members->items[i]);
      const std::string_view text = key.kind == PickleKind::text ? key.text : std::string_view();
      take_states(document_.at(members->items[i + 1]), generator_named(words_of(text)), levels - 1);
    }
    const bool row = node.kind == PickleKind::list || node.kind == PickleKind::tuple;
    for (std::size_t i = 0; row && levels > 0 && i < node.items.size() && i < k_most_listed; ++i)
      take_states(document_.at(node.items[i]), {}, levels - 1);
    if (out_.generators.size() == before && levels == k_levels) add_name(out_.generators, "one");
  }

  static constexpr int k_levels = 2;

 private:
  void take(std::string_view key, NodeId id, int levels) {
    const PickleNode& value = document_.at(id);
    if (is_nothing(value)) return;
    const std::vector<std::string> words = words_of(key);
    if (names_generator(words) || !generator_of(document_, value).empty()) {
      take_states(value, generator_named(words), k_levels);
    } else if (names_data_position(key)) {
      // A word or a switch under such a key names the data, as settings do.
      if (value.kind != PickleKind::text && value.kind != PickleKind::boolean)
        add_name(out_.data_position, key);
    } else if (levels > 0) {
      walk(value, levels - 1,
           any_of(words, {"args", "arguments", "config", "hparams", "hyper", "settings"}));
    }
  }

  const PickleDocument& document_;
  const std::unordered_set<NodeId>& apart_;
  LoopState& out_;
};

}  // namespace

bool names_data_position(std::string_view key) {
  const std::vector<std::string> words = words_of(key);
  // Lightning keeps its progress through the batches in `loops`.
  if (any_of(words, {"sampler", "samplers", "dataloader", "dataloaders", "datamodule", "loader",
                     "loaders", "dataset", "loops"}))
    return true;
  if (any_of(words, {"data", "dataiter", "shard", "stream", "corpus"}))
    return any_of(words, {"position", "pos", "state", "states", "index", "idx", "offset", "cursor",
                          "iter", "iterator", "progress", "step", "loader", "epoch"});
  if (counts_data(words)) return true;
  if (any_of(words, {"epoch"}) && any_of(words, {"in", "within", "of"}))
    return any_of(words, {"step", "steps", "batch", "batches", "iter", "iteration", "position"});
  return any_of(words, {"batch", "sample", "example", "token"}) &&
         any_of(words, {"idx", "index", "position", "pos", "offset", "cursor", "number"});
}

LoopState loop_state_in(const PickleDocument& document, const std::unordered_set<NodeId>& apart) {
  LoopState out;
  LoopWalk(document, apart, out).walk(document.at(document.root), 1);
  return out;
}

std::vector<std::string> generators_in(const PickleDocument& document) {
  LoopState out;
  const std::unordered_set<NodeId> none;
  LoopWalk(document, none, out).take_states(document.at(document.root), {}, LoopWalk::k_levels);
  return out.generators;
}

}  // namespace aplomb::pickle
