#pragma once
/// HttpServer: as much of HTTP/1.1 as a page on one's own machine needs, and nothing more. A request
/// line, headers and a small body are read strictly and within limits; whatever is odd is refused and
/// its connection closed. A thread a connection, so many at most: where there are as many, the oldest
/// that waits for a request makes room for a new one, so that whoever holds connections open without
/// asking keeps nobody out.
///
///     HttpServer server([](const Request& request, Answer& answer) { answer.body = "..."; });
///     auto port = server.listen_loopback(0);
///     server.start();
///
/// A page that is served to the user's browser is reachable by every web site that the browser shows
/// and by every user of the machine: who may ask what is the handler's to decide (serve/live_server.h).

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/result.h"

namespace aplomb::serve {

struct HttpLimits {
  std::size_t head_bytes = 16384;
  std::size_t headers = 64;
  std::size_t body_bytes = 4096;
  std::size_t connections = 256;
  /// For the whole of a head and body, and until a new connection sends its first: a page's
  /// requests are there within milliseconds (judgement).
  std::chrono::milliseconds request{4000};
  std::chrono::milliseconds idle{15000};   ///< between two requests of a connection
  std::chrono::milliseconds write{10000};  ///< for a part to be taken
};

struct Request {
  std::string method;
  std::string path;                          ///< as it was sent: percent-encoded
  std::map<std::string, std::string> query;  ///< decoded; the first of a name counts
  std::map<std::string, std::string>
      headers;  ///< names in lower case; equal names: joined with ", "
  std::string body;

  const std::string& header(const std::string& name) const;
};

/// What an answer is written to when it has no end that is known (events).
class Outlet {
 public:
  virtual ~Outlet() = default;
  /// False when the other side is gone or takes nothing; then the answer is over.
  virtual bool write(std::string_view bytes) = 0;
};

struct Answer {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  /// Instead of a body: called after the headers, writes until it returns; then the connection is
  /// closed. `stopping` becomes true when the server is to end.
  std::function<void(Outlet&, const std::atomic<bool>& stopping)> stream;
};

/// `%41` and such; nothing for a broken one. Plus signs stay unless `form`.
std::optional<std::string> percent_decoded(std::string_view text, bool form = false);

/// Parses a head (request line and headers, with the empty line). The status of the refusal, and 0
/// where it is good.
int parse_head(std::string_view head, const HttpLimits& limits, Request& request);

class HttpServer {
 public:
  using Handler = std::function<void(const Request&, Answer&)>;
  explicit HttpServer(Handler handler, HttpLimits limits = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// On 127.0.0.1; port 0: any that is free. The port. Errors: not_writable (taken, not allowed).
  core::Result<int> listen_loopback(int port);
  /// On a Unix socket that only this user may open. One that nobody listens on any more is replaced.
  core::Result<void> listen_socket(const std::string& path);

  void start();
  /// Ends all connections; waits for them.
  void stop();

 private:
  class Connection;
  void accept_all();
  void reap(bool all);
  bool make_room();

  Handler handler_;
  HttpLimits limits_;
  int listener_ = -1;
  std::string socket_path_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
  std::mutex mutex_;
  std::list<std::unique_ptr<Connection>> connections_;
};

}  // namespace aplomb::serve
