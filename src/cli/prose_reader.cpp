#include "cli/prose_reader.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "alarm/web_request.h"
#include "api/declared_text.h"
#include "cli/output.h"
#include "core/text.h"
#include "prose/claims.h"

namespace aplomb::cli {
namespace {

constexpr std::streamsize k_most_text = 32 << 10;  // a long issue has a tenth of it
constexpr std::size_t k_most_files = 8;
constexpr std::chrono::seconds k_limit{120};  // a model on a CPU

bool is_loopback(const alarm::Url& url) {
  return url.host == "localhost" || alarm::reach_of(url.host) == alarm::Reach::loopback;
}

std::string head_of(const std::string& path) {
  std::error_code why;
  if (!std::filesystem::is_regular_file(path, why)) return {};
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(k_most_text), '\0');
  file.read(text.data(), k_most_text);
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

/// Every third line is a sentence, and nothing of it is binary.
bool people_wrote(const std::string& text) {
  if (text.find('\0') != std::string::npos) return false;
  std::istringstream lines(text);
  std::size_t written = 0;
  std::size_t all = 0;
  for (std::string line; std::getline(lines, line);) {
    if (core::trim(line).empty()) continue;
    ++all;
    written += prose::reads_like_prose(line, false) ? 1 : 0;
  }
  return written > 0 && 3 * written >= all;
}

}  // namespace

void ProseReader::declare(const arguments::Verb& verb) {
  verb.option("--reader", url_,
              "send the texts that people wrote among the named files to this endpoint of yours "
              "(OpenAI's /chat/completions; loopback) and count what it quotes from them")
      .value_name("URL");
  verb.option("--reader-host", host_, "the host of --reader, where it is another than this machine")
      .value_name("HOST");
  verb.option("--reader-model", model_,
              "the model to ask for; a key stands in the variable APLOMB_READER_KEY")
      .value_name("NAME")
      .shows_default();
}

core::Result<void> ProseReader::check() const {
  if (url_.empty()) return {};
  const auto url = alarm::parse_url(url_);
  if (!url) {
    return core::fail(core::ErrorCode::bad_usage,
                      "--reader: " + core::sanitize(url_) + " is no http:// or https:// address");
  }
  if (is_loopback(*url) || url->host == host_) return {};
  return core::fail(
      core::ErrorCode::bad_usage,
      "--reader: the texts would leave this machine for " + core::sanitize(url->host) +
          "; where that is meant, say so: --reader-host " + core::sanitize(url->host));
}

std::vector<DeclaredText> ProseReader::ask(const std::vector<std::string>& paths) const {
  std::vector<DeclaredText> out;
  if (url_.empty()) return out;
  alarm::WebPost request{.who = "[reader]",
                         .body = {},
                         .headers = {"Content-Type: application/json", "User-Agent: aplomb"},
                         .may_be_private = true,
                         .limit = k_limit};
  if (const char* key = std::getenv("APLOMB_READER_KEY"); key != nullptr && *key != '\0')
    request.headers.push_back(std::string("Authorization: Bearer ") + key);
  std::string place = url_;
  while (place.ends_with('/')) place.pop_back();
  const auto url = alarm::parse_url(place + "/chat/completions");
  bool found = false;
  for (const std::string& path : paths) {
    const std::string text = head_of(path);
    if (!url || !people_wrote(text) || out.size() >= k_most_files) continue;
    found = true;
    request.body = api::reader_request(text, model_);
    const auto answer = alarm::web_post(*url, request);
    if (!answer) {
      complain(core::sanitize(answer.error().text) + "; the diagnosis goes on without the reader");
      return out;
    }
    out.push_back({path, text, *answer});
  }
  if (!found) complain("--reader: none of the named files reads like prose; nothing was sent");
  return out;
}

}  // namespace aplomb::cli
