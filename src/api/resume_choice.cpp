#include "api/resume_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include "checkpoint/changed_files.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/resume_audit.h"
#include "checkpoint/tensor_survey.h"
#include "core/text.h"
#include "discovery/file_search.h"
#include "input/json_cursor.h"
#include "tensors/mapped_file.h"

namespace aplomb::api {
namespace {

namespace fs = std::filesystem;
using checkpoint::Checkpoint;
using checkpoint::FileRole;

constexpr int k_most_depth = 4;
constexpr std::size_t k_most_entries = 20'000;

/// Parts of the checkpoint above them (accelerate), never checkpoints of their own.
bool is_part(std::string_view name) {
  return name.starts_with("pytorch_model_fsdp") || name.starts_with("optimizer_");
}

/// What writers call a folder that is not finished.
bool is_unfinished(std::string_view name) {
  return name.starts_with("tmp-") || name.starts_with("tmp_") || name.ends_with(".tmp") ||
         name.ends_with(".incomplete");
}

/// `checkpoint-500`, `global_step500`, `epoch=1-step=100.ckpt`: the step of a name.
std::optional<std::int64_t> step_in(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  if (!fs::is_directory(path)) name = fs::path(name).stem().string();
  std::size_t at = name.rfind("step");
  at = at == std::string::npos ? name.size() : name.find_first_of("0123456789", at);
  if (at == std::string::npos || at == name.size()) {
    at = name.size();
    while (at > 0 && std::isdigit(static_cast<unsigned char>(name[at - 1])) != 0) --at;
  }
  std::int64_t step = 0;
  const char* const end = name.data() + name.size();
  if (std::from_chars(name.data() + at, end, step).ec != std::errc()) return std::nullopt;
  return step;
}

/// The roles of the files in a folder, and of those in the parts below it, by their names.
std::set<FileRole> roles_in(const std::string& folder) {
  std::set<FileRole> roles;
  std::error_code why;
  std::size_t seen = 0;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, why);
  for (const fs::recursive_directory_iterator end; !why && at != end; at.increment(why)) {
    if (++seen > k_most_entries) break;
    if (at.depth() >= 1) at.disable_recursion_pending();
    const std::string name = at->path().filename().string();
    if (name.starts_with("optimizer_")) roles.insert(FileRole::optimizer);
    roles.insert(checkpoint::role_of_file(name));
  }
  return roles;
}

/// A folder of files each of which is a whole checkpoint (`epoch=3.ckpt`, `ckpt_500.pt`); empty where
/// the folder is one checkpoint.
std::vector<std::string> single_files(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code why;
  for (fs::directory_iterator at(folder, why), end; !why && at != end; at.increment(why)) {
    std::error_code none;
    if (!at->is_regular_file(none) || at->is_symlink(none)) continue;
    const std::string name = at->path().filename().string();
    const FileRole role = checkpoint::role_of_file(name);
    if (role == FileRole::weights) {
      if (name.find("-of-") != std::string::npos || name.starts_with("model.") ||
          name.starts_with("pytorch_model")) {
        return {};
      }
      if (!name.starts_with("mp_rank_") && !name.starts_with("zero_pp_rank_"))
        files.push_back(at->path().string());
    } else if (role != FileRole::other && role != FileRole::config) {
      return {};
    }
  }
  return files;
}

/// The checkpoints below a run's folder, by the folder that they lie in.
class CandidateSearch {
 public:
  std::map<std::string, std::vector<std::string>> below(const std::string& run) {
    std::error_code why;
    if (fs::is_directory(run, why)) {
      walk(run, 0);
      std::erase_if(found_, [](const auto& each) { return each.second.empty(); });
      if (found_.empty() && checkpoint::is_checkpoint_path(run)) found_[run] = {run};
    } else if (checkpoint::is_checkpoint_path(run)) {
      found_[fs::path(run).parent_path().string()] = {run};
    }
    return std::move(found_);
  }

