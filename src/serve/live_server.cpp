#include "serve/live_server.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "core/version.h"
#include "serve/web_assets.h"

namespace aplomb::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t k_secret_bytes = 24;
constexpr std::size_t k_most_points = 4000;
constexpr std::size_t k_points = 1000;
constexpr std::chrono::seconds k_keep_alive{10};
constexpr const char* k_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "
    "'self'; base-uri 'none'; form-action 'none'; frame-ancestors ";
/// Where a notebook may be: a server of this machine, or the proxy that shows both.
constexpr const char* k_frames = "'self' http://localhost:* http://127.0.0.1:*";

/// From the kernel; empty where it gives none.
std::string random_hex() {
  std::array<unsigned char, k_secret_bytes> bytes{};
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::getrandom(bytes.data() + have, bytes.size() - have, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {};
    have += static_cast<std::size_t>(got);
  }
  std::string text;
  for (const unsigned char each : bytes) text += fmt::format("{:02x}", each);
  return text;
}

/// Takes as long for a wrong first letter as for a wrong last one. An empty secret is never right.
bool is_secret(const std::string& given, const std::string& secret) {
  if (secret.empty() || given.size() != secret.size()) return false;
  unsigned char other = 0;
  for (std::size_t i = 0; i < secret.size(); ++i)
    other |= static_cast<unsigned char>(given[i] ^ secret[i]);
  return other == 0;
}

void say(Answer& answer, int status, const char* type, std::string body) {
  answer.status = status;
  answer.headers.emplace_back("Content-Type", type);
  answer.headers.emplace_back("Cache-Control", "no-store");
  answer.body = std::move(body);
}

void say_json(Answer& answer, int status, std::string body) {
  say(answer, status, "application/json", std::move(body));
}

void say_error(Answer& answer, int status, const char* what, const std::string& why,
               const char* what_to_do) {
  say_json(answer, status,
           core::json_text(Json({{"error", {{"what", what}, {"why", why}, {"do", what_to_do}}}})));
}

std::optional<std::int64_t> number_of(const Request& request, const char* name) {
  const auto found = request.query.find(name);
  if (found == request.query.end()) return std::nullopt;
  const std::string& text = found->second;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The value of a cookie among `a=1; b=2`.
std::string cookie_of(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    std::string_view pair = header.substr(0, header.find(';'));
    header.remove_prefix(std::min(header.size(), pair.size() + 1));
    while (pair.starts_with(' ')) pair.remove_prefix(1);
    if (pair.size() > name.size() && pair.starts_with(name) && pair[name.size()] == '=')
      return std::string(pair.substr(name.size() + 1));
  }
  return {};
}

/// `/api/runs/r1/series/a%2Fb` -> `r1`, `series`, `a/b`; nothing where it is broken.
std::optional<std::vector<std::string>> parts_behind(std::string_view path, std::string_view root) {
  std::vector<std::string> parts;
  if (!path.starts_with(root)) return std::nullopt;
  path.remove_prefix(root.size());
  while (true) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    auto part = percent_decoded(path.substr(0, slash));
    if (!part || part->empty()) return std::nullopt;
    parts.push_back(std::move(*part));
    if (slash == path.size()) return parts;
    path.remove_prefix(slash + 1);
  }
}

std::string event_text(const live::EventLog& log, const live::Happening& event) {
  return fmt::format("id: {}\nevent: {}\ndata: {}\n\n", log.id_of(event.number), event.type,
                     event.data);
}

std::string reset_text(const std::string& id) {
  return fmt::format("id: {}\nevent: reset\ndata: {{}}\n\n", id);
}

}  // namespace

LiveServer::LiveServer(LiveOptions options)
    : options_(std::move(options)),
      token_(random_hex()),
      cookie_(random_hex()),
      started_(std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
                   .count()),
      follower_(options_.follow, events_),
      http_([this](const Request& request, Answer& out) { answer(request, out); },
            options_.limits) {}

LiveServer::~LiveServer() { stop(); }

core::Result<void> LiveServer::start() {
  if (token_.empty() || cookie_.empty())
    return core::fail(core::ErrorCode::internal, "[live] the system gives no random bytes");
  if (options_.socket.empty()) {
    const core::Result<int> port = http_.listen_loopback(options_.port);
    if (!port) return tl::unexpected(port.error());
    port_ = *port;
  } else if (const auto done = http_.listen_socket(options_.socket); !done) {
    return done;
  }
  // Cookies know no ports: each server of a machine has a name of its own.
  cookie_name_ = fmt::format("aplomb-{}", port_);
  follower_.start();
  http_.start();
  return {};
}

void LiveServer::stop() {
  events_.close();
  http_.stop();
  follower_.stop();
}

std::string LiveServer::address() const {
  if (!options_.socket.empty()) return "http://localhost/?token=" + token_;
  return fmt::format("http://127.0.0.1:{}/?token={}", port_, token_);
}

bool LiveServer::has_page() { return k_web_asset_count > 0; }

