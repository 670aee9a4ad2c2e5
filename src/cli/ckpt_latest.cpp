#include "cli/ckpt_latest.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "api/resume_choice.h"
#include "cli/output.h"
#include "core/json_text.h"
#include "core/text.h"

namespace aplomb::cli {
namespace {

using api::ResumeCandidate;
using api::ResumeChoice;
using Json = nlohmann::ordered_json;

constexpr std::size_t k_most_reasons = 5;

std::string head(const ResumeCandidate& one) {
  std::string out = core::sanitize(one.path);
  if (one.step) out += fmt::format("  step {}", *one.step);
  return out + "  " + core::show_bytes(static_cast<double>(one.bytes)) + "\n";
}

std::string list(const std::vector<std::string>& reasons) {
  std::string out;
  for (std::size_t i = 0; i < std::min(reasons.size(), k_most_reasons); ++i)
    out += "      " + core::sanitize(reasons[i]) + "\n";
  if (reasons.size() > k_most_reasons)
    out += fmt::format("      and {} more (--json)\n", reasons.size() - k_most_reasons);
  return out;
}

/// A checkpoint worth keeping, and why.
struct Kept {
  std::size_t candidate;
  std::string why;
};

std::vector<Kept> kept(const ResumeChoice& choice) {
  std::vector<Kept> out;
  if (choice.resume) {
    out.push_back({*choice.resume, "the latest that is whole, finite and safe"});
  } else if (choice.weights_alone) {
    out.push_back({*choice.weights_alone, "the latest whose weights can be loaded"});
  }
  const bool best = choice.best && choice.candidates[*choice.best].good_weights;
  if (best && !out.empty() && out.front().candidate == *choice.best) {
    out.front().why += ", and the best: " + choice.best_because;
  } else if (best) {
    out.push_back({*choice.best, "the best: " + choice.best_because});
  }
  return out;
}

std::string lead(const ResumeChoice& choice) {
  if (choice.resume) {
    const ResumeCandidate& one = choice.candidates[*choice.resume];
    return "Resume from\n  " + head(one) + list(one.notes);
  }
  std::string out = "None of these can be resumed from.\n";
  if (choice.weights_alone) {
    out += "The weights alone can be loaded (the optimizer begins anew) from\n  " +
           head(choice.candidates[*choice.weights_alone]);
  }
  return out;
}

std::string text_of(const ResumeChoice& choice) {
  std::string out = lead(choice);
  const std::size_t newer = choice.resume.value_or(choice.candidates.size());
  if (newer > 0) out += choice.resume ? "\nNewer, and left:\n" : "\nLeft:\n";
  for (std::size_t i = 0; i < newer; ++i)
    out += "  " + head(choice.candidates[i]) + list(choice.candidates[i].why_left);
  const std::vector<Kept> worth = kept(choice);
  if (!worth.empty()) out += "\nKeep:\n";
  for (const Kept& each : worth)
    out += "  " + head(choice.candidates[each.candidate]) + "      " + each.why + "\n";
  if (choice.best && !choice.candidates[*choice.best].good_weights) {
    out += "\nThe best of the run (" + choice.best_because + ") is damaged or not safe:\n  " +
           head(choice.candidates[*choice.best]) + list(choice.candidates[*choice.best].why_left);
  }
  if (!choice.elsewhere.empty()) {
    out += fmt::format(
        "\nNot looked at: {} other folder{} of checkpoints, written earlier; the first: {}\n",
        choice.elsewhere.size(), choice.elsewhere.size() == 1 ? "" : "s",
        core::sanitize(choice.elsewhere.front()));
  }
  return out;
}

Json texts(const std::vector<std::string>& all) {
  Json out = Json::array();
  for (const std::string& each : all) out.push_back(core::sanitize(each));
  return out;
}

Json place(const ResumeChoice& choice, const std::optional<std::size_t>& index) {
  if (!index) return nullptr;
  const ResumeCandidate& one = choice.candidates[*index];
  return {{"path", core::sanitize(one.path)}, {"step", one.step ? Json(*one.step) : Json()}};
}

std::string json_of(const std::string& run, const ResumeChoice& choice) {
  Json out = {{"schema", "aplomb.resume/1"},
              {"run", core::sanitize(run)},
              {"resume", place(choice, choice.resume)},
              {"weights_alone", place(choice, choice.weights_alone)},
              {"best", place(choice, choice.best)}};
  if (choice.best) out["best"]["because"] = core::sanitize(choice.best_because);
  out["keep"] = Json::array();
  for (const Kept& each : kept(choice)) {
    Json one = place(choice, each.candidate);
    one["because"] = core::sanitize(each.why);
    out["keep"].push_back(std::move(one));
  }
  out["candidates"] = Json::array();
  for (const ResumeCandidate& each : choice.candidates) {
    out["candidates"].push_back({{"path", core::sanitize(each.path)},
                                 {"step", each.step ? Json(*each.step) : Json()},
                                 {"bytes", each.bytes},
                                 {"state", !each.judged  ? "not-judged"
                                           : each.good() ? "good"
                                                         : "left"},
                                 {"why_left", texts(each.why_left)},
                                 {"notes", texts(each.notes)}});
  }
  out["elsewhere"] = texts(choice.elsewhere);
  return core::json_text(out, 2) + "\n";
}

}  // namespace

void CkptLatest::declare(const arguments::Verb& ckpt) {
  verb_ = ckpt.verb("latest", "The newest checkpoint of a run that is whole, finite and safe");
  verb_.option("RUN", path_, "a run's folder").required();
  verb_.flag("--json", json_, "print the choice as JSON (schema aplomb.resume/1)");
  verb_.flag("--accept-suspicious", accept_suspicious_,
             "take pickles for safe that name classes on no list (pickle.suspicious: your own)");
  verb_.option("--threads", threads_, "how many read; 0: one a processor")
      .within(0, 256)
      .shows_default();
  confinement_.declare(verb_);
  verb_.footer(
      "Example:\n"
      "  python train.py --resume_from_checkpoint \"$(aplomb ckpt latest out --json | jq -er "
      ".resume.path)\"\n"
      "\n"
      "Nothing is written or removed. Exit status: 0 there is one, 1 none, 2 no checkpoint at "
      "all.");
}

int CkptLatest::run() {
  never_write({path_});
  confinement_.enter({});
  api::ResumeOptions how;
  how.accept_suspicious = accept_suspicious_;
  how.threads =
      threads_ > 0 ? threads_ : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const auto choice = api::choose_resume(path_, how);
  if (!choice) {
    complain(core::sanitize(choice.error().text));
    return k_exit_usage;
  }
  const auto done = write_out(json_ ? json_of(path_, *choice) : text_of(*choice));
  if (!done) {
    complain(core::sanitize(done.error().text));
    return k_exit_usage;
  }
  return choice->resume ? k_exit_healthy : k_exit_found;
}

}  // namespace aplomb::cli
