#include "api/checkpoint_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "checkpoint/changed_files.h"
#include "core/text.h"

namespace aplomb::api {
namespace {

constexpr const char* k_event = "tensor";
constexpr std::size_t k_most_shown = 8;  // tensors named for one symptom

double count(std::size_t number) { return static_cast<double>(number); }

std::string describe(const tensors::Tensor& tensor) {
  return fmt::format("{} {} {}", tensor.name, tensor.type == nullptr ? "?" : tensor.type->name,
                     tensors::show_shape(tensor.shape));
}

std::string percent(double share) { return core::show_number(100 * share, 3) + " %"; }

/// `all 5 norm weights, 1 of 3 biases`.
std::string by_kind(const checkpoint::CheckpointDiff& diff) {
  std::string words;
  for (const checkpoint::KindDiff& kind : diff.kinds) {
    if (kind.frozen == 0 || kind.kind == checkpoint::TensorKind::buffer) continue;
    if (!words.empty()) words += ", ";
    words += kind.frozen == kind.tensors
                 ? fmt::format("all {} {}", kind.tensors, name(kind.kind))
                 : fmt::format("{} of {} {}", kind.frozen, kind.tensors, name(kind.kind));
  }
  return words;
}

/// The weights that the optimizer holds, by name; nothing where it is not known.
std::optional<std::set<std::string>> held_names(const checkpoint::Checkpoint& checkpoint) {
  const checkpoint::ParameterMap map = checkpoint::map_parameters(checkpoint);
  if (map.parameters.empty() || !map.counts_agree) return std::nullopt;
  std::set<std::string> names;
  for (const checkpoint::MappedParameter& each : map.parameters) {
    if (each.tensor && each.state != nullptr) names.insert(checkpoint.tensors[*each.tensor].name);
  }
  return names;
}

}  // namespace

record::SourceId CheckpointEvidence::source_of(const std::string& path) {
  for (std::size_t i = 0; i < run_.sources.size(); ++i) {
    if (run_.sources[i].path == path) return static_cast<record::SourceId>(i);
  }
  run_.sources.push_back({path, "checkpoint", 0, {}});
  return static_cast<record::SourceId>(run_.sources.size() - 1);
}

record::Origin CheckpointEvidence::origin_of(const checkpoint::Checkpoint& checkpoint,
                                             const tensors::Tensor& tensor) {
  const bool known = tensor.file < checkpoint.files.size();
  return {source_of(known ? checkpoint.files[tensor.file].path : checkpoint.path), 0,
          tensor.offset};
}

void CheckpointEvidence::show(detectors::Symptom& symptom, const checkpoint::Checkpoint& checkpoint,
                              const tensors::Tensor& tensor, const std::string& text) {
  if (symptom.evidence.size() >= k_most_shown) return;
  const record::Origin origin = origin_of(checkpoint, tensor);
  symptom.evidence.push_back(origin);
  // A tensor has one place: what else is said of it joins what was said before.
  for (record::Event& known : run_.events) {
    if (known.kind != k_event || known.origin.source != origin.source ||
        known.origin.offset != origin.offset) {
      continue;
    }
    known.text = core::shorten(known.text + "; " + core::sanitize(text), 400);
    return;
  }
  record::Event event;
  event.kind = k_event;
  event.step = checkpoint.step();
  event.text = core::shorten(core::sanitize(text), 400);
  event.origin = origin;
  run_.events.push_back(std::move(event));
}

void CheckpointEvidence::fact(const char* fact_name, core::Value value, std::string because) {
  run_.facts.push_back({fact_name, std::move(value), std::move(because), {}});
}

detectors::Symptom CheckpointEvidence::start(const checkpoint::Checkpoint& checkpoint,
                                             std::string id, core::Severity severity) const {
  detectors::Symptom symptom;
  symptom.id = std::move(id);
  symptom.severity = severity;
  symptom.last_step = symptom.first_step = checkpoint.step().value_or(0);
  return symptom;
}

void CheckpointEvidence::files(const checkpoint::Checkpoint& checkpoint) {
  for (const checkpoint::CheckpointFile& file : checkpoint.files) {
    record::Source& source = run_.sources[source_of(file.path)];
    source.bytes = file.bytes;
    if (source.kind == "unknown") source.kind = "checkpoint";
  }
  tell(checkpoint, checkpoint.findings);
}

void CheckpointEvidence::changes(const checkpoint::Checkpoint& checkpoint) {
  tell(checkpoint, checkpoint::changed_files(checkpoint));
}

void CheckpointEvidence::tell(const checkpoint::Checkpoint& checkpoint,
                              const std::vector<tensors::Finding>& findings) {
  for (const tensors::Finding& finding : findings) {
    const record::SourceId source = source_of(finding.path);
    if (finding.severity == core::Severity::note) {
      run_.defects.push_back(
          {source, finding.offset, finding.kind, finding.severity, finding.text});
      continue;
    }
    record::Event event;
    event.kind = k_event;
    event.text = core::shorten(core::sanitize(finding.text), 400);
    event.origin = {source, 0, finding.offset};
    const auto known =
        std::find_if(symptoms_.begin(), symptoms_.end(),
                     [&](const detectors::Symptom& each) { return each.id == finding.kind; });
    if (known != symptoms_.end()) {
      if (known->evidence.size() < k_most_shown) known->evidence.push_back(event.origin);
    } else {
      detectors::Symptom symptom = start(checkpoint, finding.kind, finding.severity);
      symptom.summary = finding.text;
      symptom.evidence = {event.origin};
      symptoms_.push_back(std::move(symptom));
    }
    run_.events.push_back(std::move(event));
  }
}

void CheckpointEvidence::survey(const checkpoint::Checkpoint& checkpoint,
                                const checkpoint::Survey& seen) {
  fact("ckpt.tensors", count(seen.tensors.size()),
       fmt::format("{} tensors in {}", seen.tensors.size(), checkpoint.path));
  fact("ckpt.has_optimizer", checkpoint.optimizer.has_value(), "optimizer state in the checkpoint");
  fact("ckpt.nonfinite_tensors", count(seen.nonfinite),
       fmt::format("{} tensors with NaN or Inf", seen.nonfinite));
  fact("ckpt.all_zero_tensors", count(seen.all_zero),
       fmt::format("{} tensors are all zero", seen.all_zero));
  dtype(checkpoint);
  detectors::Symptom bad = start(checkpoint, "tensor.nonfinite", core::Severity::failed);
  detectors::Symptom zero = start(checkpoint, "tensor.all_zero", core::Severity::warning);
  for (const checkpoint::SurveyedTensor& each : seen.tensors) {
    const tensors::Tensor& tensor = checkpoint.tensors[each.tensor];
    if (each.nonfinite()) {
      show(bad, checkpoint, tensor,
           fmt::format("{}: {} NaN, {} Inf, the first at element {}", describe(tensor),
                       each.stats->nan, each.stats->inf, each.stats->first_nonfinite));
    }
    const bool by_design = each.kind == checkpoint::TensorKind::bias ||
                           each.kind == checkpoint::TensorKind::buffer ||
                           each.kind == checkpoint::TensorKind::lora_b;
    if (each.all_zero() && !by_design) {
      show(zero, checkpoint, tensor, describe(tensor) + ": every element is 0");
    }
  }
  if (seen.nonfinite > 0) {
    bad.summary =
        fmt::format("{} of {} tensors hold NaN or Inf", seen.nonfinite, seen.tensors.size());
    bad.measures["count"] = count(seen.nonfinite);
    bad.measures["share"] = count(seen.nonfinite) / count(seen.tensors.size());
    symptoms_.push_back(std::move(bad));
  }
  if (seen.all_zero > 0) {
    zero.summary = fmt::format("{} of {} tensors are all zero", seen.all_zero, seen.tensors.size());
    zero.measures["count"] = count(seen.all_zero);
    symptoms_.push_back(std::move(zero));
  }
  notes(checkpoint, checkpoint::check_weights(checkpoint, seen));
  if (seen.lora_b > 0 && seen.lora_b_zero == seen.lora_b) {
    detectors::Symptom untrained = start(checkpoint, "adapter.untrained", core::Severity::warning);
    untrained.summary =
        fmt::format("every LoRA B ({}) is still zero: the adapter changes nothing", seen.lora_b);
    symptoms_.push_back(std::move(untrained));
  }
}

/// The number format of most weights; once for a run.
void CheckpointEvidence::dtype(const checkpoint::Checkpoint& checkpoint) {
  constexpr const char* k_fact = "ckpt.params_dtype";
  const bool known = std::any_of(run_.facts.begin(), run_.facts.end(),
                                 [](const record::Fact& each) { return each.name == k_fact; });
  const std::string word = checkpoint::params_dtype(checkpoint);
  if (known || word.empty()) return;
  fact(k_fact, word, fmt::format("the checkpoint's weights are stored in {}", word));
}

/// One symptom a check, with the first tensors that show it.
void CheckpointEvidence::notes(const checkpoint::Checkpoint& checkpoint,
                               const std::vector<checkpoint::WeightNote>& all) {
  for (std::size_t from = 0; from < all.size();) {
    std::size_t to = from;
    detectors::Symptom symptom = start(checkpoint, std::string(all[from].id), all[from].severity);
    for (; to < all.size() && all[to].id == all[from].id; ++to) {
      const tensors::Tensor& tensor = checkpoint.tensors[all[to].tensor];
      symptom.severity = std::max(symptom.severity, all[to].severity);
      show(symptom, checkpoint, tensor, describe(tensor) + ": " + all[to].text);
    }
    symptom.summary =
        fmt::format("{}: {}", checkpoint.tensors[all[from].tensor].name, all[from].text);
    if (to - from > 1) symptom.summary += fmt::format(", and {} more", to - from - 1);
    symptom.measures["count"] = count(to - from);
    symptoms_.push_back(std::move(symptom));
    from = to;
  }
}

void CheckpointEvidence::precision(const checkpoint::Checkpoint& checkpoint,
                                   const checkpoint::Precision& predicted) {
  if (!predicted.why_not.empty() || predicted.asked == 0) return;
  const double share = predicted.lost_frac();
  const std::string words =
      fmt::format("{} of the next updates would round away, {} of {} tensors lose all of theirs",
                  percent(share), predicted.frozen(), predicted.tensors.size()) +
      (predicted.frozen() == 0 ? std::string()
                               : fmt::format("; {} will not change over the next {} steps",
                                             predicted.stays(), predicted.steps));
  dtype(checkpoint);
  fact("ckpt.lost_update_fraction", share, words);
  fact("ckpt.lost_tensors", count(predicted.frozen()), words);
  if (share <= 0.5 && predicted.frozen() == 0) return;
  detectors::Symptom symptom = start(checkpoint, "tensor.updates_lost", core::Severity::warning);
  symptom.summary = words;
  symptom.measures["share"] = share;
  symptom.measures["tensors"] = count(predicted.frozen());
  symptom.measures["stays"] = count(predicted.stays());
  for (const checkpoint::TensorPrecision& each : predicted.tensors) {
    if (!each.all_lost() && each.lost.lost_frac() <= 0.5) break;  // most lost come first
    show(symptom, checkpoint, checkpoint.tensors[each.tensor],
         fmt::format("{} ({}): {} of its updates round away: they are {} on average, neighbouring "
                     "{} values lie {} apart",
                     each.name, name(each.kind), percent(each.lost.lost_frac()),
                     core::show_number(each.lost.mean_update), numerics::spec_of(each.format).name,
                     core::show_number(each.lost.mean_gap)));
  }
  symptoms_.push_back(std::move(symptom));
}

void CheckpointEvidence::diff(const checkpoint::Checkpoint& before,
                              const checkpoint::Checkpoint& after,
                              const checkpoint::CheckpointDiff& diff) {
  const std::size_t all = diff.trainable();
  if (all == 0) return;
  const checkpoint::KindDiff* norms = diff.of(checkpoint::TensorKind::norm);
  const std::string kinds = by_kind(diff);
  const std::string words = diff.frozen() == 0 ? fmt::format("all {} tensors moved", all)
                                               : fmt::format("{} of {} tensors did not move: {}",
                                                             diff.frozen(), all, kinds);
  dtype(after);
  fact("ckpt.compared_tensors", count(all), words);
  fact("ckpt.frozen_tensors", count(diff.frozen()), words);
  fact("ckpt.frozen_share", count(diff.frozen()) / count(all), words);
  if (norms != nullptr) {
    fact("ckpt.frozen_norm_share", count(norms->frozen) / count(norms->tensors),
         fmt::format("{} of {} norm weights did not move", norms->frozen, norms->tensors));
  }
  if (diff.frozen() == 0) return;
  const auto held = held_names(after);
  std::size_t meant = 0;
  detectors::Symptom symptom = start(after, "tensor.frozen", core::Severity::note);
  symptom.first_step = before.step().value_or(0);
  for (std::size_t i = 0; i < diff.tensors.size(); ++i) {
    const checkpoint::TensorDiff& each = diff.tensors[i];
    if (!each.frozen() || each.kind == checkpoint::TensorKind::buffer) continue;
    if (held && held->count(each.name) > 0) ++meant;
    if (symptom.evidence.size() >= k_most_shown) continue;
    const tensors::Tensor* tensor = after.tensor(each.name);
    if (tensor == nullptr) continue;
    show(symptom, after, *tensor,
         fmt::format("{} ({}): no element of {} changed; magnitudes {} to {}", describe(*tensor),
                     name(each.kind), each.count, core::show_number(each.min_weight),
                     core::show_number(each.max_weight)));
  }
  // What the optimizer does not hold was left out on purpose, or was forgotten: that is for the
  // reader to know. What it holds was meant to move.
  if (!held || meant > 0) symptom.severity = core::Severity::warning;
  if (held) fact("ckpt.frozen_held", count(meant), words);
  symptom.summary = words;
  if (before.step() && after.step()) {
    symptom.summary += fmt::format(" between steps {} and {}", *before.step(), *after.step());
  }
  symptom.measures["count"] = count(diff.frozen());
  symptom.measures["share"] = count(diff.frozen()) / count(all);
  symptoms_.push_back(std::move(symptom));
}

void CheckpointEvidence::unheld(const checkpoint::Checkpoint& checkpoint,
                                const checkpoint::ParameterMap& map) {
  if (map.unheld.empty()) return;
  std::size_t unnamed = 0;  // of parameters that no gradient has reached nothing says the shape
  for (const checkpoint::MappedParameter& each : map.parameters) {
    if (each.tensor) continue;
    if (each.state != nullptr) return;  // flattened, or of another model: names cannot be matched
    ++unnamed;
  }
  const std::vector<std::size_t> left = checkpoint::meant_to_train(checkpoint, map);
  if (left.size() <= unnamed) return;
  detectors::Symptom symptom = start(checkpoint, "tensor.unheld", core::Severity::warning);
  std::map<checkpoint::TensorKind, std::size_t> kinds;
  for (const std::size_t i : left) {
    const tensors::Tensor& tensor = checkpoint.tensors[i];
    ++kinds[checkpoint::kind_of(tensor)];
    if (unnamed == 0)
      show(symptom, checkpoint, tensor, describe(tensor) + ": no parameter group holds it");
  }
  std::string of_kinds;
  for (const auto& [kind, number] : kinds)
    of_kinds += fmt::format("{}{} {}", of_kinds.empty() ? "" : ", ", number, name(kind));
  const std::size_t missing = left.size() - unnamed;
  const std::size_t all = map.parameters.size() + missing;
  symptom.summary = fmt::format(
      "{} of {} weights are in no parameter group of the optimizer{}: no step moves them; right "
      "only where they are frozen on purpose",
      missing, all, unnamed == 0 ? " (" + of_kinds + ")" : "");
  symptom.measures["count"] = count(missing);
  symptom.measures["share"] = count(missing) / count(all);
  symptoms_.push_back(std::move(symptom));
}

void CheckpointEvidence::resume(const checkpoint::Checkpoint& checkpoint,
                                const checkpoint::ResumeAudit& audit) {
  std::string missing;
  core::Severity worst = core::Severity::note;
  for (const checkpoint::ResumePart& part : audit.parts) {
    if (part.present || part.severity == core::Severity::note) continue;
    worst = std::max(worst, part.severity);
    if (!missing.empty()) missing += "; ";
    missing += fmt::format("no {}: {}", part.role, part.consequence);
  }
  if (!missing.empty()) {
    detectors::Symptom symptom = start(checkpoint, "checkpoint.incomplete", worst);
    symptom.summary = missing;
    symptoms_.push_back(std::move(symptom));
  }
  for (const std::string& each : audit.disagreements) {
    detectors::Symptom symptom =
        start(checkpoint, "checkpoint.steps_disagree", core::Severity::warning);
    symptom.summary = each;
    symptoms_.push_back(std::move(symptom));
  }
}

}  // namespace aplomb::api