/// A loopback name with any port: whoever forwards a port (ssh -L) asks under another one than ours.
/// A web site that has its own name lead to 127.0.0.1 asks under that name.
bool LiveServer::is_host_ours(const std::string& host) {
  std::string_view name = host;
  const std::size_t bracket = name.rfind(']');
  const std::size_t colon = name.rfind(':');
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket)) {
    const std::string_view port = name.substr(colon + 1);
    const bool digits =
        !port.empty() && port.size() <= 5 &&
        std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!digits) return false;
    name = name.substr(0, colon);
  }
  return name == "127.0.0.1" || name == "localhost" || name == "[::1]";
}

bool LiveServer::is_let_in(const Request& request) const {
  return is_secret(cookie_of(request.header("cookie"), cookie_name_), cookie_);
}

void LiveServer::answer(const Request& request, Answer& out) {
  out.headers = {{"Content-Security-Policy",
                  std::string(k_policy) + (options_.in_frame ? k_frames : "'none'")},
                 {"X-Content-Type-Options", "nosniff"},
                 {"Referrer-Policy", "no-referrer"},
                 {"Cross-Origin-Resource-Policy", "same-origin"},
                 {"Cross-Origin-Opener-Policy", "same-origin"}};
  if (!options_.in_frame) out.headers.emplace_back("X-Frame-Options", "DENY");
  const std::string& host = request.header("host");
  if (!is_host_ours(host)) {
    return say_error(out, 421, "This is not a name of this machine",
                     "a web site may have led its own name here",
                     "Open the address that `aplomb live` printed");
  }
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (!reads && request.method != "POST")
    return say_error(out, 405, "There is no such method here", request.method, "Use GET");
  const auto token = request.query.find("token");
  if (reads && request.path == "/" && token != request.query.end() &&
      is_secret(token->second, token_)) {
    say(out, 303, "text/plain; charset=utf-8", "");
    out.headers.emplace_back("Location", "./");
    out.headers.emplace_back("Set-Cookie", fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict",
                                                       cookie_name_, cookie_));
    return;
  }
  // Pages of other servers of this machine are the same site to the browser: it sends them the cookie.
  const std::string& origin = request.header("origin");
  const std::string& site = request.header("sec-fetch-site");
  // In a frame the page itself is asked for by the notebook's; what it asks for then is of its own origin.
  const bool is_frame = options_.in_frame && reads && request.path == "/" && origin.empty() &&
                        site == "same-site" && request.header("sec-fetch-dest") == "iframe";
  const bool is_foreign = (!origin.empty() && origin != "http://" + host) || site == "cross-site" ||
                          (site == "same-site" && !is_frame);
  if (is_foreign || (!reads && origin.empty())) {
    return say_error(out, 403, "A page of another origin asks", origin,
                     "Open the address that `aplomb live` printed");
  }
  if (!is_let_in(request)) {
    return say_error(out, 401, "The page is not let in",
                     "it has no cookie of this start of the program",
                     "Open the address that `aplomb live` printed, with its token");
  }
  if (request.path.starts_with("/api/")) return serve_api(request, out);
  if (!reads) return say_error(out, 405, "There is nothing to be changed", "", "Use GET");
  if (request.path == "/") return serve_asset(request, "index.html", out);
  if (request.path == "/app.js") return serve_asset(request, "app.js", out);
  if (request.path == "/app.css") return serve_asset(request, "app.css", out);
  say_error(out, 404, "There is no such address", "", "Open /");
}

void LiveServer::serve_asset(const Request& request, const char* name, Answer& out) const {
  const WebAsset* end = k_web_assets + k_web_asset_count;
  const WebAsset* asset =
      std::find_if(k_web_assets, end, [&](const WebAsset& each) { return each.name == name; });
  if (asset == end) {
    return say(
        out, 501, "text/plain; charset=utf-8",
        "This program was built without its page: run web/check.sh build (it needs Node) and "
        "build it again.\nWhat the page shows is at /api/runs, as JSON.\n");
  }
  const std::string tag = fmt::format("\"{}\"", asset->sha256);
  const std::string_view file = asset->name;
  const char* type = file.ends_with(".js")    ? "text/javascript; charset=utf-8"
                     : file.ends_with(".css") ? "text/css; charset=utf-8"
                                              : "text/html; charset=utf-8";
  out.headers.emplace_back("Content-Type", type);
  out.headers.emplace_back("Cache-Control", "no-cache");
  out.headers.emplace_back("ETag", tag);
  if (request.header("if-none-match") == tag) {
    out.status = 304;
    return;
  }
  out.body = asset->bytes;
}

void LiveServer::serve_api(const Request& request, Answer& out) {
  if (request.path == "/api/runs") {
    const Json server = {{"version", core::version()},
                         {"started", started_},
                         {"can_stop", options_.follow.may_stop}};
    return say_json(out, 200,
                    fmt::format(R"({{"schema":"aplomb.live/1","server":{},"runs":{}}})",
                                core::json_text(server), follower_.summaries_text()));
  }
  if (request.path == "/api/events") return serve_events(request, out);
  serve_run(request, out);
}

