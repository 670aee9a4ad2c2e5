#include "prose/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "core/letters.h"
#include "core/text.h"

namespace aplomb::prose {
namespace {

using prose::Claim;

constexpr std::size_t k_most_evidence = 4;
constexpr std::size_t k_most_quote = 160;
constexpr std::size_t k_longest_line = 4096;  // longer ones are dumps
constexpr std::size_t k_wrapped = 60;         // editors and mail wrap at 72 or more
constexpr std::size_t k_last_words = 24;      // what may stand alone on a paragraph's last line
constexpr std::size_t k_longest_paragraph = 2048;

using core::is_letter;

/// A date, a time or a bracket at the head, or a level among the first words: a logger wrote it.
bool looks_logged(std::string_view line) {
  if (std::string_view("[{<|*=-#>").find(line.front()) != std::string_view::npos) return true;
  if (line.size() > 4 && line[0] >= '0' && line[0] <= '9' && line[1] >= '0' && line[1] <= '9')
    return true;
  if (line.find(".py:") != std::string_view::npos) return true;  // a warning names its place
  const std::string_view head = line.substr(0, 80);
  for (const std::string_view level : {"INFO", "WARN", "ERROR", "DEBUG",
                                       "Warning:", "Error:", "Exception", "File \"", "Traceback"}) {
    if (head.find(level) != std::string_view::npos) return true;
  }
  return false;
}

/// `train.lua -rand 123 -seed x`: two flags and more.
bool is_command(std::string_view line) {
  // `./run.sh 0 voc`, and not `./run.sh hangs at step 3.`
  if (line.starts_with("./") && !line.ends_with('.')) return true;
  int flags = 0;
  for (std::size_t at = line.find(" -"); at != std::string_view::npos; at = line.find(" -", at + 1))
    flags += at + 2 < line.size() && is_letter(line[at + 2]) ? 1 : 0;
  return flags >= 2;
}

/// Flags like `--resume` in the line.
std::size_t flags_in(std::string_view line) {
  std::size_t flags = 0;
  for (std::size_t at = line.find(" --"); at != std::string_view::npos;
       at = line.find(" --", at + 1))
    flags += at + 3 < line.size() && is_letter(line[at + 3]) ? 1 : 0;
  return flags;
}

bool ends_a_sentence(std::string_view text) {
  constexpr std::string_view k_full_stop = "。";
  return text.empty() || std::string_view(".!?:;").find(text.back()) != std::string_view::npos ||
         text.ends_with(k_full_stop);
}

/// `We use`, and not `GPU` or `I`: who leaves out the full stop starts the next line so.
bool begins_a_sentence(std::string_view line) {
  return line.size() > 1 && line[0] >= 'A' && line[0] <= 'Z' && line[1] >= 'a' && line[1] <= 'z';
}

/// The facts of one text. The first claim of a name gives the value, later ones add evidence.
class FactSet {
 public:
  FactSet(record::RunBuilder& build, record::SourceId source) : build_(build), source_(source) {}

  void set(const std::string& name, core::Value value, const std::string& quote, std::uint64_t line,
           std::uint64_t offset) {
    const auto [place, is_new] = by_name_.try_emplace(name, facts_.size());
    if (is_new) facts_.push_back({name, std::move(value), "said: " + quote, {}});
    record::Fact& fact = facts_[place->second];
    const record::Origin origin{source_, line, offset};
    const bool known =
        std::any_of(fact.evidence.begin(), fact.evidence.end(),
                    [&](const record::Origin& held) { return held.offset == offset; });
    if (!known && fact.evidence.size() < k_most_evidence) fact.evidence.push_back(origin);
  }

  std::optional<double> number(const std::string& name) const {
    const record::Fact* fact = find(name);
    const double* held = fact == nullptr ? nullptr : core::as_number(fact->value);
    return held == nullptr ? std::nullopt : std::optional<double>(*held);
  }

