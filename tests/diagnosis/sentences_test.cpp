/// No sentence contradicts the number that stands in it. Every sentence of knowledge/causes that
/// shows a number either states it (`The peak learning rate is 0.001.`) or claims something of it
/// (`stays at or below`, `climbs from`); what is claimed is listed here with what has to hold, and
/// worlds of extreme numbers are tried on all of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <random>
#include <string>
#include <string_view>

#include "diagnosis/cause_book.h"
#include "diagnosis/weigh.h"

namespace aplomb::diagnosis {
namespace {

using Numbers = std::map<std::string, double, std::less<>>;

struct Claim {
  std::string_view words;  ///< in the sentence as it is told
  std::function<bool(const Numbers&)> holds;
};

std::function<bool(const Numbers&)> at_least(const char* name, double bound) {
  return [=](const Numbers& n) { return n.at(name) >= bound; };
}
std::function<bool(const Numbers&)> above(const char* name, double bound) {
  return [=](const Numbers& n) { return n.at(name) > bound; };
}
std::function<bool(const Numbers&)> below(const char* name, double bound) {
  return [=](const Numbers& n) { return n.at(name) < bound; };
}
std::function<bool(const Numbers&)> more(const char* name, const char* than) {
  return [=](const Numbers& n) { return n.at(name) > n.at(than); };
}

const std::vector<Claim>& claims() {
  static const std::vector<Claim> all = {
      {"The loss climbs from", more("loss.divergence.last", "loss.divergence.best")},
      {"usually stay at or below", more("lr.peak", "lr.usual_high")},
      {"usual at most", more("lr.peak", "lr.usual_high")},
      {"usually need", more("lr.usual_low", "lr.peak")},
      {"The gradient norm reach", at_least("grad_norm.max", 10)},
      {"KL reaches", above("kl.max", 0.5)},
      {"has lost what it could do before", above("kl.max", 2)},
      {"The loss rose", above("nonfinite.onset.rise_ratio", 1)},
      {"The norm goes from", more("grad_norm.last", "grad_norm.first")},
      {"gradient norm, ", above("grad_norm.first", 100)},
      {"The first loss, ", [](const Numbers&) { return true; }},  // of the detector that saw it
      {"it shrinks every weight", above("optim.weight_decay", 0.1)},
      {"suppresses adapters", above("optim.weight_decay", 0.1)},
      {"No update to speak of", [](const Numbers& n) { return n.at("lr.at_onset") <= 1e-6; }},
      {"passes the model knows", above("run.epochs", 1)},
      {"can store them all", below("data.samples", 5000)},
      {"below the training loss", above("eval.better_than_train.gap", 0)},
      {"Held-out loss was best", more("eval.overfit.last", "eval.overfit.best")},
      {"of a group got one reward", at_least("frac_reward_zero_std.last", 0.5)},
      {"has its own reward as its mean",
       [](const Numbers& n) { return n.at("rl.num_generations") == 1; }},
      {"The entropy is", below("entropy.last", 0.1)},
      {"hit the limit", at_least("completion_clipped_ratio.last", 0.3)},
      {"outside the clip range", at_least("clip_ratio.last", 0.1)},
      {"Rewards differ inside the groups", above("reward_std.last", 0)},
      {"was waited for data", at_least("slow.data_share", 0.1)},
      {"The gradient is there", above("grad_norm.last", 0)},
      {"remembers some hundred steps", at_least("optim.beta2", 0.99)},
      {"beside a root of the second moment", at_least("optim.eps", 1e-3)},
      {"it bounds no step", below("optim.eps", 1e-10)},
      {"little of the input reaches", at_least("model.dropout", 0.5)},
      {"is lost where it is less", below("lr.peak", 0.004)},
      {"Accumulation here", above("batch.accumulation", 1)},
      {"The base is in", below("quant.bits", 16)},
      // What is said only where a detector saw it; the number is its own.
      {"which no schedule in use does", [](const Numbers&) { return true; }},
      {"so the loss scale falls to", [](const Numbers&) { return true; }},
      {"on such gradients cuts each step", above("optim.grad_clip", 0)},
      {"of the steps change no weight", [](const Numbers&) { return true; }},
      {"The mean completion goes from", [](const Numbers&) { return true; }},
      {"The loss stays at", [](const Numbers&) { return true; }},
      {"The loss settles at", [](const Numbers&) { return true; }},
      {"whatever is sampled", [](const Numbers&) { return true; }},
      {"never becomes what was asked for", [](const Numbers&) { return true; }},
      {"takes the learning rate away", [](const Numbers&) { return true; }},
      {"was at its peak of", [](const Numbers&) { return true; }},
      {"is at its peak of", [](const Numbers&) { return true; }},
      {"is not the one that was asked for", [](const Numbers&) { return true; }},
  };
  return all;
}

/// Words that judge. A sentence without them states a number.
constexpr std::array<std::string_view, 22> k_judging = {
    " too ",  " far ",   " high",  " low",    "above",  "below",  "reach", " rose",
    " rise",  " climb",  " grow",  " fall",   "usual",  " need",  "never", " most",
    "small ", " large ", " stays", " settle", "little", "nothing"};

/// Numbers that an error message or a recorder printed: they are quoted, not compared.
bool is_quoted(std::string_view fact) {
  constexpr std::array<std::string_view, 6> k_heads = {"error.",  "hang.",     "oom.",
                                                       "saving.", "snapshot.", "data.max_length"};
  return std::any_of(k_heads.begin(), k_heads.end(),
                     [&](std::string_view head) { return fact.starts_with(head); });
}

std::vector<std::string> shown_facts(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    const std::size_t end = text.find('}', at);
    if (end == std::string_view::npos) break;
    names.emplace_back(text.substr(at + 1, end - at - 1));
  }
  return names;
}

std::string_view head_of(std::string_view fact) { return fact.substr(0, fact.find('.')); }

/// The sentences of a template, one by one: `{...}` holds no end of one.
std::vector<std::string> sentences_of(std::string_view text) {
  std::vector<std::string> all(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    all.back() += text[i];
    if (text[i] == '.' && i + 1 < text.size() && text[i + 1] == ' ') all.emplace_back();
  }
  return all;
}

const Claim* claim_of(std::string_view sentence) {
  const auto found = std::find_if(claims().begin(), claims().end(), [&](const Claim& claim) {
    return sentence.find(claim.words) != std::string_view::npos;
  });
  return found == claims().end() ? nullptr : &*found;
}

TEST(Sentences, AClaimAboutANumberIsListedAndStandsUnderACondition) {
  for (const Cause& cause : cause_book().causes) {
    for (const Sentence& each : cause.because) {
      for (const std::string& sentence : sentences_of(each.text)) {
        std::vector<std::string> shown = shown_facts(sentence);
        std::erase_if(shown, [](const std::string& name) { return is_quoted(name); });
        if (shown.empty()) continue;
        const bool judges = std::any_of(
            k_judging.begin(), k_judging.end(),
            [&](std::string_view word) { return sentence.find(word) != std::string::npos; });
        if (!judges && claim_of(sentence) == nullptr) continue;  // it states the number
        EXPECT_NE(claim_of(sentence), nullptr)
            << cause.id << ": what has to hold for this to be said? " << sentence;
        ASSERT_FALSE(each.when.empty())
            << cause.id << " says this whatever the number is: " << sentence;
        const std::vector<std::string> asked = each.when.front().names();
        const bool guarded = std::any_of(asked.begin(), asked.end(), [&](const std::string& name) {
          return std::any_of(shown.begin(), shown.end(), [&](const std::string& number) {
            return head_of(name) == head_of(number) || name.starts_with("code.");
          });
        });
        EXPECT_TRUE(guarded) << cause.id << " asks for nothing of the number in: " << sentence;
      }
    }
  }
}

/// A world of extreme numbers, in which those that follow from others do so.
Numbers world(std::mt19937& random, const std::vector<std::string>& names) {
  constexpr std::array<double, 15> k_extremes = {0,    1e-57, 1e-12, 1e-7, 1e-4, 0.004, 0.1, 0.5,
                                                 0.99, 1,     1.05,  3,    50,   1e5,   1e11};
  std::uniform_int_distribution<std::size_t> pick(0, k_extremes.size() - 1);
  Numbers numbers;
  for (const std::string& name : names) numbers[name] = k_extremes[pick(random)];
  for (const char* name :
       {"lr.peak", "lr.usual_high", "lr.usual_low", "loss.divergence.best", "loss.divergence.last",
        "grad_norm.first", "grad_norm.last", "eval.overfit.best", "eval.overfit.last"})
    numbers.try_emplace(name, k_extremes[pick(random)]);
  const auto over = [&](const char* a, const char* b) {
    return numbers.at(b) > 0 ? numbers.at(a) / numbers.at(b) : 1.0;
  };
  numbers["lr.over_usual"] = over("lr.peak", "lr.usual_high");
  numbers["lr.under_usual"] = over("lr.usual_low", "lr.peak");
  numbers["loss.divergence.ratio"] = over("loss.divergence.last", "loss.divergence.best");
  numbers["grad_norm.climb.ratio"] = over("grad_norm.last", "grad_norm.first");
  numbers["eval.overfit.rise_frac"] = over("eval.overfit.last", "eval.overfit.best") - 1;
  return numbers;
}

/// Everything that the cause's sentences show or ask for.
std::vector<std::string> names_of(const Cause& cause) {
  std::vector<std::string> names;
  for (const Sentence& each : cause.because) {
    for (std::string& name : shown_facts(each.text)) names.push_back(std::move(name));
    for (const Condition& when : each.when) {
      for (std::string& name : when.names()) names.push_back(std::move(name));
    }
  }
  return names;
}

TEST(Sentences, NoneContradictsItsNumbersInAnyWorld) {
  constexpr int k_worlds = 400;
  std::mt19937 random(7);
  std::size_t told = 0;
  for (const Cause& cause : cause_book().causes) {
    const std::vector<std::string> names = names_of(cause);
    if (names.empty()) continue;
    for (int round = 0; round < k_worlds; ++round) {
      const Numbers numbers = world(random, names);
      FactTable facts;
      for (const auto& [name, value] : numbers) facts.set({name, value, "", {}});
      const std::string text = fill_in(cause.because, facts);
      for (const Claim& claim : claims()) {
        if (text.find(claim.words) == std::string::npos) continue;
        ++told;
        bool holds = false;
        try {
          holds = claim.holds(numbers);
        } catch (const std::out_of_range&) {
          ADD_FAILURE() << cause.id << " claims '" << claim.words << "' of a fact it does not show";
        }
        ASSERT_TRUE(holds) << cause.id << " says: " << text;
      }
    }
  }
  EXPECT_GT(told, 1000U) << "the worlds bring the claims about";
}

TEST(Sentences, RefutationsAndRulesThatShowANumberAskForIt) {
  for (const Cause& cause : cause_book().causes) {
    const auto check = [&](const Condition& when, const std::string& because) {
      const std::vector<std::string> asked = when.names();
      for (const std::string& name : shown_facts(because)) {
        const bool asks = std::any_of(asked.begin(), asked.end(), [&](const std::string& other) {
          return head_of(other) == head_of(name);
        });
        EXPECT_TRUE(asks) << cause.id << " shows " << name
                          << " and does not ask for it: " << when.text();
      }
    };
    for (const Refutation& each : cause.refuted_by) check(each.when, each.because);
    for (const EvidenceRule& each : cause.evidence) check(each.when, each.because);
  }
}

}  // namespace
}  // namespace aplomb::diagnosis