 private:
  void walk(const fs::path& folder, int depth) {
    bool itself = false;
    if (checkpoint::is_checkpoint_path(folder.string())) {
      // A folder that is named by its step is one checkpoint, whatever its files are called.
      const bool numbered = depth > 0 && step_in(folder.string()).has_value();
      if (depth == 0 && resumes(folder)) return;  // the path itself is one, not a run of several
      const auto files = numbered ? std::vector<std::string>() : single_files(folder);
      std::vector<std::string>& all =
          found_[(files.empty() ? folder.parent_path() : folder).string()];
      all.insert(all.end(), files.begin(), files.end());
      itself = files.empty() && depth > 0;
      if (itself && (numbered || resumes(folder))) {
        all.push_back(folder.string());
        return;
      }
    }
    const std::size_t before = count();
    if (depth < k_most_depth) walk_below(folder, depth);
    // A run's folder may hold its final weights beside the checkpoints: they count where it has none.
    if (itself && count() == before)
      found_[folder.parent_path().string()].push_back(folder.string());
  }

  void walk_below(const fs::path& folder, int depth) {
    std::error_code why;
    for (fs::directory_iterator at(folder, why), end; !why && at != end; at.increment(why)) {
      std::error_code none;
      const std::string name = at->path().filename().string();
      const bool left_out = at->is_symlink(none) || !at->is_directory(none) ||
                            name.starts_with(".") || name == "wandb" || is_part(name);
      if (left_out || ++entries_ > k_most_entries) continue;
      walk(at->path(), depth + 1);
    }
  }

  std::size_t count() const {
    std::size_t sum = 0;
    for (const auto& [folder, all] : found_) sum += all.size();
    return sum;
  }

  /// Whether what a resume needs beside weights lies in the folder itself.
  static bool resumes(const fs::path& folder) {
    std::error_code why;
    for (fs::directory_iterator at(folder, why), end; !why && at != end; at.increment(why)) {
      const FileRole role = checkpoint::role_of_file(at->path().filename().string());
      if (role == FileRole::optimizer || role == FileRole::scheduler || role == FileRole::rng)
        return true;
    }
    return false;
  }

  std::map<std::string, std::vector<std::string>> found_;
  std::size_t entries_ = 0;
};

std::uint64_t bytes_of(const std::string& path) {
  std::error_code why;
  if (!fs::is_directory(path, why)) return fs::file_size(path, why);
  std::uint64_t sum = 0;
  std::size_t seen = 0;
  fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, why);
  for (const fs::recursive_directory_iterator end; !why && at != end; at.increment(why)) {
    std::error_code none;
    if (++seen > k_most_entries) break;
    if (at->is_regular_file(none)) sum += at->file_size(none);
  }
  return sum;
}

fs::file_time_type last_written(const std::vector<std::string>& paths) {
  fs::file_time_type last = fs::file_time_type::min();
  for (const std::string& each : paths) {
    std::error_code why;
    const auto time = fs::last_write_time(each, why);
    if (!why) last = std::max(last, time);
  }
  return last;
}

/// The folder whose checkpoints were written last: the run that is resumed. The others are named.
std::vector<std::string> newest_run(const std::map<std::string, std::vector<std::string>>& found,
                                    ResumeChoice& choice) {
  auto newest = found.begin();
  for (auto at = found.begin(); at != found.end(); ++at) {
    if (last_written(at->second) >= last_written(newest->second)) newest = at;
  }
  for (auto at = found.begin(); at != found.end(); ++at) {
    if (at != newest) choice.elsewhere.push_back(at->first);
  }
  return newest->second;
}

/// Newest first; one whose step neither its name nor its content says comes last.
void sort_candidates(std::vector<ResumeCandidate>& all) {
  for (ResumeCandidate& each : all) {
    each.step = step_in(each.path);
    if (each.step) continue;
    if (const auto opened = checkpoint::open_checkpoint(each.path)) each.step = opened->step();
  }
  std::stable_sort(all.begin(), all.end(), [](const ResumeCandidate& a, const ResumeCandidate& b) {
    constexpr auto k_unknown = std::numeric_limits<std::int64_t>::min();
    const auto first = a.step.value_or(k_unknown);
    const auto second = b.step.value_or(k_unknown);
    return first != second ? first > second : discovery::natural_less(b.path, a.path);
  });
}

/// What any checkpoint of the run holds, each has to hold.
struct Needed {
  bool scheduler = false;
  bool trainer_state = false;
  bool rng = false;
};

