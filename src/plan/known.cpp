#include "plan/known.h"

#include "core/text.h"

namespace aplomb::plan {

const record::Setting* Known::find(std::string_view name) const {
  for (std::size_t i = settings_.size(); i-- > 0;) {
    if (settings_[i].name == name) return &settings_[i];
  }
  return nullptr;
}

std::optional<double> Known::number(std::string_view name) const {
  const record::Setting* found = find(name);
  const double* value = found == nullptr ? nullptr : core::as_number(found->value);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

double Known::number(std::string_view name, double otherwise) const {
  return number(name).value_or(otherwise);
}

double Known::size(std::string_view name, double otherwise) const {
  const auto value = number(name);
  return value && *value > 0 ? *value : otherwise;
}

std::string Known::word(std::string_view name, std::string_view otherwise) const {
  const record::Setting* found = find(name);
  const std::string* text = found == nullptr ? nullptr : core::as_text(found->value);
  return std::string(text == nullptr ? otherwise : std::string_view(*text));
}

bool Known::truth(std::string_view name, bool otherwise) const {
  const record::Setting* found = find(name);
  const bool* truth = found == nullptr ? nullptr : std::get_if<bool>(&found->value);
  return truth == nullptr ? otherwise : *truth;
}

std::vector<std::string> Known::words(std::string_view name) const {
  std::vector<std::string> all;
  const std::string text = word(name);
  for (std::size_t at = 0; at <= text.size() && !text.empty();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view piece = core::trim(std::string_view(text).substr(at, end - at));
    if (!piece.empty()) all.emplace_back(piece);
    at = end + 1;
  }
  return all;
}

void Known::put(std::string name, core::Value value, std::string from) {
  settings_.push_back({std::move(name), std::move(value), {}, std::move(from), {}});
}

}  // namespace aplomb::plan
