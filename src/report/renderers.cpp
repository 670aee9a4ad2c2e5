#include "report/renderer.h"

namespace aplomb::report {

#define APLOMB_MEMBER(slug) std::unique_ptr<Renderer> make_##slug##_renderer();
#include "report/roster.def"
#undef APLOMB_MEMBER

const std::vector<std::unique_ptr<Renderer>>& renderers() {
  static const std::vector<std::unique_ptr<Renderer>> the_renderers = [] {
    std::vector<std::unique_ptr<Renderer>> all;
#define APLOMB_MEMBER(slug) all.push_back(make_##slug##_renderer());
#include "report/roster.def"
#undef APLOMB_MEMBER
    return all;
  }();
  return the_renderers;
}

const Renderer* find_renderer(std::string_view slug) {
  for (const auto& each : renderers()) {
    if (each->slug() == slug) return each.get();
  }
  return nullptr;
}

}  // namespace aplomb::report