  /// A fact that follows from two others.
  void follow(const std::string& name, core::Value value, const std::string& a,
              const std::string& b) {
    const record::Fact* first = find(a);
    const record::Fact* second = find(b);
    if (first == nullptr || second == nullptr || find(name) != nullptr) return;
    record::Fact fact{name, std::move(value), first->because, first->evidence};
    if (second->because != first->because) fact.because += "; " + second->because;
    fact.evidence.insert(fact.evidence.end(), second->evidence.begin(), second->evidence.end());
    by_name_.emplace(name, facts_.size());
    facts_.push_back(std::move(fact));
  }

  void give() {
    for (record::Fact& fact : facts_) build_.fact(std::move(fact));
  }

 private:
  const record::Fact* find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &facts_[found->second];
  }

  record::RunBuilder& build_;
  record::SourceId source_;
  std::vector<record::Fact> facts_;
  std::map<std::string, std::size_t> by_name_;
};

}  // namespace

bool reads_like_prose(std::string_view line, bool in_log) {
  line = core::trim(line);
  if (line.size() < 4 || line.size() > k_longest_line) return false;
  if (in_log && looks_logged(line)) return false;
  if (line.starts_with("--") || is_command(line)) return false;
  if (line.find(" | ") != std::string_view::npos) return false;  // a table
  for (const std::string_view piece : {"+=", "==", "self.", "import ", "def "}) {
    if (line.find(piece) != std::string_view::npos && line.find(". ") == std::string_view::npos)
      return false;  // a line of code, if it holds no two sentences
  }
  std::size_t words = 0;
  std::size_t wide = 0;
  std::size_t signs = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (is_letter(c) && (i == 0 || !is_letter(line[i - 1]))) ++words;
    if (static_cast<unsigned char>(c) >= 0xE3) ++wide;
    if (std::string_view("=(){}[]<>|_*#$^").find(c) != std::string_view::npos) ++signs;
  }
  constexpr std::size_t k_words_a_flag = 6;  // `when I use --resume it starts at epoch 0`
  if (words < k_words_a_flag * flags_in(line)) return false;
  // Prose holds a sign in some five words; in code, keyword lists and tables every word has one.
  constexpr std::size_t k_words_a_sign = 2;
  // `weight_decay = 1e-4`
  constexpr std::size_t k_assignment_words = 4;
  if (line.find('=') != std::string_view::npos && words + wide <= k_assignment_words) return false;
  return words + wide >= 2 && signs * k_words_a_sign <= words + wide + 2;
}

void ClaimReader::line(std::string_view line, std::uint64_t number, std::uint64_t offset) {
  lines_ = std::max(lines_, number);
  if (lines_ > k_account_lines || heard_.size() >= k_most_claims) return;
  constexpr std::string_view k_rule = "-*=#> \t\r";  // `---- no mAP yet ----`
  const bool item = line.find_first_not_of(" \t") != line.find_first_not_of(k_rule);
  line.remove_prefix(std::min(line.find_first_not_of(k_rule), line.size()));
  line.remove_suffix(line.size() - (line.find_last_not_of(k_rule) + 1));
  if (!item && goes_on(line, number)) {
    open_.text.append(" ").append(line);
  } else {
    hear();
    if (!reads_like_prose(line, text_ == Text::log)) return;
    open_.text = line;
    open_.line = number;
    open_.offset = offset;
  }
  open_.last_size = line.size();
  open_.last_line = number;
}

bool ClaimReader::goes_on(std::string_view line, std::uint64_t number) const {
  if (open_.last_size < k_wrapped || number != open_.last_line + 1 || line.empty()) return false;
  if (ends_a_sentence(open_.text) || open_.text.size() + line.size() > k_longest_paragraph)
    return false;
  if (!is_letter(line.front()) && (line.front() < '0' || line.front() > '9')) return false;
  if (begins_a_sentence(line)) return false;
  return reads_like_prose(line, text_ == Text::log) ||
         (line.size() <= k_last_words && ends_a_sentence(line));
}