Needed needed_by(const std::vector<ResumeCandidate>& all) {
  Needed needed;
  for (const ResumeCandidate& each : all) {
    const std::set<FileRole> roles = roles_in(each.path);
    needed.scheduler = needed.scheduler || roles.count(FileRole::scheduler) > 0;
    needed.trainer_state = needed.trainer_state || roles.count(FileRole::trainer_state) > 0;
    needed.rng = needed.rng || roles.count(FileRole::rng) > 0;
  }
  return needed;
}

/// NaN and Inf among tensors; empty: none.
std::string nonfinite_in(const Checkpoint& checkpoint, const char* what, int threads) {
  checkpoint::SurveyOptions how;
  how.threads = threads;
  const checkpoint::Survey seen = checkpoint::survey(checkpoint, how);
  if (seen.nonfinite == 0) return {};
  for (const checkpoint::SurveyedTensor& each : seen.tensors) {
    if (!each.nonfinite()) continue;
    return fmt::format("{} of {} tensors of {} hold NaN or Inf, the first: {}", seen.nonfinite,
                       seen.tensors.size(), what, checkpoint.tensors[each.tensor].name);
  }
  return {};
}

class Judge {
 public:
  Judge(const ResumeOptions& options, Needed needed) : options_(options), needed_(needed) {}

  void look(ResumeCandidate& one) const {
    if (one.judged) return;
    one.judged = true;
    if (options_.progress) options_.progress(one.path);
    if (is_unfinished(fs::path(one.path).filename().string())) {
      one.why_left.emplace_back("its name says that it was not finished");
    }
    const auto opened = checkpoint::open_checkpoint(one.path, true);
    if (!opened) {
      one.why_left.push_back(opened.error().text);
      return;
    }
    one.step = opened->step() ? opened->step() : one.step;
    said_of_files(opened->findings, one);
    if (opened->findings_dropped > 0) {
      one.why_left.push_back(fmt::format("{} further findings", opened->findings_dropped));
    }
    finite(*opened, one);
    // After the last byte was read: what was lost meanwhile counted as zeros.
    said_of_files(checkpoint::changed_files(*opened), one);
    if (opened->tensors.empty()) one.why_left.emplace_back("it holds no weights");
    one.good_weights = one.why_left.empty();
    parts(*opened, one);
  }

 private:
  void said_of_files(const std::vector<tensors::Finding>& findings, ResumeCandidate& one) const {
    for (const tensors::Finding& each : findings) {
      if (each.severity == core::Severity::note) continue;
      std::string text = each.kind + ": " + each.text;
      const bool taken = options_.accept_suspicious && each.kind == "pickle.suspicious";
      (taken ? one.notes : one.why_left).push_back(std::move(text));
    }
  }

  void finite(const Checkpoint& checkpoint, ResumeCandidate& one) const {
    std::string said = nonfinite_in(checkpoint, "the weights", options_.threads);
    if (!said.empty()) one.why_left.push_back(std::move(said));
    if (!checkpoint.optimizer) return;
    Checkpoint moments;
    moments.tensors = checkpoint.optimizer->tensors;
    said = nonfinite_in(moments, "the optimizer's state", options_.threads);
    if (!said.empty()) one.why_left.push_back(std::move(said));
  }

  void parts(const Checkpoint& checkpoint, ResumeCandidate& one) const {
    const checkpoint::ResumeAudit audit = checkpoint::audit_resume(checkpoint);
    for (const checkpoint::ResumePart& part : audit.parts) {
      if (part.present || part.role == "weights") continue;
      const bool needed = part.role == "optimizer" ||
                          (part.role == "scheduler" && needed_.scheduler) ||
                          (part.role == "trainer-state" && needed_.trainer_state) ||
                          (part.role == "rng" && needed_.rng);
      if (needed) {
        one.why_left.push_back(fmt::format("{} is missing: {}", part.role, part.consequence));
      } else if (part.severity > core::Severity::note) {
        one.notes.push_back(fmt::format("no {}: {}", part.role, part.consequence));
      }
    }
    one.notes.insert(one.notes.end(), audit.disagreements.begin(), audit.disagreements.end());
    ranks(checkpoint, one);
  }

  /// Random states are numbered from 0: a gap is a rank that did not get to write its own.
  static void ranks(const Checkpoint& checkpoint, ResumeCandidate& one) {
    std::set<int> known(checkpoint.rng_ranks.begin(), checkpoint.rng_ranks.end());
    known.erase(-1);
    if (known.empty() || *known.rbegin() + 1 == static_cast<int>(known.size())) return;
    one.why_left.push_back(fmt::format("random states of {} ranks are there, the last of rank {}",
                                       known.size(), *known.rbegin()));
  }

