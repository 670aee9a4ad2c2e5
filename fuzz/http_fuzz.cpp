/// Fuzzes what the page's server reads of a request: its head, and percent-encoded words. What it lets through is held to
/// what the handlers rely on.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "serve/http.h"

namespace {

bool has_control(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t') || byte == 0x7F) return true;
  }
  return false;
}

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const aplomb::serve::HttpLimits limits;
  // As the server hands it over: with the empty line that ends a head.
  for (const std::string& head : {std::string(text), std::string(text) + "\r\n\r\n"}) {
    aplomb::serve::Request request;
    const int refused = aplomb::serve::parse_head(head, limits, request);
    require(refused == 0 || (refused >= 400 && refused < 600));
    if (refused != 0) continue;
    require(!request.method.empty() && !request.path.empty() && request.path.front() == '/');
    require(!has_control(request.method) && !has_control(request.path));
    require(request.headers.size() <= limits.headers);
    for (const auto& [name, value] : request.headers)
      require(!name.empty() && !has_control(name) && !has_control(value));
  }
  for (const bool form : {false, true}) {
    const auto decoded = aplomb::serve::percent_decoded(text, form);
    require(!decoded || decoded->size() <= text.size());
  }
  return 0;
}