void LiveServer::serve_run(const Request& request, Answer& out) {
  const auto parts = parts_behind(request.path, "/api/runs/");
  if (!parts || parts->size() > 3)
    return say_error(out, 404, "There is no such address", "", "Look at /api/runs");
  const std::string& id = parts->front();
  if (parts->size() == 2 && parts->back() == "stop") return serve_stop(request, id, out);
  if (request.method == "POST")
    return say_error(out, 405, "There is nothing to be changed", "", "Use GET");
  std::optional<std::string> text;
  if (parts->size() == 1) {
    text = follower_.run_text(id);
  } else if (parts->size() == 3 && (*parts)[1] == "series") {
    const std::int64_t points = number_of(request, "points").value_or(k_points);
    text = follower_.series_text(
        id, (*parts)[2], number_of(request, "from"), number_of(request, "to"),
        static_cast<std::size_t>(std::clamp<std::int64_t>(points, 1, k_most_points)));
  }
  if (!text)
    return say_error(out, 404, "There is no such run or series", "", "Look at the list of runs");
  say_json(out, 200, std::move(*text));
}

void LiveServer::serve_stop(const Request& request, const std::string& id, Answer& out) const {
  if (request.method != "POST") return say_error(out, 405, "Stopping takes a POST", "", "Use POST");
  if (!options_.follow.may_stop) {
    return say_error(out, 403, "Runs may not be stopped from here",
                     "the program was started without --allow-stop",
                     "Start it with --allow-stop, or end the run by hand");
  }
  const Json body = core::ordered_json_from(request.body);
  const bool confirmed = body.is_object() && body.contains("confirm") &&
                         body["confirm"].is_boolean() && body["confirm"].get<bool>();
  if (!confirmed) {
    return say_error(out, 400, "The request does not confirm that the run is to end", "",
                     "Send {\"confirm\":true}");
  }
  const core::Result<void> done = follower_.stop_run(id);
  if (done) return say_json(out, 202, R"({"stopping":true})");
  const bool unknown = done.error().code == core::ErrorCode::not_found;
  const bool over = done.error().code == core::ErrorCode::bad_usage;
  say_error(out,
            unknown ? 404
            : over  ? 409
                    : 403,
            "The run cannot be stopped from here", done.error().text,
            "Look at the list of runs, or end the run by hand");
}

void LiveServer::serve_events(const Request& request, Answer& out) {
  if (request.method != "GET") return say_error(out, 405, "Events take a GET", "", "Use GET");
  std::size_t now = viewers_;
  do {
    if (now >= options_.viewers) {
      out.headers.emplace_back("Retry-After", "5");
      return say_error(out, 503, "As many pages as may be are listening",
                       fmt::format("{} are", now), "Close one of them");
    }
  } while (!viewers_.compare_exchange_weak(now, now + 1));
  // Counted until the answer is over, or was never begun.
  const std::shared_ptr<void> place(nullptr, [this](void*) { --viewers_; });
  out.headers.emplace_back("Content-Type", "text/event-stream");
  out.headers.emplace_back("Cache-Control", "no-store");
  const auto only = request.query.find("run");
  const std::string run = only == request.query.end() ? std::string() : only->second;
  const std::string last = request.header("last-event-id");
  out.stream = [this, run, last, place](Outlet& outlet, const std::atomic<bool>& stopping) {
    tell_events(outlet, stopping, run, last);
  };
}

/// `run`: of this one alone, where it is named. `last`: the id of the event that was heard last.
void LiveServer::tell_events(Outlet& outlet, const std::atomic<bool>& stopping,
                             const std::string& run, const std::string& last) {
  std::uint64_t number = events_.newest();
  std::string text = ": here\nretry: 300\n\n";
  if (const auto from = events_.number_of(last); !last.empty() && from) {
    number = *from;
  } else if (!last.empty()) {  // of an earlier start of the program
    text += reset_text(events_.id_of(number));
  }
  if (!outlet.write(text)) return;
  auto next_sign = std::chrono::steady_clock::now() + k_keep_alive;
  while (!stopping) {
    const live::EventLog::Batch batch = events_.after(number, std::chrono::milliseconds(500));
    if (batch.closed) return;
    text.clear();
    if (batch.lost) {
      number = events_.newest();
      text += reset_text(events_.id_of(number));
    }
    for (const auto& event : batch.events) {
      number = event->number;
      if (run.empty() || event->run.empty() || event->run == run)
        text += event_text(events_, *event);
    }
    if (text.empty() && std::chrono::steady_clock::now() < next_sign) continue;
    if (text.empty()) text = ": still here\n\n";
    next_sign = std::chrono::steady_clock::now() + k_keep_alive;
    if (!outlet.write(text)) return;
  }
}

}  // namespace aplomb::serve
