#include "task/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "core/text.h"
#include "knowledge/document.h"
#include "task/class_count.h"
#include "task/metric_words.h"

namespace aplomb::task {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Kind::count_)> k_names = {
    "unknown",    "causal_lm",   "masked_lm", "seq2seq",   "classifier",   "token_classifier",
    "regression", "autoencoder", "vae",       "gan",       "diffusion",    "contrastive",
    "preference", "policy",      "value",     "detection", "segmentation", "distillation"};

std::optional<Kind> kind_of(std::string_view name) {
  for (std::size_t i = 0; i < k_names.size(); ++i) {
    if (k_names[i] == name) return static_cast<Kind>(i);
  }
  return std::nullopt;
}

struct Sign {
  std::string setting;
  std::vector<std::string> any;
  std::string fact;
  std::string event;
  std::string framework;
  std::optional<record::Role> role;
  std::string part;
  std::vector<std::string> metric;      ///< a phrase in a metric's name
  std::vector<std::string> any_metric;  ///< words of one meaning: they count once
  double weight = 0;
};

struct KindSigns {
  Kind kind = Kind::unknown;
  std::string title;
  std::string guess;
  std::vector<Sign> signs;
};

std::vector<KindSigns> load() {
  std::vector<KindSigns> all;
  for (const knowledge::Node& node : knowledge::file("tasks.yaml").items()) {
    KindSigns entry;
    entry.kind = kind_of(knowledge::text_of(node, "kind")).value_or(Kind::unknown);
    entry.title = knowledge::text_of(node, "title");
    entry.guess = knowledge::text_of(node, "guess");
    for (const knowledge::Node& item : knowledge::list_of(node, "signs")) {
      Sign sign;
      sign.setting = knowledge::text_of(item, "setting");
      sign.any = knowledge::texts_of(item, "any");
      sign.fact = knowledge::text_of(item, "fact");
      sign.event = knowledge::text_of(item, "event");
      sign.framework = knowledge::text_of(item, "framework");
      sign.role = record::role_of(knowledge::text_of(item, "role"));
      sign.part = knowledge::text_of(item, "part");
      sign.metric = knowledge::texts_of(item, "metric");
      sign.any_metric = knowledge::texts_of(item, "any_metric");
      sign.weight = knowledge::number_of(item, "weight");
      entry.signs.push_back(std::move(sign));
    }
    all.push_back(std::move(entry));
  }
  return all;
}

const std::vector<KindSigns>& kinds() {
  static const std::vector<KindSigns> all = load();
  return all;
}

/// What the signs look at, gathered once.
class Signs {
 public:
  explicit Signs(const record::Run& run) : run_(run) {
    for (const record::Series& series : run.series) {
      if (series.empty()) continue;
      names_.push_back(name_words(series.raw_name));
      parts_.insert(name(metric_words(series.raw_name).part));
    }
  }

  /// What shows the sign; empty where it does not hold.
  std::string shown_by(const Sign& sign) const {
    if (!sign.setting.empty()) return by_setting(sign);
    if (!sign.fact.empty()) {
      const bool held =
          std::any_of(run_.facts.begin(), run_.facts.end(), [&](const record::Fact& fact) {
            return fact.name == sign.fact && core::is_true(fact.value);
          });
      return held ? sign.fact : std::string();
    }
    if (!sign.event.empty()) {
      const bool met =
          std::any_of(run_.events.begin(), run_.events.end(),
                      [&](const record::Event& event) { return event.kind == sign.event; });
      return met ? sign.event : std::string();
    }
    if (!sign.framework.empty())
      return by_framework(sign.framework) ? sign.framework : std::string();
    if (sign.role) {
      return run_.primary(*sign.role) == nullptr ? std::string()
                                                 : std::string(record::name(*sign.role));
    }
    if (!sign.part.empty()) return parts_.contains(sign.part) ? sign.part : std::string();
    for (const std::string& word : sign.any_metric) {
      if (std::string shown = by_metric({word}); !shown.empty()) return shown;
    }
    return by_metric(sign.metric);
  }

 private:
  std::string by_setting(const Sign& sign) const {
    const record::Setting* setting = run_.setting(sign.setting);
    if (setting == nullptr) return {};
    if (sign.any.empty()) return sign.setting;
    const std::string* word = core::as_text(setting->value);
    const bool one = word != nullptr &&
                     std::any_of(sign.any.begin(), sign.any.end(), [&](const std::string& each) {
                       return core::iequals(each, *word);
                     });
    return one ? sign.setting + " " + *word : std::string();
  }

