#include "discovery/assemble.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "task/interleaved_evals.h"
#include "task/roles.h"
#include "task/score_series.h"

namespace aplomb::discovery {
namespace {

/// So many samples tell one run from another; excerpts of a few lines, as bug reports quote them,
/// do not.
constexpr std::size_t k_least_to_tell_text = 20;
constexpr std::size_t k_least_to_tell = 5;

bool is_text(const record::Run& part) {
  return !part.sources.empty() && part.sources[0].kind == "text-log";
}

/// The series by which a fragment is compared with others.
const record::Series* lead_of(const record::Run& part) {
  for (const record::Role role : {record::Role::loss, record::Role::reward, record::Role::eval_loss,
                                  record::Role::accuracy, record::Role::loss_component}) {
    if (const record::Series* series = part.primary(role)) return series;
  }
  return nullptr;
}

bool equal_values(double a, double b) {
  // A console prints four digits of what the trainer's state keeps in full.
  constexpr double k_printed = 1e-3;
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::fabs(a - b) <= k_printed * std::max(std::fabs(a), std::fabs(b));
}

/// Steps that both have, and on how many of them the values agree. Steps are taken as they lie;
/// where they go back (a restart inside a series) the rest is not compared.
struct Overlap {
  std::size_t steps = 0;
  std::size_t equal = 0;
};

Overlap overlap_of(const record::Series& a, const record::Series& b) {
  Overlap overlap;
  std::size_t i = 0;
  std::size_t k = 0;
  while (i < a.size() && k < b.size()) {
    if (a.step[i] < b.step[k]) {
      ++i;
    } else if (a.step[i] > b.step[k]) {
      ++k;
    } else {
      ++overlap.steps;
      if (equal_values(a.value[i], b.value[k])) ++overlap.equal;
      ++i;
      ++k;
    }
  }
  return overlap;
}

bool one_kind(const record::Run& a, const record::Run& b) {
  return a.sources[0].kind == b.sources[0].kind;
}

/// Whether the two fragments are of two runs, by what they hold.
bool are_two_runs(const record::Run& a, const record::Run& b) {
  const record::Series* first = lead_of(a);
  const record::Series* second = lead_of(b);
  if (first == nullptr || second == nullptr || !one_kind(a, b)) return false;
  if (first->raw_name != second->raw_name || first->rank != second->rank) return false;
  const std::size_t least = is_text(a) ? k_least_to_tell_text : k_least_to_tell;
  if (first->count < least || second->count < least) return false;
  return relation_of(*first, *second) == Relation::unrelated &&
         relation_of(*second, *first) == Relation::unrelated;
}

/// Fragments of one folder -> of one run each. A fragment that tells of no run in particular (a
/// configuration) belongs to all of them.
class Folder {
 public:
  explicit Folder(std::vector<Fragment> fragments) : fragments_(std::move(fragments)) {}

  std::vector<record::Run> runs() {
    sort_into_clusters();
    std::vector<record::Run> out;
    for (std::size_t i = 0; i < clusters_.size(); ++i) {
      const bool several = clusters_.size() > 1;
      record::Run run;
      run.name =
          several ? fragments_[clusters_[i].front()].run.sources[0].path : fragments_[0].folder;
      for (const std::size_t part : clusters_[i]) merge_into(run, std::move(fragments_[part].run));
      for (const std::size_t part : shared_) merge_into(run, fragments_[part].run);
      lay_end_to_end(run);
      out.push_back(std::move(run));
    }
    return out;
  }

 private:
  void sort_into_clusters() {
    // The kind with the most artifacts first: it tells the runs apart, the others join them.
    std::map<std::string, std::size_t> of_kind;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < fragments_.size(); ++i) {
      if (lead_of(fragments_[i].run) == nullptr) {
        shared_.push_back(i);
      } else {
        ++of_kind[kind_of(i)];
        order.push_back(i);
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return of_kind[kind_of(a)] > of_kind[kind_of(b)];
    });
    for (const std::size_t i : order) {
      const std::size_t home = home_of(i);
      if (home == clusters_.size()) clusters_.emplace_back();
      clusters_[home].push_back(i);
    }
    for (auto& cluster : clusters_) std::sort(cluster.begin(), cluster.end());
    const bool several = clusters_.size() > 1;
    if (clusters_.empty()) clusters_.emplace_back();
    if (!several) {
      clusters_[0].insert(clusters_[0].end(), shared_.begin(), shared_.end());
      std::sort(clusters_[0].begin(), clusters_[0].end());
      shared_.clear();
    }
  }

