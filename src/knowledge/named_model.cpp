#include "knowledge/named_model.h"

#include <algorithm>
#include <string>

#include "core/text.h"

namespace aplomb::knowledge {

std::optional<Node> named_model(std::string_view name) {
  std::string wanted = core::lower(name);
  std::replace(wanted.begin(), wanted.end(), '_', '-');
  std::string longest;
  std::optional<Node> found;
  for (const Node& entry : list_of(file("plan.yaml"), "models")) {
    const std::string match = text_of(entry, "match");
    if (match.size() <= longest.size() || wanted.find(match) == std::string::npos) continue;
    longest = match;
    found = entry;
  }
  return found;
}

}  // namespace aplomb::knowledge
