#include "serve/still_page.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/json_text.h"
#include "serve/web_assets.h"

namespace aplomb::serve {
namespace {

using Json = nlohmann::ordered_json;

/// Where web/build/report_page.mjs leaves room for the run.
constexpr std::string_view k_room = R"({"aplomb":"data"})";
/// Buckets of a curve: more than a screen has columns.
constexpr std::size_t k_buckets = 2000;

std::string_view page_template() {
  const WebAsset* end = k_web_assets + k_web_asset_count;
  const WebAsset* found = std::find_if(
      k_web_assets, end, [](const WebAsset& each) { return each.name == "report.html"; });
  return found == end ? std::string_view() : found->bytes;
}

/// Inside of an element of script: no character may end it.
std::string in_script(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else if (c == '&') {
      out += "\\u0026";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

core::Result<std::string> still_page(const live::Follower& follower, const std::string& id) {
  const std::string_view page = page_template();
  const std::size_t room = page.find(k_room);
  if (room == std::string_view::npos) {
    return core::fail(
        core::ErrorCode::internal,
        "[live] this program was built without its page (web/check.sh build makes it, with Node)");
  }
  const auto told = follower.run_text(id);
  if (!told) return core::fail(core::ErrorCode::not_found, "[live] there is no such run");
  Json detail = Json::parse(*told);
  for (Json& series : detail["series"]) {
    const auto curve = follower.series_text(id, series["name"].get<std::string>(), std::nullopt,
                                            std::nullopt, k_buckets);
    if (curve) series.update(Json::parse(*curve));
  }
  detail["can_stop"] = false;  // nobody is there to be asked
  std::string out(page.substr(0, room));
  out += in_script(core::json_text(detail));
  out += page.substr(room + k_room.size());
  return out;
}

}  // namespace aplomb::serve
