#include "facts/fact_view.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/text.h"
#include "knowledge/text_classifier.h"
#include "knowledge/trainer.h"

namespace aplomb::facts {

bool fits(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

void FactView::asked(std::string_view kind, std::string_view name) const {
  if (use_ != nullptr) use_->reads.insert(std::string(kind).append(":").append(name));
}

const record::Fact* FactView::find(std::string_view name) const {
  asked(name);
  return table_.find(name);
}

bool FactView::truth(std::string_view name) const {
  const record::Fact* fact = find(name);
  return fact != nullptr && core::is_true(fact->value);
}

std::optional<double> FactView::number(std::string_view name) const {
  const record::Fact* fact = find(name);
  const double* held = fact == nullptr ? nullptr : core::as_number(fact->value);
  if (held == nullptr || !std::isfinite(*held)) return std::nullopt;
  return *held;
}

std::optional<double> FactView::positive(std::string_view name) const {
  const auto held = number(name);
  return held && *held > 0 ? held : std::nullopt;
}

std::string FactView::text(std::string_view name) const {
  const record::Fact* fact = find(name);
  const std::string* held = fact == nullptr ? nullptr : core::as_text(fact->value);
  return held == nullptr ? std::string() : *held;
}

std::string FactView::word(std::string_view name) const { return core::lower(text(name)); }

std::vector<const record::Fact*> FactView::matching(std::string_view pattern) const {
  asked(pattern);
  std::vector<const record::Fact*> found;
  for (const record::Fact& fact : table_.all()) {
    if (fits(pattern, fact.name)) found.push_back(&fact);
  }
  return found;
}

const FactTable& FactView::table(const std::vector<std::string>& names) const {
  for (const std::string& name : names) asked(name);
  return table_;
}

const FactTable& FactView::table() const {
  asked("*");
  return table_;
}

const record::Series* FactView::series(record::Role role) const {
  asked("series", name(role));
  return run_.primary(role);
}

const std::vector<record::Series>& FactView::all_series() const {
  asked("series", "*");
  return run_.series;
}

std::vector<const record::Event*> FactView::events(std::string_view kind) const {
  asked("event", kind);
  std::vector<const record::Event*> found;
  for (const record::Event& event : run_.events) {
    if (event.kind == kind) found.push_back(&event);
  }
  return found;
}

const std::vector<record::Event>& FactView::all_events() const {
  asked("event", "*");
  return run_.events;
}

std::vector<const record::Setting*> FactView::statements(std::string_view setting) const {
  asked("setting", setting);
  std::vector<const record::Setting*> found;
  for (const record::Setting& each : run_.settings) {
    if (fits(setting, each.name)) found.push_back(&each);
  }
  return found;
}

std::vector<const record::Fact*> FactView::given_by_readers(std::string_view pattern) const {
  asked("reader", pattern);
  std::vector<const record::Fact*> found;
  for (const record::Fact& fact : run_.facts) {
    if (fits(pattern, fact.name)) found.push_back(&fact);
  }
  return found;
}

std::vector<std::string> FactView::frameworks() const {
  asked("source", "*");
  std::set<std::string> slugs;
  for (const record::Source& source : run_.sources) slugs.insert(source.framework);
  for (const record::Setting& setting : run_.settings) slugs.insert(setting.framework);
  slugs.erase("");
  return {slugs.begin(), slugs.end()};
}

std::string FactView::trainer() const {
  asked("source", "*");
  return knowledge::trainer_of(run_);
}

Listener FactView::listener() const {
  asked("series", "*");
  asked("reader", knowledge::TextClassifier::k_account);
  return Listener(run_);
}

const record::Run& FactView::run() const {
  asked("run", "*");
  return run_;
}

void FactView::set(std::string name, core::Value value, std::string because, const Names& from) {
  std::vector<record::Origin> places;
  for (const std::string_view source : from) {
    const record::Fact* fact = find(source);
    if (fact == nullptr) continue;
    places.insert(places.end(), fact->evidence.begin(), fact->evidence.end());
  }
  set_at(std::move(name), std::move(value), std::move(because), std::move(places));
}

void FactView::set_at(std::string name, core::Value value, std::string because,
                      std::vector<record::Origin> places) {
  if (use_ != nullptr) use_->writes.insert(name);
  table_.set({std::move(name), std::move(value), std::move(because), std::move(places)});
}

}  // namespace aplomb::facts