void ClaimReader::hear() {
  if (open_.text.empty()) return;
  const std::string quote = core::shorten(core::sanitize(core::trim(open_.text)), k_most_quote);
  for (Claim& claim : parser_.line(open_.text)) {
    if (heard_.size() < k_most_claims)
      heard_.push_back({std::move(claim), quote, open_.line, open_.offset});
  }
  for (const std::string& condition : parser_.mentioned()) {
    if (heard_.size() >= k_most_claims) break;
    heard_.push_back({{}, quote, open_.line, open_.offset});
    heard_.back().claim.conditions = {condition};
  }
  open_ = {};
}

/// Turns what was heard into facts.
class ClaimFacts {
 public:
  ClaimFacts(record::RunBuilder& build, record::SourceId source) : facts_(build, source) {}

  void add(const ClaimReader::Heard& heard) {
    at_ = &heard;
    const Claim& claim = heard.claim;
    if (claim.subject.empty()) return set("said.about." + claim.conditions.front(), true);
    const std::string subject = "said." + claim.subject;
    if (claim.value && (claim.unit.empty() || claim.unit == "percent"))
      values_[claim.subject].push_back({*claim.value, &heard});
    if (claim.predicate.empty()) {
      if (claim.value) set(subject + ".value", *claim.value);
      note_value(claim);
      return;
    }
    if (claim.predicate == "asks_normal") return set("said.about.asks_normal", true);
    const std::string name = subject + "." + claim.predicate;
    set(name, true);
    const auto number = [&](const char* part, const std::optional<double>& value) {
      if (value) set(name + part, *value);
    };
    number(".value", claim.value);
    const prose::Concept* what =
        prose::Lexicon::instance().find(prose::ConceptKind::predicate, claim.predicate);
    if (claim.value && what != nullptr && what->state) set(subject + ".value", *claim.value);
    number(".from", claim.from);
    number(".to", claim.to);
    number(".step", claim.step);
    number(".epoch", claim.epoch);
    if (claim.from && claim.to && *claim.from > 0) set(name + ".ratio", *claim.to / *claim.from);
    for (const std::string& condition : claim.conditions)
      set(fmt::format("{}.{}", name, condition), true);
    if (claim.judges.empty()) return;
    const char* how = claim.judges == "good" ? "works" : "fails";
    for (const std::string& condition : claim.conditions)
      set(fmt::format("said.{}_with.{}", how, condition), true);
    for (const std::string& condition : claim.without)
      set(fmt::format("said.{}_without.{}", how, condition), true);
    judge_settings(heard, how);
  }

  void finish() {
    facts_gap();
    for (const auto& [subject, values] : values_) note_trend(subject, values);
    for (const auto& [setting, worked] : best_) {
      const auto failed = worst_.find(setting);
      if (failed == worst_.end() || worked >= failed->second) continue;
      facts_.follow("said.smaller_works." + setting, true, "said.works_at." + setting,
                    "said.fails_at." + setting);
    }
    facts_.give();
  }

  /// Values of settings stand in the clause or sentence of what they are blamed for.
  void remember_settings(const std::vector<ClaimReader::Heard>& all) { all_ = &all; }

 private:
  struct Reading {
    double value = 0;
    const ClaimReader::Heard* heard = nullptr;
  };

  void set(const std::string& name, core::Value value) {
    facts_.set(name, std::move(value), at_->quote, at_->line, at_->offset);
  }

  /// A later value of the same subject, far from the first: what was 15 s/it is 90 now.
  void note_value(const Claim& claim) {
    if (!claim.value || claim.unit.empty()) return;
    const auto [place, is_new] = first_.try_emplace(claim.subject + " " + claim.unit, *claim.value);
    constexpr double k_far = 1.5;  // as much as detectors ask of a step time that drifts
    if (is_new || place->second <= 0 || *claim.value <= 0) return;
    const double ratio = *claim.value / place->second;
    if (ratio < k_far && ratio > 1 / k_far) return;
    const std::string name =
        fmt::format("said.{}.{}", claim.subject, ratio > 1 ? "rises" : "falls");
    set(name, true);
    set(name + ".ratio", ratio);
  }

  /// A setting's value in the clause of the judgement, else in the clause before it.
  void judge_settings(const ClaimReader::Heard& heard, const std::string& how) {
    if (!judge_settings(heard, how, 0) && heard.claim.clause > 0) judge_settings(heard, how, 1);
  }

