#include "diagnosis/weigh.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/text.h"
#include "diagnosis/said_facts.h"
#include "knowledge/text_classifier.h"

namespace aplomb::diagnosis {
namespace {

using knowledge::TextClassifier;

struct Candidate {
  RankedCause ranked;
  std::vector<std::string> explained;  ///< what it explains and what is there
};

double gain(const Calibration& calibration, core::Severity severity) {
  switch (severity) {
    case core::Severity::failed:
      return calibration.explains_failed;
    case core::Severity::unstable:
      return calibration.explains_unstable;
    case core::Severity::warning:
      return calibration.explains_warning;
    case core::Severity::note:
      return calibration.explains_note;
  }
  return 0;
}

bool is_yes(const record::Fact* fact) { return fact != nullptr && core::is_true(fact->value); }

std::string_view slug_of(std::string_view id) { return id.substr(id.find('.') + 1); }

/// What the artifacts are: metrics; words, too few to be weighed; words that are weighed as a whole
/// (diagnosis/word_facts.h). What is learnt from reports leads where there is nothing else.
enum class Artifacts : std::uint8_t { metrics, few_words, words };

double nats_of(const record::Fact* fact) {
  const double* nats = fact == nullptr ? nullptr : core::as_number(fact->value);
  return nats == nullptr ? 0 : *nats;
}

/// What the words of the texts say of a cause. Beside metrics they never outweigh what was
/// measured: they count as one ordinary rule at the most.
double weight_of_words(const record::Fact* fact, const Calibration& calibration,
                       Artifacts artifacts) {
  if (artifacts == Artifacts::words) return calibration.text.words * nats_of(fact);
  return std::clamp(calibration.words * nats_of(fact), calibration.words_least,
                    calibration.words_most);
}

/// From here on words stand for the symptom that nobody named.
constexpr double k_words_speak = 0.5;
/// Of nats: below it (three times an even chance) a cause that nothing else names is not listed.
constexpr double k_words_name = 1.1;

/// Nats that a cause of which no report was learnt stays behind what its family is heard with.
/// Judgement: three times less likely.
constexpr double k_unlearnt = 1.1;
/// Nats of its own that such a cause must have to be told from its family.
constexpr double k_of_its_own = 1.5;

double weight_of_rules(const RankedCause& ranked) {
  double sum = 0;
  for (const WeighedReason& why : ranked.reasons) {
    if (why.kind == ReasonKind::rule) sum += why.weight;
  }
  return sum;
}

/// The strongest thing that the cause explains, as a reason; or that all of it is absent.
void weigh_explained(const Cause& cause, const Calibration& calibration, const FactTable& facts,
                     const SeverityOf& severities, double words, Candidate& candidate) {
  const record::Fact* strongest = nullptr;
  double most = 0;
  // Only symptoms can be absent: that a message was not found says little about a log that was cut.
  // What could not be looked for (no such series) does not count.
  std::size_t absent = 0;
  for (const std::string& name : cause.explains) {
    const record::Fact* fact = facts.find(name);
    if (fact != nullptr && !is_yes(fact)) ++absent;
    if (!is_yes(fact)) continue;
    candidate.explained.push_back(name);
    const auto severity = severities.find(name);
    const double weight =
        gain(calibration, severity == severities.end() ? core::Severity::note : severity->second);
    if (strongest == nullptr || weight > most) {
      strongest = fact;
      most = weight;
    }
  }
  if (strongest != nullptr) {
    candidate.ranked.reasons.push_back({ReasonKind::explains, strongest->name,
                                        "explains " + strongest->name, most, strongest->evidence,
                                        strongest->because, is_said(facts, strongest->name)});
  } else if (absent > 0) {
    candidate.ranked.reasons.push_back({ReasonKind::absent,
                                        {},
                                        "nothing that it explains is there",
                                        calibration.explains_none,
                                        {},
                                        "looked for and absent"});
  } else if (!cause.explains.empty() && words < k_words_speak) {
    candidate.ranked.reasons.push_back({ReasonKind::unseen,
                                        {},
                                        "nothing that it explains was seen",
                                        calibration.explains_unseen,
                                        {},
                                        "no such symptom"});
  }
}

constexpr std::size_t k_most_places = 8;

/// The facts that make a condition hold, in their own words and with their places.
struct Support {
  std::string because;
  std::vector<record::Origin> evidence;
  bool said = true;  ///< no fact of it was measured or printed
};

Support support_of(const Condition& when, const FactTable& facts) {
  Support support;
  for (const record::Fact* fact : when.support(facts)) {
    support.said = support.said && is_said(facts, fact->name);
    if (!fact->because.empty() && support.because.find(fact->because) == std::string::npos) {
      support.because += (support.because.empty() ? "" : "; ") + fact->because;
    }
    for (const record::Origin& origin : fact->evidence) {
      if (support.evidence.size() < k_most_places) support.evidence.push_back(origin);
    }
  }
  return support;
}

WeighedReason reason(const EvidenceRule& rule, const FactTable& facts) {
  Support support = support_of(rule.when, facts);
  std::string told = fill_in(rule.because, facts);
  if (told.empty()) told = std::move(support.because);
  return {ReasonKind::rule, {},          rule.when.text(), rule.weight, std::move(support.evidence),
          std::move(told),  support.said};
}

/// What the program does wrong whatever the curves say is this cause: a loss that falls all the same
/// (half of the layers train) does not refute it.
bool is_in_the_program(const Candidate& candidate) {
  return std::any_of(candidate.explained.begin(), candidate.explained.end(),
                     [](const std::string& fact) { return fact.starts_with("code.mistake."); });
}

/// The title that names what was found, where all of that is known.
std::string title_of(const Cause& cause, const FactTable& facts) {
  std::string told = fill_in(cause.headline, facts);
  return told.empty() ? cause.title : told;
}

/// What refutes the cause, where something does.
std::optional<RuledOut> refutation_of(const Cause& cause, const FactTable& facts) {
  for (const Refutation& each : cause.refuted_by) {
    if (each.when.holds(facts) != Truth::yes) continue;
    Support support = support_of(each.when, facts);
    std::string told = fill_in(each.because, facts);
    if (told.empty()) told = std::move(support.because);
    return RuledOut{cause.id, title_of(cause, facts), std::move(told), std::move(support.evidence)};
  }
  return std::nullopt;
}

/// With which fact of words each family is heard, for its members that the classifier was not
/// taught.
using FamilyWords = std::map<std::string_view, const record::Fact*>;

/// What is learnt shares all of the odds among the causes that it knows. One that it does not know is
/// one more member of the family that the text reads like: as likely as the second likeliest (where
/// it reads like one member alone, it reads like no other), or as one that something refutes, for
/// what read like that must be another.
FamilyWords family_words(const CauseBook& book, const FactTable& facts) {
  struct Heard {
    const record::Fact* most = nullptr;
    const record::Fact* second = nullptr;
    const record::Fact* refuted = nullptr;
  };
  const auto louder = [](const record::Fact* one, const record::Fact* other) {
    return other == nullptr || nats_of(one) > nats_of(other);
  };
  std::map<std::string_view, Heard> families;
  for (const Cause& cause : book.causes) {
    const record::Fact* fact = facts.find("words." + cause.id);
    if (fact == nullptr) continue;
    Heard& heard = families[cause.family];
    if (refutation_of(cause, facts)) {
      if (louder(fact, heard.refuted)) heard.refuted = fact;
    } else if (louder(fact, heard.most)) {
      heard.second = std::exchange(heard.most, fact);
    } else if (louder(fact, heard.second)) {
      heard.second = fact;
    }
  }
  FamilyWords words;
  for (const auto& [family, heard] : families) {
    const bool by_refuted = heard.refuted != nullptr && louder(heard.refuted, heard.second);
    words[family] = by_refuted ? heard.refuted : heard.second;
  }
  return words;
}

/// The artifacts hold no metric to speak of: what is known was told.
bool is_told(const FactTable& facts) {
  constexpr double k_series = 3;  // fewer samples than this make no curve
  const record::Fact* points = facts.find("run.points");
  const double* samples = points == nullptr ? nullptr : core::as_number(points->value);
  return samples == nullptr || *samples < k_series;
}

/// Dumps, traces and checkpoints are measurements too, whatever is written beside them.
bool holds_recordings(const FactTable& facts) {
  constexpr std::array<std::string_view, 3> k_recordings = {"error.flight-recorder", "trace.any",
                                                            "ckpt.tensors"};
  return std::any_of(k_recordings.begin(), k_recordings.end(),
                     [&](std::string_view name) { return is_yes(facts.find(name)); });
}

/// A line that a program printed is known by the message itself, not by how people write of it.
bool is_bare_message(const FactTable& facts) {
  if (!is_yes(facts.find(TextClassifier::k_message))) return false;
  return std::any_of(facts.all().begin(), facts.all().end(), [](const record::Fact& fact) {
    return fact.name.starts_with("error.") && !fact.name.ends_with("-said") && is_yes(&fact);
  });
}

Artifacts artifacts_of(const FactTable& facts) {
  if (!is_told(facts)) return Artifacts::metrics;
  if (is_bare_message(facts)) return Artifacts::few_words;
  const bool heard = facts.find("words." + std::string(TextClassifier::k_healthy)) != nullptr &&
                     is_yes(facts.find(TextClassifier::k_account));
  const bool measured = is_yes(facts.find("words.beside_metrics"));
  return heard && !measured && !holds_recordings(facts) ? Artifacts::words : Artifacts::few_words;
}

bool is_supported(const RankedCause& ranked) {
  return std::any_of(ranked.reasons.begin(), ranked.reasons.end(),
                     [](const WeighedReason& why) { return why.weight > 0; });
}

constexpr double k_behind = 0.5;  // nats

/// Nothing that the cause explains is there.
bool shows_nothing(const RankedCause& ranked) {
  return std::any_of(ranked.reasons.begin(), ranked.reasons.end(), [](const WeighedReason& why) {
    return why.kind == ReasonKind::absent || why.kind == ReasonKind::unseen;
  });
}

/// What prior and rules say together. Who writes a report leaves much out, so where words lead a
/// cause is not refuted by what no rule found, nor by a kind of trouble that no rule heard named.
double log_odds_of_rules(const Cause& cause, const RankedCause& ranked,
                         const Calibration& calibration, Artifacts artifacts) {
  double log_odds = cause.prior;
  for (const WeighedReason& why : ranked.reasons) log_odds += why.weight;
  // Settings that could do harm are no evidence that they did: where metrics were looked at and show
  // nothing of what the cause brings about, it stays behind what nobody knows.
  if (artifacts == Artifacts::metrics && shows_nothing(ranked))
    return std::min(log_odds, calibration.unknown - k_behind);
  if (artifacts != Artifacts::words) return log_odds;
  return is_supported(ranked) ? std::max(log_odds, calibration.text.floor) : calibration.text.floor;
}

void complete(const Cause& cause, const FactTable& facts, RankedCause& ranked) {
  std::stable_sort(
      ranked.reasons.begin(), ranked.reasons.end(),
      [](const WeighedReason& a, const WeighedReason& b) { return a.weight > b.weight; });
  ranked.id = cause.id;
  ranked.family = cause.family;
  ranked.title = title_of(cause, facts);
  ranked.because = fill_in(cause.because, facts);
  ranked.remedies = applying(cause.remedies, facts);
  ranked.verify = fill_in(cause.verify, facts);
  ranked.references = cause.references;
}

std::optional<Candidate> consider(const Cause& cause, const Calibration& calibration,
                                  const FactTable& facts, const SeverityOf& severities,
                                  Artifacts artifacts, const FamilyWords& families) {
  const bool leads = artifacts == Artifacts::words;
  const bool out_of_question =
      std::any_of(cause.needs.begin(), cause.needs.end(),
                  [&](const Condition& needed) { return needed.holds(facts) == Truth::no; });
  const record::Fact* heard = facts.find("words." + cause.id);
  double words = weight_of_words(heard, calibration, artifacts);
  const bool named = leads ? nats_of(heard) >= k_words_name : words >= k_words_speak;
  if (out_of_question && !(leads && named)) return std::nullopt;
  Candidate candidate;
  RankedCause& ranked = candidate.ranked;
  if (!out_of_question) {
    weigh_explained(cause, calibration, facts, severities, leads ? 0 : words, candidate);
    for (const EvidenceRule& rule : cause.evidence) {
      if (rule.when.holds(facts) == Truth::yes) ranked.reasons.push_back(reason(rule, facts));
    }
  }
  if (!is_supported(ranked) && !named) return std::nullopt;
  if (leads && heard == nullptr && weight_of_rules(ranked) >= k_of_its_own) {
    const auto family = families.find(cause.family);
    heard = family == families.end() ? nullptr : family->second;
    const double of_family = nats_of(heard) - k_unlearnt;
    words = of_family > 0 ? calibration.text.words * of_family : 0;
  }
  ranked.log_odds = log_odds_of_rules(cause, ranked, calibration, artifacts) + words;
  if (words != 0) {
    ranked.reasons.push_back(
        {ReasonKind::words, {}, "words of the text", words, heard->evidence, heard->because, true});
  }
  complete(cause, facts, ranked);
  return candidate;
}

bool compete(const Candidate& a, const Candidate& b) {
  if (a.explained.empty() || b.explained.empty()) return true;
  return std::any_of(a.explained.begin(), a.explained.end(), [&](const std::string& name) {
    return std::find(b.explained.begin(), b.explained.end(), name) != b.explained.end();
  });
}

/// What was measured that a cause should account for. Gates sum up what other symptoms say.
bool asks_for_a_cause(std::string_view fact) {
  return !fact.starts_with("error.") && !fact.starts_with("gate.");
}

bool explains(const Candidate& candidate, std::string_view fact) {
  return std::find(candidate.explained.begin(), candidate.explained.end(), fact) !=
         candidate.explained.end();
}

/// What is there of one severity.
std::vector<std::string_view> seen_of(const SeverityOf& severities, core::Severity severity) {
  std::vector<std::string_view> facts;
  for (const auto& [name, held] : severities) {
    if (held == severity && asks_for_a_cause(name)) facts.push_back(name);
  }
  return facts;
}

bool share(const Candidate& a, const Candidate& b) {
  return std::any_of(a.explained.begin(), a.explained.end(),
                     [&](const std::string& name) { return explains(b, name); });
}

/// Of `facts` those that a rival of the candidate accounts for and the candidate does not: what
/// nobody accounts for, or only a cause of another matter, tells no rival from another.
std::vector<std::string_view> left_to_rivals(const Candidate& candidate,
                                             const std::vector<std::string_view>& facts,
                                             const std::vector<Candidate>& candidates) {
  std::vector<std::string_view> left;
  for (const std::string_view fact : facts) {
    const bool by_a_rival =
        !explains(candidate, fact) &&
        std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& other) {
          return explains(other, fact) && share(candidate, other);
        });
    if (by_a_rival) left.push_back(fact);
  }
  return left;
}

