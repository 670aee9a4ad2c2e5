#include "log_text/learner.h"

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace aplomb::log_text {
namespace {

std::string_view key_text(std::string_view line, const Pair& pair) {
  return line.substr(pair.key_begin, pair.key_end - pair.key_begin);
}

std::uint64_t mix(std::uint64_t value, std::string_view text) {
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return (value ^ 0xFFU) * 0x100000001B3ULL;
}

bool is_one_letter(std::string_view line, const Pair& pair, char letter) {
  return pair.key_end == pair.key_begin + 1 && line[pair.key_begin] == letter;
}

/// `D 1.07 G 0.91`: discriminator and generator by their letters.
bool are_adversaries(std::string_view line, const std::vector<Pair>& pairs) {
  const auto has = [&](char letter) {
    return std::any_of(pairs.begin(), pairs.end(),
                       [&](const Pair& pair) { return is_one_letter(line, pair, letter); });
  };
  return has('D') && has('G');
}

/// What a column is called: as in the line, adversaries by what the letter stands for.
std::string name_of(std::string_view line, const Pair& pair, bool adversaries) {
  const std::string name(key_text(line, pair));
  return adversaries && (name == "D" || name == "G") ? name + " loss" : name;
}

}  // namespace

/// Whether the pair may be a metric: a name of one or two words. Longer phrases are prose (`Time to
/// load utils op: 0.27`); a single letter (`D 1.07 G 0.91`) is a name only among others.
bool Learner::takes(std::string_view line, const Pair& pair, std::size_t pairs) const {
  if (pair.meaning == Meaning::metric) return true;
  if (pair.meaning != Meaning::unknown || pair.joint == Joint::blank || pair.more) return false;
  const std::string_view key = key_text(line, pair);
  constexpr std::size_t k_others = 3;
  return key.size() >= (pairs > k_others ? 1U : 2U) &&
         std::count(key.begin(), key.end(), ' ') <= 1 && key.find('\\') == std::string_view::npos;
}

std::size_t Learner::needed(std::string_view line, const std::vector<Pair>& pairs) const {
  if (are_adversaries(line, pairs)) return k_known_lines;
  for (const Pair& pair : pairs) {
    if (!takes(line, pair, pairs.size())) continue;
    if (pair.meaning == Meaning::metric || core::icontains(key_text(line, pair), "loss"))
      return k_known_lines;
  }
  return k_unknown_lines;
}

/// Whether some column of the held lines is a measurement: it changes, and is not made of whole
/// numbers only, as counts, ports and sizes are.
bool Learner::varies(const Shape& shape, std::size_t needed, bool scale) {
  const std::size_t distinct_needed = std::min<std::size_t>(3, needed - 1);
  for (std::size_t column = 0; column < shape.held.front().values.size(); ++column) {
    std::vector<double> seen;
    bool fraction = false;
    for (const Held& held : shape.held) {
      const double value = held.values[column];
      fraction = fraction || value != std::floor(value);
      seen.push_back(value);
    }
    std::sort(seen.begin(), seen.end());
    const auto distinct =
        static_cast<std::size_t>(std::unique(seen.begin(), seen.end()) - seen.begin());
    if ((fraction || scale) && distinct >= distinct_needed) return true;
  }
  return false;
}

Learner::Shape* Learner::note(std::string_view line, const std::vector<Pair>& pairs, Held at) {
  // A library's warning repeats with other numbers and is no record.
  if (pairs.size() > k_most_pairs || line.find("Warning") != std::string_view::npos) return nullptr;
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const Pair& pair : pairs) {
    if (!takes(line, pair, pairs.size())) continue;
    hash = mix(hash, key_text(line, pair));
    at.values.push_back(pair.value);
  }
  if (at.values.empty()) return nullptr;
  const std::size_t lines = needed(line, pairs);
  auto known = shapes_.find(hash);
  if (known == shapes_.end()) {
    if (shapes_.size() >= k_most_shapes)
      std::erase_if(shapes_, [](const auto& one) { return !one.second.learned; });
    if (shapes_.size() >= k_most_shapes) return nullptr;
    known = shapes_.emplace(hash, Shape{}).first;
  }
  Shape& shape = known->second;
  if (!shape.held.empty() && shape.held.front().values.size() != at.values.size()) return nullptr;
  shape.held.push_back(std::move(at));
  if (shape.learned) return &shape;
  if (shape.held.size() < lines) return nullptr;
  // Loss scales are powers of two: the one measurement that has no fraction.
  const bool scale = std::any_of(pairs.begin(), pairs.end(), [this](const Pair& pair) {
    return pair.meaning == Meaning::metric && keys_[pair.key].role == record::Role::loss_scale;
  });
  if (!varies(shape, lines, scale)) {
    shape.held.erase(shape.held.begin());
    return nullptr;
  }
  const bool adversaries = are_adversaries(line, pairs);
  for (const Pair& pair : pairs) {
    if (!takes(line, pair, pairs.size())) continue;
    shape.keys.push_back(pair.meaning == Meaning::metric
                             ? pair.key
                             : keys_.learn(name_of(line, pair, adversaries), false));
  }
  shape.learned = true;
  return &shape;
}

}  // namespace aplomb::log_text
