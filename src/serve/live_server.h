#pragma once
/// LiveServer: the page of runs and what it asks for (docs/design/0009-live-page.md), over HTTP on
/// this machine alone.
///
/// Who may ask: whoever has the token of the address that was told once. It is exchanged for a
/// cookie of another value, so that no page, log or history after the first holds what lets in. A
/// request is answered only under a loopback name as its Host (a web site whose name was bent to
/// 127.0.0.1 is none), and one that changes something only from a page of its own Origin. The bytes
/// of the page stand in the program: no name of a request leads to a file.

#include <cstdint>
#include <memory>
#include <string>

#include "core/result.h"
#include "live/event_log.h"
#include "live/follower.h"
#include "serve/http.h"

namespace aplomb::serve {

struct LiveOptions {
  live::FollowOptions follow;
  int port = 0;               ///< 0: any that is free
  std::string socket;         ///< instead of a port: a Unix socket
  std::size_t viewers = 128;  ///< that hear events at once
  bool in_frame =
      false;  ///< pages of this machine may show it in a frame: no run can be stopped from it then
  HttpLimits limits;
};

class LiveServer {
 public:
  explicit LiveServer(LiveOptions options);
  ~LiveServer();
  LiveServer(const LiveServer&) = delete;
  LiveServer& operator=(const LiveServer&) = delete;

  /// Begins to follow and to answer. Errors: not_writable (the port or socket).
  core::Result<void> start();
  void stop();

  int port() const { return port_; }
  /// `http://127.0.0.1:8080/?token=...`
  std::string address() const;
  const std::string& token() const { return token_; }
  /// Pages that hear events now.
  std::size_t viewers() const { return viewers_; }
  const live::Follower& follower() const { return follower_; }

  /// Whether the page was built into this program.
  static bool has_page();

 private:
  void answer(const Request& request, Answer& answer);
  bool is_let_in(const Request& request) const;
  static bool is_host_ours(const std::string& host);
  void serve_asset(const Request& request, const char* name, Answer& answer) const;
  void serve_api(const Request& request, Answer& answer);
  void serve_run(const Request& request, Answer& answer);
  void serve_stop(const Request& request, const std::string& id, Answer& answer) const;
  void serve_events(const Request& request, Answer& answer);
  void tell_events(Outlet& outlet, const std::atomic<bool>& stopping, const std::string& run,
                   const std::string& last);

  LiveOptions options_;
  std::string token_;
  std::string cookie_;
  std::string cookie_name_;
  double started_ = 0;
  int port_ = 0;
  std::atomic<std::size_t> viewers_{0};
  live::EventLog events_;
  live::Follower follower_;
  HttpServer http_;
};

}  // namespace aplomb::serve
