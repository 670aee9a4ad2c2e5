#include "preflight/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "diagnosis/weigh.h"
#include "preflight/config_facts.h"
#include "preflight/rule_book.h"

namespace aplomb::preflight {
namespace {

bool versions_hold(const CheckRule& rule, const diagnosis::FactTable& facts) {
  return std::all_of(rule.versions.begin(), rule.versions.end(), [&](const VersionRange& range) {
    const record::Fact* fact = facts.find("env." + range.package);
    const std::string* version = fact == nullptr ? nullptr : core::as_text(fact->value);
    return version == nullptr ? range.or_unknown : range.holds(*version);
  });
}

bool holds(const std::vector<record::Origin>& list, const record::Origin& origin) {
  return std::any_of(list.begin(), list.end(), [&](const record::Origin& other) {
    return other.source == origin.source && other.line == origin.line &&
           other.offset == origin.offset;
  });
}

/// The places of the settings that a rule rests on; defaults stand nowhere.
std::vector<record::Origin> places(const CheckRule& rule, const diagnosis::FactTable& facts) {
  std::vector<record::Origin> found;
  const auto add = [&found](const record::Fact* fact) {
    if (fact == nullptr) return;
    for (const record::Origin& origin : fact->evidence) {
      if (!is_default(origin) && !holds(found, origin)) found.push_back(origin);
    }
  };
  for (const record::Fact* fact : rule.when.front().support(facts)) add(fact);
  for (const VersionRange& range : rule.versions) add(facts.find("env." + range.package));
  return found;
}

/// The same facts for sentences: whole numbers in full (an id of 32000, not 3.2e+04).
diagnosis::FactTable spelled_out(const diagnosis::FactTable& facts) {
  constexpr double k_most = 1e15;
  diagnosis::FactTable out;
  for (record::Fact fact : facts.all()) {
    const double* number = core::as_number(fact.value);
    if (number != nullptr && *number == std::floor(*number) && std::fabs(*number) < k_most)
      fact.value = fmt::format("{:.0f}", *number);
    out.set(std::move(fact));
  }
  return out;
}

}  // namespace

std::vector<Finding> judge_settings(const record::Run& run) {
  const record::Run whole = with_defaults(without_evaluation(run));
  diagnosis::FactTable facts = diagnosis::gather_facts(whole, {});
  config_graph().derive(whole, facts);
  const diagnosis::FactTable words = spelled_out(facts);
  std::vector<Finding> findings;
  for (const CheckRule& rule : rule_book().rules) {
    if (rule.when.front().holds(facts) != diagnosis::Truth::yes || !versions_hold(rule, facts))
      continue;
    findings.push_back({rule.id, rule.severity, diagnosis::fill_in(rule.title, words),
                        diagnosis::fill_in(rule.because, words), places(rule, facts),
                        diagnosis::applying(rule.remedies, facts), rule.leads_to, rule.references});
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  return findings;
}

}  // namespace aplomb::preflight