  bool by_framework(const std::string& slug) const {
    return std::any_of(run_.sources.begin(), run_.sources.end(),
                       [&](const record::Source& source) { return source.framework == slug; });
  }

  std::string by_metric(const std::vector<std::string>& phrase) const {
    for (const auto& words : names_) {
      const auto found = std::search(words.begin(), words.end(), phrase.begin(), phrase.end());
      if (found == words.end() || phrase.empty()) continue;
      std::string text;
      for (const std::string& word : phrase) text += (text.empty() ? "" : " ") + word;
      return text;
    }
    return {};
  }

  const record::Run& run_;
  std::vector<std::vector<std::string>> names_;
  std::set<std::string_view> parts_;
};

/// The kind with the most weight of signs, from this on.
constexpr double k_enough = 1.5;

const KindSigns* recognise_kind(const record::Run& run, Task& task) {
  const Signs signs(run);
  const KindSigns* best = nullptr;
  double most = k_enough;
  for (const KindSigns& kind : kinds()) {
    double weight = 0;
    std::string because;
    for (const Sign& sign : kind.signs) {
      const std::string shown = signs.shown_by(sign);
      if (shown.empty()) continue;
      weight += sign.weight;
      if (sign.weight > 0) because += (because.empty() ? "" : ", ") + shown;
    }
    if (weight < most || (best != nullptr && weight <= most)) continue;
    best = &kind;
    most = weight;
    task.because = because;
  }
  if (best != nullptr) {
    task.kind = best->kind;
    task.title = best->title;
  }
  return best;
}

std::optional<Constant> by_setting(const record::Run& run, std::string_view name) {
  const record::Setting* setting = run.setting(name);
  const double* value = setting == nullptr ? nullptr : core::as_number(setting->value);
  if (value == nullptr || !(*value > 0) || !std::isfinite(*value)) return std::nullopt;
  return Constant{*value, setting->raw_key + " = " + core::show(setting->value), {setting->origin}};
}

/// Optimizer steps of one pass over the data, from two readings of the position in passes far
/// apart.
std::optional<Constant> steps_per_pass(const record::Run& run) {
  constexpr double k_least_span = 0.05;  // passes: printed with two digits it is known to a fifth
  for (const record::Fact& fact : run.facts) {
    const double* counted =
        fact.name == "log.steps_per_pass" ? core::as_number(fact.value) : nullptr;
    if (counted != nullptr) return Constant{*counted, "counted within epochs", fact.evidence};
  }
  const record::Series* epoch = run.primary(record::Role::epoch);
  if (epoch == nullptr || epoch->size() < 3 || epoch->step_kind != record::StepKind::explicit_)
    return std::nullopt;
  const std::size_t last = epoch->size() - 1;
  if (epoch->segment[0] != epoch->segment[last]) return std::nullopt;
  const double span = epoch->value[last] - epoch->value[0];
  const auto steps = static_cast<double>(epoch->step[last] - epoch->step[0]);
  // Whole numbers say in which pass a step is, not how far it is in it.
  const bool whole = std::all_of(epoch->value.begin(), epoch->value.end(),
                                 [](double value) { return value == std::floor(value); });
  if (whole || !(span >= k_least_span) || !(steps > 0)) return std::nullopt;
  return Constant{steps / span,
                  fmt::format("{:.0f} steps in {:.3g} passes", steps, span),
                  {epoch->origin(0), epoch->origin(last)}};
}

void find_constants(const record::Run& run, Task& task) {
  task.classes = by_setting(run, "data.class_count");
  task.vocabulary = by_setting(run, "model.vocab_size");
  task.batch = by_setting(run, "batch.micro");
  if (!task.batch) task.batch = by_setting(run, "batch.global");
  task.accumulation = by_setting(run, "batch.accumulation");
  task.world = by_setting(run, "dist.world_size");
  if (!task.world) task.world = by_setting(run, "batch.world");
  if (const record::Setting* characters = run.setting("data.characters"))
    task.of_characters = core::is_true(characters->value);
  task.samples = by_setting(run, "data.samples");
  task.steps_per_pass = steps_per_pass(run);
  const bool classifies = task.kind == Kind::classifier || task.kind == Kind::token_classifier ||
                          task.kind == Kind::unknown;
  if (!task.classes && classifies && !task.vocabulary) task.classes = class_count(run);
  if (!task.batch && task.kind == Kind::contrastive) task.batch = batch_of_contrast(run);
}

std::optional<Constant> logarithm(const std::optional<Constant>& size) {
  if (!size || size->value < 2) return std::nullopt;
  return Constant{std::log(size->value), "ln " + core::show_number(size->value, 7), size->evidence};
}

