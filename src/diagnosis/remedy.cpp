#include "diagnosis/remedy.h"

#include <cmath>
#include <map>
#include <string>

#include "core/text.h"
#include "diagnosis/weigh.h"
#include "knowledge/document.h"

namespace aplomb::diagnosis {
namespace {

struct Formula {
  std::string_view name;
  double factor = 1;
};

/// `= NAME [* NUMBER | / NUMBER]`
std::optional<Formula> formula_of(const core::Value& written) {
  const std::string* text = core::as_text(written);
  if (text == nullptr || text->empty() || text->front() != '=') return std::nullopt;
  const std::string_view body = core::trim(std::string_view(*text).substr(1));
  const std::size_t at = body.find_first_of("*/");
  // Names hold `/` only inside (`loss/cls`), never with a blank before it.
  if (at == std::string_view::npos || at == 0 || body[at - 1] != ' ') return Formula{body, 1};
  const std::optional<double> number = core::parse_number(core::trim(body.substr(at + 1)));
  if (!number || *number == 0) return std::nullopt;
  return Formula{core::trim(body.substr(0, at)), body[at] == '/' ? 1 / *number : *number};
}

enum class Strict : std::uint8_t { equal, at_most, at_least };

/// Which way a setting is stricter: `in_force` of knowledge/settings.yaml.
Strict strictness(const std::string& setting) {
  static const std::map<std::string, Strict, std::less<>> of_settings = [] {
    std::map<std::string, Strict, std::less<>> read;
    for (const knowledge::Node& entry : knowledge::file("settings.yaml").items()) {
      const std::string told = knowledge::text_of(entry, "in_force");
      if (told == "at-most") read.emplace(knowledge::text_of(entry, "name"), Strict::at_most);
      if (told == "at-least") read.emplace(knowledge::text_of(entry, "name"), Strict::at_least);
    }
    return read;
  }();
  const auto found = of_settings.find(setting);
  return found == of_settings.end() ? Strict::equal : found->second;
}

/// The run has the setting as the remedy would have it, or stricter.
bool is_in_force(const std::string& setting, const core::Value& wanted, const FactTable& facts) {
  const record::Fact* fact = facts.find(setting);
  if (fact == nullptr) return false;
  const double* to = core::as_number(wanted);
  const double* held = core::as_number(fact->value);
  if (to == nullptr || held == nullptr)
    return core::iequals(core::show(fact->value), core::show(wanted));
  constexpr double k_same = 1e-9;
  if (std::fabs(*held - *to) <= k_same * std::fabs(*to)) return true;
  switch (strictness(setting)) {
    case Strict::at_most:
      return *held > 0 && *held < *to;
    case Strict::at_least:
      return *held > *to;
    case Strict::equal:
      break;
  }
  return false;
}

double readable(double value) {
  if (value >= 1) return std::floor(value + 1e-9);
  return *core::parse_number(core::show_number(value, 2));
}

}  // namespace

std::string_view fact_of_formula(const core::Value& written) {
  const std::optional<Formula> formula = formula_of(written);
  return formula ? formula->name : std::string_view();
}

std::optional<core::Value> value_for(const core::Value& written, const FactTable& facts) {
  const std::optional<Formula> formula = formula_of(written);
  if (!formula) return written;
  const record::Fact* fact = facts.find(formula->name);
  const double* number = fact == nullptr ? nullptr : core::as_number(fact->value);
  if (number == nullptr || !std::isfinite(*number) || *number <= 0) return std::nullopt;
  const double value = *number * formula->factor;
  // Half of one sample is one sample.
  return core::Value(*number >= 1 && value < 1 ? 1.0 : readable(value));
}

std::vector<Remedy> applying(const std::vector<RemedyRule>& rules, const FactTable& facts) {
  std::vector<Remedy> remedies;
  for (const RemedyRule& rule : rules) {
    if (!rule.when.empty() && rule.when.front().holds(facts) != Truth::yes) continue;
    Remedy remedy;
    remedy.text = fill_in(rule.remedy.text, facts);
    bool in_force = false;
    for (const auto& [name, written] : rule.remedy.set) {
      auto value = value_for(written, facts);
      if (!value) continue;
      if (is_in_force(name, *value, facts)) {
        in_force = true;
      } else {
        remedy.set.emplace_back(name, *value);
      }
    }
    if (in_force && remedy.set.empty() && !rule.stands) continue;
    if (!remedy.text.empty() || !remedy.set.empty()) remedies.push_back(std::move(remedy));
  }
  return remedies;
}

}  // namespace aplomb::diagnosis
