#pragma once
/// The built page (web/dist), embedded by cmake/AplombWeb.cmake; empty where it was not built.

#include <cstddef>
#include <string_view>

namespace aplomb::serve {

struct WebAsset {
  std::string_view name;  ///< `index.html`, `app.js`, `app.css`, `report.html`
  std::string_view bytes;
  std::string_view sha256;
};

extern const WebAsset k_web_assets[];
extern const std::size_t k_web_asset_count;

}  // namespace aplomb::serve
