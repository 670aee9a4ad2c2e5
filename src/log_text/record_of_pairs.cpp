#include "log_text/record_of_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text.h"

namespace aplomb::log_text {
namespace {

/// Words of a program's configuration. One may stand in a record (`lr`); several are a print of the
/// settings.
constexpr std::array<std::string_view, 30> k_of_settings = {
    "lr",    "learning_rate", "epochs",     "num_epochs", "n_epochs", "batch",        "batch_size",
    "bs",    "hidden",        "hidden_dim", "dim",        "layers",   "n_layers",     "heads",
    "width", "depth",         "dropout",    "momentum",   "wd",       "weight_decay", "warmup",
    "iters", "n_iters",       "max_steps",  "gamma",      "clip",     "temperature",  "workers",
    "vocab", "vocab_size"};
constexpr int k_settings_line = 3;

constexpr std::uint64_t k_record_reach = 8;  // lines of one record, head to end

bool has_fraction(const Pair& pair) { return !pair.integer; }

void add_to(Place& place, const Pair& pair, const KeyTable& keys) {
  if (pair.meaning == Meaning::step && std::isnan(place.step)) {
    place.step = pair.value;
    place.step_total = pair.total;
    place.absolute = keys[pair.key].absolute;
  } else if (pair.meaning == Meaning::epoch && std::isnan(place.epoch)) {
    place.epoch = pair.value;
  } else if (pair.meaning == Meaning::inner && std::isnan(place.inner)) {
    place.inner = pair.value;
    place.inner_total = pair.total;
  }
}

}  // namespace

bool prints_settings(std::string_view text, const std::vector<Pair>& pairs) {
  int settings = 0;
  for (const Pair& pair : pairs) {
    const std::string_view name = text.substr(pair.key_begin, pair.key_end - pair.key_begin);
    if (core::iequals(name, "seed")) return true;
    settings += std::any_of(k_of_settings.begin(), k_of_settings.end(),
                            [&](std::string_view word) { return core::iequals(name, word); })
                    ? 1
                    : 0;
  }
  return settings >= k_settings_line;
}

bool states_record(std::string_view text, const std::vector<Pair>& pairs, const KeyTable& keys,
                   std::uint64_t number, std::uint64_t last_record) {
  bool counts = false;
  bool epoch = false;
  bool known = false;
  bool fraction = false;
  int weight = 0;
  for (const Pair& pair : pairs) {
    if (pair.meaning == Meaning::metric) {
      weight += keys[pair.key].weight;
      known = true;
    } else if (pair.meaning == Meaning::unknown && pair.joint == Joint::sign) {
      fraction = fraction || has_fraction(pair);
    }
    // Settings are never NaN.
    if (pair.joint == Joint::sign && std::isnan(pair.value)) weight += 2;
    counts = counts || pair.meaning == Meaning::step || pair.meaning == Meaning::inner;
    epoch = epoch || pair.meaning == Meaning::epoch;
  }
  // `{'lr': 0.02, 'iters': 36, 'clip': 0.2, 'seed': 0}`: no step has a seed.
  if (weight < 2 && prints_settings(text, pairs)) return false;
  if (weight >= 2 || (counts && (known || fraction)) || (epoch && weight > 0)) return true;
  // ` >>> lr: 0.01` below the head of its record.
  const bool below = last_record != 0 && number - last_record <= k_record_reach;
  return known && below && (text.front() == ' ' || text.front() == '\t' || text.front() == '>');
}

Place place_of_pairs(const std::vector<Pair>& pairs, const KeyTable& keys) {
  Place place;
  for (const Pair& pair : pairs) add_to(place, pair, keys);
  return place;
}

namespace {

/// The number of the layer that the head of a line names, in front of its first key: `layer 3:`,
/// `  blocks.3.attn.weight`; -1 where it names none.
int layer_of_head(std::string_view head) {
  constexpr std::array<std::string_view, 5> k_names = {"layers", "layer", "blocks", "block", "h"};
  constexpr std::size_t k_longest_head = 80;
  if (head.size() > k_longest_head || head.find_first_of("={}|") != std::string_view::npos)
    return -1;
  for (std::size_t at = 0; at < head.size();) {
    const std::size_t end = std::min(head.find_first_of(" .:[]_/#", at), head.size());
    const std::string word = core::lower(head.substr(at, end - at));
    at = end + 1;
    if (std::find(k_names.begin(), k_names.end(), word) == k_names.end()) continue;
    const std::size_t digit = std::min(head.find_first_not_of(" .[_#", end), head.size());
    const std::string_view digits = head.substr(
        digit, std::min(head.find_first_not_of("0123456789", digit), head.size()) - digit);
    const auto number = core::parse_number(digits);
    if (number && *number < 10000) return static_cast<int>(*number);
  }
  return -1;
}

/// Whether the line tells of one layer only. A line with a loss or a step is a record of the run,
/// whatever its head is called.
bool is_of_layer(const std::vector<Pair>& pairs, const KeyTable& keys) {
  return std::none_of(pairs.begin(), pairs.end(), [&](const Pair& pair) {
    return pair.meaning == Meaning::step || pair.meaning == Meaning::epoch ||
           (pair.key != KeyTable::k_none && keys[pair.key].role == record::Role::loss);
  });
}

/// `layer 3: grad_norm 1e-4`, one line a layer below the head of their record: the norm of that
/// layer and not of all weights, under the name that programs give it in one line.
KeyId of_layer(std::string_view text, const Pair& pair, KeyTable& keys) {
  if (pair.key == KeyTable::k_none || keys[pair.key].role != record::Role::grad_norm)
    return pair.key;
  const int layer = layer_of_head(text.substr(0, pair.key_begin));
  return layer < 0 ? pair.key : keys.learn(fmt::format("grad_norm/layers.{}", layer), false);
}

}  // namespace

void gather_record(std::string_view text, const std::vector<Pair>& pairs, KeyTable& keys,
                   Record& out) {
  out.clear();
  out.place = place_of_pairs(pairs, keys);
  const bool layered = is_of_layer(pairs, keys);
  for (const Pair& pair : pairs) {
    KeyId key = layered ? of_layer(text, pair, keys) : pair.key;
    if (pair.meaning == Meaning::unknown)
      key = keys.learn(text.substr(pair.key_begin, pair.key_end - pair.key_begin), false);
    if (key == KeyTable::k_none || keys[key].meaning == Meaning::ignored) continue;
    const bool sampled = pair.meaning == Meaning::metric || pair.meaning == Meaning::unknown ||
                         (pair.meaning == Meaning::epoch && has_fraction(pair));
    if (!sampled) continue;
    const bool again =
        !pair.more && std::any_of(out.samples.begin(), out.samples.end(),
                                  [key](const Sample& sample) { return sample.key == key; });
    if (again) continue;
    out.samples.push_back({key, pair.value});
    out.train_loss = out.train_loss || keys[key].role == record::Role::loss;
  }
}

}  // namespace aplomb::log_text