void leave(Candidate& candidate, std::string_view fact, double weight) {
  candidate.ranked.log_odds += weight;
  candidate.ranked.reasons.push_back({ReasonKind::leaves,
                                      std::string(fact),
                                      fmt::format("leaves {} unexplained", fact),
                                      weight,
                                      {},
                                      fmt::format("it does not account for {}", fact)});
}

/// A cause that accounts for none of the failures is behind one that does: many passes over the
/// data do not make a loss NaN. Of lesser things it pays for the share that it leaves to rivals.
void weigh_what_is_left(const SeverityOf& severities, const Calibration& calibration,
                        std::vector<Candidate>& candidates) {
  const auto failures = seen_of(severities, core::Severity::failed);
  const auto accounts = [&](const Candidate& each) {
    return std::any_of(failures.begin(), failures.end(),
                       [&](std::string_view fact) { return explains(each, fact); });
  };
  const bool by_some = std::any_of(candidates.begin(), candidates.end(), accounts);
  const std::array<std::pair<core::Severity, double>, 2> lesser = {
      {{core::Severity::unstable, calibration.leaves_unstable},
       {core::Severity::warning, calibration.leaves_warning}}};
  for (Candidate& each : candidates) {
    if (by_some && !accounts(each)) leave(each, failures.front(), calibration.leaves_failure);
    for (const auto& [severity, weight] : lesser) {
      const auto facts = seen_of(severities, severity);
      const auto left = left_to_rivals(each, facts, candidates);
      if (left.empty()) continue;
      leave(each, left.front(),
            weight * static_cast<double>(left.size()) / static_cast<double>(facts.size()));
    }
  }
}

