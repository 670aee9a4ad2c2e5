#pragma once
/// Which facts there are: every name that a condition may ask for and a deriver may give.

#include <string>
#include <string_view>
#include <vector>

namespace aplomb::facts {

/// knowledge/facts.yaml, settings.yaml, errors*.yaml, series.yaml, the lexicon of claims/,
/// code/*.yaml, incidents.yaml and preflight.yaml. A name that ends in `*` stands for all that begin
/// so.
std::vector<std::string> declared_facts();
bool is_declared(const std::vector<std::string>& declared, std::string_view name);

}  // namespace aplomb::facts