  bool judge_settings(const ClaimReader::Heard& heard, const std::string& how, std::size_t back) {
    if (all_ == nullptr) return false;
    bool any = false;
    const prose::Lexicon& lexicon = prose::Lexicon::instance();
    for (const ClaimReader::Heard& other : *all_) {
      const Claim& claim = other.claim;
      const bool here = other.line == heard.line && claim.sentence == heard.claim.sentence &&
                        claim.clause == heard.claim.clause - back;
      if (!here || !claim.value || !claim.predicate.empty()) continue;
      const prose::Concept* who = lexicon.find(prose::ConceptKind::subject, claim.subject);
      if (who == nullptr || who->nature != "setting") continue;
      any = true;
      set(fmt::format("said.{}_at.{}", how, claim.subject), *claim.value);
      if (how == "works") {
        double& best = best_.try_emplace(claim.subject, *claim.value).first->second;
        best = std::max(best, *claim.value);
      } else {
        double& worst = worst_.try_emplace(claim.subject, *claim.value).first->second;
        worst = std::min(worst, *claim.value);
      }
    }
    return any;
  }

  void facts_gap() {
    difference("said.accuracy_gap", "said.train_accuracy.value",
               {"said.eval_accuracy.value", "said.accuracy.value", "said.field_accuracy.value"});
    difference("said.accuracy_gap", "said.eval_error_rate.value", {"said.train_error_rate.value"});
    difference("said.field_gap", "said.eval_accuracy.value", {"said.field_accuracy.value"});
    difference("said.field_gap", "said.accuracy.value", {"said.field_accuracy.value"});
    const auto train = facts_.number("said.loss.value");
    const auto held_out = facts_.number("said.eval_loss.value");
    if (train && held_out && *train > 0)
      facts_.follow("said.loss_ratio", *held_out / *train, "said.eval_loss.value",
                    "said.loss.value");
  }

  void difference(const char* name, const char* from,
                  std::initializer_list<const char*> candidates) {
    const auto high = facts_.number(from);
    for (const char* candidate : candidates) {
      const auto low = facts_.number(candidate);
      if (high && low) facts_.follow(name, *high - *low, from, candidate);
    }
  }

  /// Several values of one subject: the last over the first (`BLEU 37.1 ... BLEU 36.2`). Three that
  /// go one way are a rise or a fall that nobody had to name.
  void note_trend(const std::string& subject, const std::vector<Reading>& values) {
    if (values.size() < 2 || values.front().value <= 0) return;
    at_ = values.back().heard;
    const double trend = values.back().value / values.front().value;
    set("said." + subject + ".trend", trend);
    constexpr double k_clear = 0.05;  // smaller changes are noise of an evaluation
    if (values.size() < 3 || std::fabs(trend - 1) < k_clear) return;
    const bool rises = trend > 1;
    const bool steady =
        std::adjacent_find(values.begin(), values.end(), [&](const Reading& a, const Reading& b) {
          return rises ? b.value <= a.value : b.value >= a.value;
        }) == values.end();
    if (steady) set(fmt::format("said.{}.{}", subject, rises ? "rises" : "falls"), true);
  }

  FactSet facts_;
  const ClaimReader::Heard* at_ = nullptr;
  const std::vector<ClaimReader::Heard>* all_ = nullptr;
  std::map<std::string, double> first_, best_, worst_;
  std::map<std::string, std::vector<Reading>> values_;  ///< without a unit, in order
};

void ClaimReader::finish(record::RunBuilder& build, record::SourceId source) {
  if (lines_ <= k_account_lines && heard_.size() < k_most_claims) hear();
  open_ = {};
  if (lines_ <= k_account_lines && !heard_.empty()) {
    ClaimFacts facts(build, source);
    facts.remember_settings(heard_);
    for (const Heard& heard : heard_) facts.add(heard);
    facts.finish();
  }
  heard_.clear();
  lines_ = 0;
}

}  // namespace aplomb::prose