/// Judgement: the audit warned of two of the last twenty sound programs that strangers wrote, and pointed at most mistakes.
constexpr double k_leaves_mistake = -2.0;

/// A mistake that is seen in the program itself, and that a rival accounts for, weighs more than a symptom that is left over.
void weigh_mistakes_left(const SeverityOf& severities, std::vector<Candidate>& candidates) {
  std::vector<std::string_view> mistakes;
  for (const auto& [name, held] : severities) {
    if (held >= core::Severity::warning && name.starts_with("code.mistake."))
      mistakes.push_back(name);
  }
  for (Candidate& each : candidates) {
    const auto left = std::find_if(mistakes.begin(), mistakes.end(), [&](std::string_view fact) {
      return !explains(each, fact) &&
             std::any_of(candidates.begin(), candidates.end(),
                         [&](const Candidate& other) { return explains(other, fact); });
    });
    if (left != mistakes.end()) leave(each, *left, k_leaves_mistake);
  }
}

bool has_warning(const SeverityOf& severities) {
  return std::any_of(severities.begin(), severities.end(),
                     [](const auto& each) { return each.second >= core::Severity::warning; });
}

/// A cause that stands in several families (a learning rate that is too high ends in NaN or in
/// divergence) is one cause: the family that fits best speaks for it.
void keep_best_of_each(std::vector<Candidate>& candidates) {
  std::stable_sort(
      candidates.begin(), candidates.end(),
      [](const Candidate& a, const Candidate& b) { return a.ranked.log_odds > b.ranked.log_odds; });
  std::vector<Candidate> kept;
  for (Candidate& candidate : candidates) {
    const bool known = std::any_of(kept.begin(), kept.end(), [&](const Candidate& other) {
      return slug_of(other.ranked.id) == slug_of(candidate.ranked.id);
    });
    if (!known) kept.push_back(std::move(candidate));
  }
  candidates = std::move(kept);
}

}  // namespace

