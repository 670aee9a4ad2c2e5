#include "alarm/web_request.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <sstream>

#include "alarm/child_program.h"
#include "core/text.h"

namespace aplomb::alarm {
namespace {

constexpr std::chrono::seconds k_resolve{10};
constexpr std::chrono::seconds k_beside{15};  // for curl itself to begin and end

core::Result<std::vector<std::string>> resolve(const Url& url) {
  if (reach_of(url.host) != Reach::never) return std::vector<std::string>{url.host};
  const core::Result<Ran> ran = run_program({"getent", "ahosts", url.host}, {}, k_resolve);
  if (!ran) return tl::unexpected(ran.error());
  std::vector<std::string> addresses;
  std::istringstream lines(ran->output);
  for (std::string line; std::getline(lines, line);)
    addresses.push_back(line.substr(0, line.find_first_of(" \t")));
  return addresses;
}

/// A text in curl's configuration.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) >= ' ') {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

core::Result<std::string> web_post(const Url& url, const WebPost& request) {
  const auto resolved = resolve(url);
  if (!resolved) return tl::unexpected(resolved.error());
  const auto address = choose_address(url, *resolved, request.may_be_private);
  if (!address) return tl::unexpected(address.error());
  const bool v6 = address->find(':') != std::string::npos;
  std::string config = fmt::format(
      "url = {}\nrequest = \"POST\"\ndata-raw = {}\nresolve = {}\n", quoted(url.text),
      quoted(request.body),
      quoted(fmt::format("{}:{}:{}", url.host, url.port, v6 ? "[" + *address + "]" : *address)));
  for (const std::string& each : request.headers) config += "header = " + quoted(each) + "\n";
  const core::Result<Ran> ran = run_program(
      {"curl", "--disable", "--silent", "--show-error", "--fail", "--globoff", "--proto",
       "=http,https", "--noproxy", "*", "--max-redirs", "0", "--max-time",
       std::to_string(request.limit.count()), "--max-filesize", "65536", "--config", "-"},
      config, request.limit + k_beside);
  if (!ran) return tl::unexpected(ran.error());
  if (ran->status == 0) return ran->output;
  const int status =
      WIFEXITED(ran->status) ? WEXITSTATUS(ran->status) : 128 + WTERMSIG(ran->status);
  // Only the last line is curl's own: before it may stand what came of the answer.
  std::string said = core::sanitize(core::trim(ran->output));
  const std::size_t own = said.rfind("curl: ");
  said = own == std::string::npos ? std::string() : core::shorten(said.substr(own), 200);
  return core::fail(core::ErrorCode::not_writable,
                    fmt::format("{} curl ended with {}{}{}", request.who, status,
                                said.empty() ? "" : ": ", said));
}

}  // namespace aplomb::alarm
