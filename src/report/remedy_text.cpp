#include "report/remedy_text.h"

namespace aplomb {

std::map<std::string, std::string> render_remedy(const Remedy& remedy, const Run& /*run*/) {
  if (remedy.set.empty()) return {};
  std::string lines;
  for (const auto& [setting, value] : remedy.set) lines += setting + ": " + show(value) + "\n";
  lines.pop_back();
  return {{"generic", lines}};
}

}  // namespace aplomb