bool stands_on_words(const RankedCause& cause) {
  return std::all_of(cause.reasons.begin(), cause.reasons.end(),
                     [](const WeighedReason& why) { return why.weight <= 0 || why.said; });
}

namespace {

double temperature_of(const Calibration& calibration, Artifacts artifacts) {
  switch (artifacts) {
    case Artifacts::metrics:
      return calibration.temperature;
    case Artifacts::few_words:
      return calibration.no_metrics_temperature;
    case Artifacts::words:
      return calibration.text.temperature;
  }
  return 1;
}

/// Log-odds of a cause that the book does not hold, and of a run in order.
double log_odds_of_unknown(const Calibration& calibration, const FactTable& facts,
                           const SeverityOf& severities, Artifacts artifacts) {
  const bool calm_run = is_yes(facts.find("run.healthy")) && !has_warning(severities);
  const bool asked = is_yes(facts.find("said.asks_normal"));
  const double calm = (calm_run ? calibration.healthy : 0) + (asked ? calibration.asks_normal : 0);
  if (artifacts == Artifacts::words) return calibration.text.unknown + calm;
  const double fine = weight_of_words(facts.find("words.healthy"), calibration, artifacts);
  return (artifacts == Artifacts::metrics ? calibration.unknown : calibration.no_metrics_unknown) +
         calm + std::max(fine, 0.0);
}

constexpr std::size_t k_most_ruled_out = 5;

/// Those that stood best before they were refuted, each slug once: what a reader would have thought
/// of.
std::vector<RuledOut> likeliest(std::vector<std::pair<double, RuledOut>> ruled_out) {
  std::stable_sort(ruled_out.begin(), ruled_out.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<RuledOut> told;
  for (auto& [log_odds, each] : ruled_out) {
    const bool known = std::any_of(told.begin(), told.end(), [&](const RuledOut& other) {
      return slug_of(other.id) == slug_of(each.id);
    });
    if (!known && told.size() < k_most_ruled_out) told.push_back(std::move(each));
  }
  return told;
}

}  // namespace

Ranking weigh_causes(const CauseBook& book, const FactTable& facts, const SeverityOf& severities) {
  const Artifacts artifacts = artifacts_of(facts);
  std::vector<Candidate> candidates;
  std::vector<std::pair<double, RuledOut>> ruled_out;
  const FamilyWords families =
      artifacts == Artifacts::words ? family_words(book, facts) : FamilyWords();
  for (const Cause& cause : book.causes) {
    auto candidate = consider(cause, book.calibration, facts, severities, artifacts, families);
    if (!candidate) continue;
    auto refuted = is_in_the_program(*candidate) ? std::nullopt : refutation_of(cause, facts);
    if (refuted) {
      ruled_out.emplace_back(candidate->ranked.log_odds, *std::move(refuted));
    } else {
      candidates.push_back(std::move(*candidate));
    }
  }
  weigh_what_is_left(severities, book.calibration, candidates);
  weigh_mistakes_left(severities, candidates);
  keep_best_of_each(candidates);
  const double temperature = temperature_of(book.calibration, artifacts);
  const auto mass = [&](double log_odds) {
    return std::exp(std::clamp(log_odds / temperature, -50.0, 50.0));
  };
  const bool from_text = artifacts == Artifacts::words;
  const double healthy =
      from_text ? mass(book.calibration.text.healthy +
                       weight_of_words(facts.find("words.healthy"), book.calibration, artifacts))
                : 0;
  const double unknown =
      mass(log_odds_of_unknown(book.calibration, facts, severities, artifacts)) + healthy;
  Ranking ranking;
  ranking.from_text = from_text;
  ranking.ruled_out = likeliest(std::move(ruled_out));
  for (const Candidate& candidate : candidates) {
    const double own = mass(candidate.ranked.log_odds);
    double all = unknown + own;
    for (const Candidate& other : candidates) {
      if (&other == &candidate) continue;
      const bool ahead = other.ranked.log_odds > candidate.ranked.log_odds;
      if (from_text || ahead || compete(candidate, other)) all += mass(other.ranked.log_odds);
    }
    ranking.causes.push_back(candidate.ranked);
    ranking.causes.back().probability = own / all;
  }
  std::stable_sort(ranking.causes.begin(), ranking.causes.end(),
                   [](const RankedCause& a, const RankedCause& b) {
                     return a.probability != b.probability ? a.probability > b.probability
                                                           : a.log_odds > b.log_odds;
                   });
  double all = unknown;
  for (const RankedCause& cause : ranking.causes) all += mass(cause.log_odds);
  ranking.unknown_probability = unknown / all;
  ranking.healthy_probability = healthy / all;
  return ranking;
}

namespace {

/// A value as a sentence writes it: 32000 and not 3.2e+04, compute capability 7.0 and not 7.
std::string show_in_text(const record::Fact& fact) {
  const double* number = core::as_number(fact.value);
  if (number == nullptr) return core::show(fact.value);
  if (fact.name.ends_with("compute_capability")) return fmt::format("{:.1f}", *number);
  constexpr double k_written_out = 1e7;  // further digits nobody reads
  const bool whole = std::fabs(*number) < k_written_out && *number == std::round(*number);
  return whole ? fmt::format("{:.0f}", *number) : core::show_number(*number);
}

}  // namespace

std::string fill_in(std::string_view text, const FactTable& facts) {
  std::string out;
  std::size_t sentence = 0;  // where the sentence in the making starts in `out`
  bool missing = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t end = text[at] == '{' ? text.find('}', at) : std::string_view::npos;
    if (end == std::string_view::npos) {
      out += text[at];
    } else {
      const record::Fact* fact = facts.find(text.substr(at + 1, end - at - 1));
      missing = missing || fact == nullptr;
      if (fact != nullptr) out += show_in_text(*fact);
      at = end;
    }
    const bool ends =
        at + 1 >= text.size() ||
        ((text[at] == '.' || text[at] == '!' || text[at] == '?') && text[at + 1] == ' ');
    if (!ends) continue;
    if (missing) out.resize(sentence);
    sentence = out.size();
    missing = false;
  }
  return std::string(core::trim(out));
}

std::string fill_in(const std::vector<Sentence>& sentences, const FactTable& facts) {
  std::string out;
  for (const Sentence& each : sentences) {
    if (!each.when.empty() && each.when.front().holds(facts) != Truth::yes) continue;
    const std::string told = fill_in(each.text, facts);
    if (told.empty()) continue;
    if (!out.empty()) out += ' ';
    out += told;
  }
  return out;
}

}  // namespace aplomb::diagnosis