  /// The cluster that the fragment belongs to: one with the same values, else the last that holds
  /// nothing against it.
  std::size_t home_of(std::size_t part) const {
    std::size_t home = clusters_.size();
    for (std::size_t i = clusters_.size(); i-- > 0;) {
      bool fits = true;
      for (const std::size_t other : clusters_[i]) {
        if (has_same_values(part, other)) return i;
        fits = fits && !are_two_runs(fragments_[other].run, fragments_[part].run);
      }
      if (fits && home == clusters_.size()) home = i;
    }
    return home;
  }

  const std::string& kind_of(std::size_t part) const {
    return fragments_[part].run.sources[0].kind;
  }

  bool has_same_values(std::size_t a, std::size_t b) const {
    const record::Series* first = lead_of(fragments_[a].run);
    const record::Series* second = lead_of(fragments_[b].run);
    return first != nullptr && second != nullptr && first->role == second->role &&
           relation_of(*first, *second) == Relation::same;
  }

  /// One evaluation at the end, which a trainer writes to an event file of its own, is no restart.
  static bool is_one_more(const record::Series& before, const record::Series& later) {
    return later.size() == 1 && later.line[0] == 0 && !before.empty() &&
           later.step[0] >= before.step[before.size() - 1];
  }

  /// Series of resumed artifacts are laid behind those that they go on; those that only repeat
  /// another artifact of the same kind (the state in an older checkpoint) are left out.
  static void lay_end_to_end(record::Run& run) {
    std::map<std::string, std::size_t>
        open;  // by kind, name and rank: the series that a later one may go on
    std::set<std::size_t> spent;
    std::set<record::SourceId> resumed;
    for (std::size_t i = 0; i < run.series.size(); ++i) {
      record::Series& series = run.series[i];
      const std::string key = run.sources[series.source].kind + '\x1f' + series.name + '\x1f' +
                              series.raw_name + '\x1f' + std::to_string(series.rank);
      const auto [known, fresh] = open.emplace(key, i);
      if (fresh) continue;
      record::Series& before = run.series[known->second];
      const Relation relation = relation_of(before, series);
      if (relation == Relation::goes_on && before.step_kind == series.step_kind) {
        if (is_one_more(before, series)) {
          before.append(series.step[0], series.value[0], before.segment[before.size() - 1], 0,
                        series.offset[0]);
        } else {
          if (resumed.insert(series.source).second) ++run.restarts;
          before.go_on_with(series);
        }
        spent.insert(i);
      } else if (relation == Relation::same && run.sources[series.source].kind == "trainer-state") {
        if (series.count > before.count) std::swap(before, series);
        spent.insert(i);
      } else if (series.count > before.count) {
        known->second = i;
      }
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < run.series.size(); ++i) {
      if (spent.contains(i)) continue;
      if (kept != i) run.series[kept] = std::move(run.series[i]);
      ++kept;
    }
    run.series.resize(kept);
  }

  std::vector<Fragment> fragments_;
  std::vector<std::vector<std::size_t>> clusters_;
  std::vector<std::size_t> shared_;
};

bool holds_metrics(const std::vector<Fragment>& fragments) {
  return std::any_of(fragments.begin(), fragments.end(),
                     [](const Fragment& each) { return !each.run.series.empty(); });
}

bool is_below(const std::string& folder, const std::string& above) {
  return folder.size() > above.size() && folder.compare(0, above.size(), above) == 0 &&
         (above.empty() || folder[above.size()] == '/');
}

using Folders = std::vector<std::vector<Fragment>>;

/// What lies in a folder without metrics (a configuration, a launch script's output) belongs to the
/// run it was made for: the only one there is, else those below the folder, else the one above it.
Folders with_companions(Folders folders) {
  std::vector<std::size_t> metric;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    if (holds_metrics(folders[i])) metric.push_back(i);
  }
  if (metric.empty()) {
    Folders one(1);
    for (auto& folder : folders)
      std::move(folder.begin(), folder.end(), std::back_inserter(one[0]));
    return one;
  }
  std::vector<bool> moved(folders.size(), false);
  for (std::size_t i = 0; i < folders.size(); ++i) {
    if (holds_metrics(folders[i])) continue;
    std::vector<std::size_t> homes;
    for (const std::size_t home : metric) {
      if (is_below(folders[home][0].folder, folders[i][0].folder)) homes.push_back(home);
    }
    if (homes.empty()) {
      for (const std::size_t home : metric) {
        if (is_below(folders[i][0].folder, folders[home][0].folder)) homes = {home};
      }
    }
    if (metric.size() == 1) homes = metric;
    for (const std::size_t home : homes)
      folders[home].insert(folders[home].end(), folders[i].begin(), folders[i].end());
    moved[i] = !homes.empty();
  }
  Folders left;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    if (!moved[i]) left.push_back(std::move(folders[i]));
  }
  return left;
}

