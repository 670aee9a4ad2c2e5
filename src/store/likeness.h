#pragma once
/// What the stores share: when two runs are alike, what of a run is searched, its names.

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "store/past_run.h"

namespace aplomb::store {

/// Symptoms that say that something is wrong.
std::set<std::string> troubles(const PastRun& run);
std::vector<std::string> shared(const std::set<std::string>& a, const std::set<std::string>& b);
/// At least half of the symptoms that either has are of both.
bool are_alike(const std::set<std::string>& a, const std::set<std::string>& b);

Helped helped_of(std::string_view word);
/// What `aplomb history search` looks through.
std::string words_of(const PastRun& run);

std::uint64_t hash_of(std::string_view text);
/// Eight digits.
std::string new_id();
/// A name for this machine that tells it from others and is not its own.
std::string host_pseudonym(const std::string& salt);

}  // namespace aplomb::store