/// The loss is named as the squared error of the noise: of unit variance, so that answering 0 costs 1.
bool is_mean_square(const record::Run& run) {
  const record::Series* loss = run.primary(record::Role::loss);
  return loss != nullptr && metric_words(loss->raw_name).formula == "noise";
}

void find_guess(const record::Run& run, const std::string& by, Task& task) {
  if (by == "pair") {
    task.guess = Constant{std::log(2.0), "ln 2", {}};
  } else if (by == "vocabulary") {
    task.guess = logarithm(task.vocabulary);
  } else if (by == "noise" && is_mean_square(run)) {
    task.guess = Constant{1.0, "the variance of the noise", {}};
  } else if (by == "batch") {
    task.guess = logarithm(task.batch);
  } else if (by == "classes" || task.kind == Kind::unknown) {
    task.guess = logarithm(task.classes);
  }
  if (!task.guess) return;
  const std::optional<double> first = first_level(run, record::Role::loss);
  // Weights drawn with the usual deviations start within a tenth of it (loss_detectors/loss_start.cpp).
  constexpr double k_near = 0.1;
  task.from_scratch = first && std::fabs(*first - task.guess->value) < k_near * task.guess->value;
}

void add(std::vector<record::Fact>& facts, const char* name,
         const std::optional<Constant>& constant) {
  if (constant) facts.push_back({name, constant->value, constant->because, constant->evidence});
}

}  // namespace

std::string_view name(Kind kind) { return k_names[static_cast<std::size_t>(kind)]; }

bool Task::is_cross_entropy() const {
  switch (kind) {
    case Kind::causal_lm:
    case Kind::masked_lm:
    case Kind::seq2seq:
    case Kind::classifier:
    case Kind::token_classifier:
      return true;
    default:
      return false;
  }
}

Task recognise(const record::Run& run) {
  Task task;
  const KindSigns* kind = recognise_kind(run, task);
  find_constants(run, task);
  task.elsewhere = score_elsewhere(run);
  task.training_only = score_in_training_only(run);
  find_guess(run, kind == nullptr ? std::string() : kind->guess, task);
  return task;
}

std::vector<record::Fact> facts_of(const Task& task) {
  std::vector<record::Fact> facts;
  if (task.kind != Kind::unknown) {
    facts.push_back({"task.kind",
                     std::string(name(task.kind)),
                     task.title + " is trained: " + task.because,
                     {}});
  }
  add(facts, "task.classes", task.classes);
  add(facts, "task.vocabulary", task.vocabulary);
  add(facts, "task.batch", task.batch);
  add(facts, "task.accumulation", task.accumulation);
  add(facts, "task.world", task.world);
  add(facts, "task.samples", task.samples);
  add(facts, "task.steps_per_pass", task.steps_per_pass);
  add(facts, "task.guess", task.guess);
  if (task.guess) {
    facts.push_back({"task.from_scratch", task.from_scratch,
                     task.from_scratch ? "the first loss is that of a guess, " + task.guess->because
                                       : "the first loss is not that of a guess",
                     task.guess->evidence});
  }
  return facts;
}

std::vector<std::string> tasks_mistakes() {
  std::vector<std::string> mistakes;
  for (std::size_t i = 1; i < k_names.size(); ++i) {
    const bool told = std::any_of(kinds().begin(), kinds().end(), [&](const KindSigns& each) {
      return each.kind == static_cast<Kind>(i);
    });
    if (!told) mistakes.push_back("tasks.yaml has no signs of " + std::string(k_names[i]));
  }
  for (const KindSigns& kind : kinds()) {
    const std::string who(name(kind.kind));
    if (kind.kind == Kind::unknown) mistakes.push_back("tasks.yaml names a kind that there is not");
    for (const Sign& sign : kind.signs) {
      const int told =
          static_cast<int>(!sign.setting.empty()) + static_cast<int>(!sign.fact.empty()) +
          static_cast<int>(!sign.event.empty()) + static_cast<int>(!sign.framework.empty()) +
          static_cast<int>(sign.role.has_value()) + static_cast<int>(!sign.part.empty()) +
          static_cast<int>(!sign.metric.empty()) + static_cast<int>(!sign.any_metric.empty());
      if (told != 1) mistakes.push_back("a sign of " + who + " says no thing, or several");
      if (sign.weight == 0) mistakes.push_back("a sign of " + who + " has no weight");
    }
  }
  return mistakes;
}

}  // namespace aplomb::task