/// Whether two artifacts of different kinds hold the same values one after the other, whatever steps
/// they give them: a console's lines have none, or those of a progress bar.
bool tell_the_same(const record::Run& a, const record::Run& b) {
  const record::Series* first = lead_of(a);
  const record::Series* second = lead_of(b);
  if (first == nullptr || second == nullptr || one_kind(a, b) || first->role != second->role)
    return false;
  const std::size_t both = std::min(first->size(), second->size());
  if (both < k_least_to_tell || 2 * both < std::max(first->size(), second->size())) return false;
  std::size_t equal = 0;
  std::set<double> kinds;
  for (std::size_t i = 0; i < both; ++i) {
    if (!equal_values(first->value[i], second->value[i])) continue;
    ++equal;
    if (std::isfinite(first->value[i])) kinds.insert(first->value[i]);
  }
  return 10 * equal >= 9 * both && kinds.size() >= k_least_to_tell;
}

bool are_one_run(const std::vector<Fragment>& a, const std::vector<Fragment>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Fragment& first) {
    return std::any_of(b.begin(), b.end(), [&](const Fragment& second) {
      return tell_the_same(first.run, second.run);
    });
  });
}

/// The console's log lies beside the program, what the trainer writes in an output folder of any
/// name: where both hold the same values they are of one run, and it is named by the upper one.
Folders with_outputs(Folders folders) {
  constexpr std::size_t k_most = 64;  // pairs are compared
  if (folders.size() > k_most) return folders;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    for (std::size_t k = folders.size(); k-- > i + 1;) {
      if (!are_one_run(folders[i], folders[k])) continue;
      std::vector<Fragment>& upper = folders[i];
      std::vector<Fragment> other = std::move(folders[k]);
      if (other[0].folder.size() < upper[0].folder.size()) std::swap(upper, other);
      std::move(other.begin(), other.end(), std::back_inserter(upper));
      folders.erase(folders.begin() + static_cast<std::ptrdiff_t>(k));
    }
  }
  return folders;
}

}  // namespace

Relation relation_of(const record::Series& first, const record::Series& second) {
  if (first.empty() || second.empty()) return Relation::unrelated;
  const bool stated = first.step_kind == record::StepKind::explicit_ &&
                      second.step_kind == record::StepKind::explicit_;
  const std::int64_t begin = first.step.front();
  const std::int64_t end = *std::max_element(first.step.begin(), first.step.end());
  // A resume starts at a checkpoint: some way into the run, or behind its end. A tenth of the way
  // keeps apart two runs whose first records merely differ.
  const bool later = second.step.front() > end ||
                     second.step.front() - begin >= std::max<std::int64_t>(1, (end - begin) / 10);
  const bool further = *std::max_element(second.step.begin(), second.step.end()) > end;
  const Overlap overlap = overlap_of(first, second);
  constexpr double k_nearly_all = 0.9;
  if (overlap.steps >= 2 &&
      static_cast<double>(overlap.equal) >= k_nearly_all * static_cast<double>(overlap.steps)) {
    return stated && later && further ? Relation::goes_on : Relation::same;
  }
  return stated && later ? Relation::goes_on : Relation::unrelated;
}

void merge_into(record::Run& run, record::Run part) {
  const auto shift = static_cast<record::SourceId>(run.sources.size());
  if (run.name.empty()) run.name = part.name;
  for (record::Source& source : part.sources) run.sources.push_back(std::move(source));
  for (record::Series& series : part.series) {
    series.source += shift;
    run.series.push_back(std::move(series));
  }
  for (record::Setting& setting : part.settings) {
    setting.origin.source += shift;
    run.settings.push_back(std::move(setting));
  }
  for (record::Event& event : part.events) {
    event.origin.source += shift;
    run.events.push_back(std::move(event));
  }
  for (record::Fact& fact : part.facts) {
    for (record::Origin& origin : fact.evidence) origin.source += shift;
    run.facts.push_back(std::move(fact));
  }
  for (record::Defect& defect : part.defects) {
    defect.source += shift;
    run.defects.push_back(std::move(defect));
  }
  run.restarts += part.restarts;
}

std::vector<record::Run> assemble(std::vector<Fragment> fragments) {
  Folders folders;
  std::map<std::string, std::size_t> by_folder;
  for (Fragment& fragment : fragments) {
    const auto [known, fresh] = by_folder.emplace(fragment.folder, folders.size());
    if (fresh) folders.emplace_back();
    folders[known->second].push_back(std::move(fragment));
  }
  if (folders.empty()) return {};
  std::vector<record::Run> runs;
  for (auto& folder : with_companions(with_outputs(std::move(folders)))) {
    for (record::Run& run : Folder(std::move(folder)).runs()) {
      task::settle_roles(run);
      task::note_scores(run);
      task::merge_interleaved_evals(run);
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

}  // namespace aplomb::discovery