  const ResumeOptions& options_;
  Needed needed_;
};

/// What trainer_state.json says of the best checkpoint.
struct Best {
  std::string path;  ///< as the trainer wrote it; empty: it chose none
  std::optional<double> metric;
  std::map<std::int64_t, double> eval_loss;  ///< by step
  bool whole = false;
};

void take_log(input::JsonCursor& json, Best& best) {
  if (!json.enter_array()) return json.skip();
  while (json.next_element()) {
    if (!json.enter_object()) {
      json.skip();
      continue;
    }
    std::optional<double> step;
    std::optional<double> loss;
    for (std::string_view key; json.next_member(key);) {
      std::optional<double>* const into = key == "step"        ? &step
                                          : key == "eval_loss" ? &loss
                                                               : nullptr;
      const auto number = into == nullptr ? std::nullopt : json.number();
      if (number) {
        *into = number;
      } else {
        json.skip();
      }
    }
    constexpr double k_most_steps = 1e15;
    if (step && loss && *step >= 0 && *step < k_most_steps)
      best.eval_loss[static_cast<std::int64_t>(*step)] = *loss;
  }
}

Best best_in(const std::string& file) {
  Best best;
  const auto mapped = tensors::MappedFile::open(file);
  if (!mapped) return best;
  input::JsonCursor json((*mapped)->text());
  if (!json.enter_object()) return best;
  for (std::string_view key; json.next_member(key);) {
    if (key == "best_model_checkpoint") {
      if (const auto path = json.text()) {
        best.path = *path;
        continue;
      }
    } else if (key == "best_metric") {
      best.metric = json.number();
      if (best.metric) continue;
    } else if (key == "log_history") {
      take_log(json, best);
      continue;
    }
    json.skip();
  }
  best.whole = !json.bad();
  return best;
}

/// By the newest trainer_state.json that is whole.
void name_best(ResumeChoice& choice) {
  Best best;
  for (const ResumeCandidate& each : choice.candidates) {
    best = best_in((fs::path(each.path) / "trainer_state.json").string());
    if (best.whole) break;
  }
  if (!best.whole) return;
  std::optional<double> lowest;
  const std::string named = fs::path(best.path).filename().string();
  for (std::size_t i = 0; i < choice.candidates.size(); ++i) {
    const ResumeCandidate& each = choice.candidates[i];
    if (!named.empty()) {
      if (fs::path(each.path).filename().string() != named) continue;
      choice.best = i;
      choice.best_because = "the trainer's best_model_checkpoint";
      if (best.metric) choice.best_because += ", best_metric " + core::show_number(*best.metric);
      return;
    }
    const auto loss = each.step ? best.eval_loss.find(*each.step) : best.eval_loss.end();
    if (loss == best.eval_loss.end() || !(loss->second < lowest.value_or(HUGE_VAL))) continue;
    lowest = loss->second;
    choice.best = i;
    choice.best_because = "eval_loss " + core::show_number(*lowest) + ", the lowest of those kept";
  }
}

}  // namespace

core::Result<ResumeChoice> choose_resume(const std::string& run, const ResumeOptions& options) {
  const auto found = CandidateSearch().below(run);
  if (found.empty()) {
    return core::fail(core::ErrorCode::not_found,
                      fmt::format("[checkpoint] no checkpoint lies in {}", run));
  }
  ResumeChoice choice;
  for (const std::string& each : newest_run(found, choice)) {
    ResumeCandidate one;
    one.path = each;
    one.bytes = bytes_of(each);
    choice.candidates.push_back(std::move(one));
  }
  sort_candidates(choice.candidates);
  const Judge judge(options, needed_by(choice.candidates));
  for (std::size_t i = 0; i < choice.candidates.size() && !choice.resume; ++i) {
    judge.look(choice.candidates[i]);
    if (choice.candidates[i].good()) choice.resume = i;
    if (!choice.weights_alone && choice.candidates[i].good_weights) choice.weights_alone = i;
  }
  if (choice.resume) choice.weights_alone.reset();
  name_best(choice);
  if (choice.best) judge.look(choice.candidates[*choice.best]);
  return choice;
}

}  // namespace aplomb::api
