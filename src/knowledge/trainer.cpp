#include "knowledge/trainer.h"

#include <algorithm>
#include <map>
#include <vector>

#include "knowledge/framework.h"

namespace aplomb::knowledge {
namespace {

struct Votes {
  int sources = 0;   // artifacts that show the framework's own words: sure
  int settings = 0;  // keys that its table knows: other tables may know them too
  int all() const { return sources + settings; }
};

std::map<std::string, Votes> votes_of(const record::Run& run) {
  std::map<std::string, Votes> votes;
  for (const record::Source& source : run.sources) ++votes[source.framework].sources;
  for (const record::Setting& setting : run.settings) ++votes[setting.framework].settings;
  std::erase_if(votes, [](const auto& each) {
    const Framework* framework = find_framework(each.first);
    return framework == nullptr || framework->part;
  });
  return votes;
}

/// Whether a user of `upper` also writes `lower`'s keys: as its own, or in its files.
bool stands_on(const std::string& upper, const std::string& lower) {
  const Framework* framework = find_framework(upper);
  if (framework == nullptr) return false;
  const auto& also = framework->also;
  return framework->extends == lower || std::find(also.begin(), also.end(), lower) != also.end();
}

/// `slug`, what it is built on, what that is built on, ...
std::vector<std::string_view> bases_of(std::string_view slug) {
  constexpr std::size_t k_deepest = 8;  // tables that stand on each other end here
  std::vector<std::string_view> bases = {slug};
  const Framework* framework = find_framework(slug);
  while (framework != nullptr && !framework->extends.empty() && bases.size() < k_deepest) {
    bases.emplace_back(framework->extends);
    framework = find_framework(framework->extends);
  }
  return bases;
}

/// A trainer that knows no rewards, in a run that has them, is the one built on it that prints
/// alike (`with_rewards` of its table).
std::string rewarded_form(const std::string& slug, const record::Run& run) {
  const Framework* framework = find_framework(slug);
  const bool other = framework != nullptr && !framework->with_rewards.empty() &&
                     run.primary(record::Role::reward) != nullptr;
  return other ? framework->with_rewards : slug;
}

}  // namespace

std::string trainer_of(const record::Run& run) {
  std::map<std::string, Votes> votes = votes_of(run);
  int most = 0;
  for (const auto& [slug, count] : votes) most = std::max(most, count.all());
  // Keys alone are shared by many tables: half of the leader's are needed to count.
  std::erase_if(votes, [most](const auto& each) {
    return each.second.sources == 0 && 2 * each.second.all() < most;
  });
  std::string best;
  int best_votes = 0;
  for (const auto& [slug, count] : votes) {
    const bool is_lower =
        std::any_of(votes.begin(), votes.end(),
                    [&lower = slug](const auto& other) { return stands_on(other.first, lower); });
    if (is_lower || count.all() <= best_votes) continue;
    best = slug;
    best_votes = count.all();
  }
  return rewarded_form(best, run);
}

std::string base_of(std::string_view slug) { return std::string(bases_of(slug).back()); }

bool is_built_on(std::string_view slug, std::string_view base) {
  const std::vector<std::string_view> bases = bases_of(slug);
  return std::find(bases.begin(), bases.end(), base) != bases.end();
}

}  // namespace aplomb::knowledge
