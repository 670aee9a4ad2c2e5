#include "log_text/keys.h"

#include <cstring>
#include <utility>

namespace aplomb::log_text {

KeyTable::KeyTable(std::string_view framework) : framework_(framework) {
  keys_.emplace_back();
  hashes_.push_back(0);
  slots_.assign(256, 0);
  misses_.assign(k_misses, 0);
}

/// FNV-1a over eight bytes at a time: keys are short, and the table verifies every hit.
std::uint64_t KeyTable::hash(std::string_view key, bool eval_scope) {
  std::uint64_t value = 0xCBF29CE484222325ULL ^ (eval_scope ? 0x9E3779B97F4A7C15ULL : 0);
  while (key.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, key.data(), 8);
    value = (value ^ word) * 0x9FB21C651E98DF25ULL;
    value ^= value >> 32U;
    key.remove_prefix(8);
  }
  std::uint64_t tail = key.size();
  for (const char c : key) tail = tail << 8U | static_cast<unsigned char>(c);
  value = (value ^ tail) * 0x9FB21C651E98DF25ULL;
  return value ^ (value >> 29U);
}

KeyId KeyTable::seek(std::string_view key, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = static_cast<std::size_t>(hash) & mask; slots_[at] != k_none;
       at = (at + 1) & mask) {
    const KeyId id = slots_[at];
    if (hashes_[id] == hash && keys_[id].raw == key) return id;
  }
  return k_none;
}

KeyId KeyTable::add(Key key, std::uint64_t hash) {
  if (keys_.size() >= k_most_keys) return k_none;
  keys_.push_back(std::move(key));
  hashes_.push_back(hash);
  if (keys_.size() * 2 > slots_.size()) {
    grow();
  } else {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = static_cast<std::size_t>(hash) & mask;
    while (slots_[at] != k_none) at = (at + 1) & mask;
    slots_[at] = static_cast<KeyId>(keys_.size() - 1);
  }
  return static_cast<KeyId>(keys_.size() - 1);
}

KeyId KeyTable::find(std::string_view key, bool eval_scope) {
  const std::uint64_t wanted = hash(key, eval_scope);
  if (const KeyId id = seek(key, wanted); id != k_none)
    return keys_[id].meaning == Meaning::unknown ? k_none : id;
  std::uint64_t& miss = misses_[wanted % k_misses];
  if (miss == wanted) return k_none;
  Key fresh = understand_key(key, eval_scope, framework_);
  if (fresh.meaning == Meaning::unknown) {
    miss = wanted;
    return k_none;
  }
  return add(std::move(fresh), wanted);
}

KeyId KeyTable::learn(std::string_view key, bool eval_scope) {
  const std::uint64_t wanted = hash(key, eval_scope);
  if (const KeyId id = seek(key, wanted); id != k_none) return id;
  return add(understand_key(key, eval_scope, framework_), wanted);
}

void KeyTable::grow() {
  slots_.assign(slots_.size() * 2, 0);
  const std::size_t mask = slots_.size() - 1;
  for (KeyId id = 1; id < keys_.size(); ++id) {
    std::size_t at = static_cast<std::size_t>(hashes_[id]) & mask;
    while (slots_[at] != k_none) at = (at + 1) & mask;
    slots_[at] = id;
  }
}

}  // namespace aplomb::log_text
