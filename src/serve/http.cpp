#include "serve/http.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <exception>
#include <set>

namespace aplomb::serve {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int k_backlog = 64;
constexpr int k_poll_ms = 200;  // how soon a thread sees that the server is to end

const char* reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Internal Server Error";
  }
}

/// RFC 9110's tchar.
bool is_token(std::string_view text) {
  static constexpr std::string_view k_marks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           k_marks.find(c) != std::string_view::npos;
  });
}

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

int hex_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

int parse_request_line(std::string_view line, Request& request) {
  const std::size_t first = line.find(' ');
  const std::size_t second = line.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return 400;
  const std::string_view version = line.substr(second + 1);
  if (version != "HTTP/1.1") return version.starts_with("HTTP/") ? 505 : 400;
  request.method = line.substr(0, first);
  std::string_view target = line.substr(first + 1, second - first - 1);
  // Only the origin form: whoever sends another takes us for a proxy.
  if (!is_token(request.method) || !target.starts_with('/') || !is_visible(target)) return 400;
  const std::size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  if (mark == std::string_view::npos) return 0;
  target.remove_prefix(mark + 1);
  while (!target.empty()) {
    const std::string_view pair = target.substr(0, target.find('&'));
    target.remove_prefix(std::min(target.size(), pair.size() + 1));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const auto name = percent_decoded(pair.substr(0, equals), true);
    const auto value = percent_decoded(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!name || !value) return 400;
    request.query.emplace(*name, *value);
  }
  return 0;
}

int parse_header(std::string_view line, Request& request) {
  // Told apart by other programs in other ways, each of which has been an attack: lines that go on
  // in the next, blanks before the colon, control characters, two lengths or hosts.
  static const std::set<std::string> k_once = {"host", "content-length", "origin", "cookie",
                                               "transfer-encoding"};
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return 400;
  const std::string_view value = trimmed(line.substr(colon + 1));
  const bool odd = std::any_of(value.begin(), value.end(), [](char c) {
    return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7f;
  });
  if (odd) return 400;
  const std::string name = lower(line.substr(0, colon));
  const auto [known, fresh] = request.headers.emplace(name, value);
  if (fresh) return 0;
  if (k_once.contains(name)) return 400;
  known->second += ", ";
  known->second += value;
  return 0;
}

bool is_odd_beginning(std::string_view text) {
  for (std::size_t at = text.find('\n'); at != std::string_view::npos;
       at = text.find('\n', at + 1)) {
    if (at == 0 || text[at - 1] != '\r') return true;
  }
  const std::size_t line = text.find("\r\n");
  Request none;
  return line != std::string_view::npos && parse_request_line(text.substr(0, line), none) != 0;
}

std::string http_date() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 64> text{};
  const std::size_t size =
      std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &utc);
  return {text.data(), size};
}

core::Error system_error(const std::string& what) {
  return {core::ErrorCode::not_writable, fmt::format("[live] {}: {}", what, std::strerror(errno))};
}

}  // namespace

const std::string& Request::header(const std::string& name) const {
  static const std::string k_none;
  const auto found = headers.find(name);
  return found == headers.end() ? k_none : found->second;
}

std::optional<std::string> percent_decoded(std::string_view text, bool form) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += form && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_of(text[i + 1]);
    const int low = hex_of(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

int parse_head(std::string_view head, const HttpLimits& limits, Request& request) {
  std::size_t count = 0;
  bool first = true;
  while (!head.empty()) {
    const std::size_t end = head.find("\r\n");
    if (end == std::string_view::npos) return 400;
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    if (line.empty()) break;
    if (!first && ++count > limits.headers) return 431;
    const int fault = first ? parse_request_line(line, request) : parse_header(line, request);
    if (fault != 0) return fault;
    first = false;
  }
  if (first || !head.empty() || !request.headers.contains("host")) return 400;
  if (request.headers.contains("transfer-encoding")) return 501;
  if (request.headers.contains("expect")) return 417;
  return 0;
}

class HttpServer::Connection final : public Outlet {
 public:
  Connection(HttpServer& server, int socket)
      : server_(server), socket_(socket), thread_([this] { work(); }) {}
  ~Connection() override {
    ::shutdown(socket_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    ::close(socket_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool is_done() const { return done_; }
  bool is_waiting() const { return waits_; }

  bool write(std::string_view bytes) override {
    const auto until = Clock::now() + server_.limits_.write;
    while (!bytes.empty()) {
      const ssize_t size = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (size > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(size));
      } else if (size < 0 && errno != EAGAIN && errno != EINTR) {
        return false;
      } else if (!wait_for(POLLOUT, until)) {
        return false;
      }
    }
    return true;
  }

 private:
  void work() {
    try {
      while (!server_.stopping_ && serve_one()) {
      }
    } catch (const std::exception&) {  // of memory: the connection ends, the others go on
    }
    ::shutdown(socket_, SHUT_RDWR);
    done_ = true;
  }

  /// False where the connection is over.
  bool serve_one() {
    Request request;
    int fault = 0;
    waits_ = true;
    const bool whole = read_request(request, fault);
    waits_ = false;
    if (!whole) {
      if (fault != 0) refuse(fault);
      return false;
    }
    served_ = true;
    Answer answer;
    server_.handler_(request, answer);
    return send(request, answer);
  }

  bool read_request(Request& request, int& fault) {
    auto until = Clock::now() + (served_ ? server_.limits_.idle : server_.limits_.request);
    bool begun = !waiting_.empty();
    std::size_t end = 0;
    while ((end = waiting_.find("\r\n\r\n")) == std::string::npos) {
      if (waiting_.size() > server_.limits_.head_bytes) fault = 431;
      // What cannot become a request is told at once: a line that ends without CR, HTTP/0.9.
      if (fault == 0 && is_odd_beginning(waiting_)) fault = 400;
      if (fault != 0) return false;
      if (!begun && !waiting_.empty()) {
        begun = true;
        until = Clock::now() + server_.limits_.request;
      }
      if (!read_more(until)) {
        if (begun && Clock::now() >= until) fault = 408;
        return false;
      }
    }
    if (end + 4 > server_.limits_.head_bytes) fault = 431;
    if (fault == 0)
      fault = parse_head(std::string_view(waiting_).substr(0, end + 4), server_.limits_, request);
    if (fault != 0) return false;
    waiting_.erase(0, end + 4);
    return read_body(request, until, fault);
  }

  bool read_body(Request& request, Clock::time_point until, int& fault) {
    const std::string& text = request.header("content-length");
    if (text.empty()) return true;
    std::size_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || end != text.data() + text.size()) fault = 400;
    if (fault == 0 && size > server_.limits_.body_bytes) fault = 413;
    if (fault != 0) return false;
    while (waiting_.size() < size) {
      if (!read_more(until)) {
        fault = 408;
        return false;
      }
    }
    request.body = waiting_.substr(0, size);
    waiting_.erase(0, size);
    return true;
  }

  bool read_more(Clock::time_point until) {
    std::array<char, 4096> part{};
    while (true) {
      if (!wait_for(POLLIN, until)) return false;
      const ssize_t size = ::recv(socket_, part.data(), part.size(), MSG_DONTWAIT);
      if (size > 0) {
        waiting_.append(part.data(), static_cast<std::size_t>(size));
        return true;
      }
      if (size == 0 || (errno != EAGAIN && errno != EINTR)) return false;
    }
  }

  bool wait_for(short what, Clock::time_point until) const {
    while (!server_.stopping_) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
      if (left.count() <= 0) return false;
      pollfd look{socket_, what, 0};
      const int ready =
          ::poll(&look, 1, static_cast<int>(std::min<std::int64_t>(left.count() + 1, k_poll_ms)));
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) return false;
    }
    return false;
  }

  bool send(const Request& request, const Answer& answer) {
    const bool close = answer.stream || lower(request.header("connection")) == "close";
    std::string head = fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\n", answer.status,
                                   reason_of(answer.status), http_date());
    for (const auto& [name, value] : answer.headers) head += name + ": " + value + "\r\n";
    if (!answer.stream && answer.status != 304)
      head += fmt::format("Content-Length: {}\r\n", answer.body.size());
    head += close ? "Connection: close\r\n\r\n" : "\r\n";
    const bool bodyless = request.method == "HEAD" || answer.status == 304;
    if (!answer.stream && !bodyless) head += answer.body;
    if (!write(head)) return false;
    if (answer.stream) answer.stream(*this, server_.stopping_);
    return !close;
  }

  void refuse(int status) {
    Request none;
    none.headers["connection"] = "close";
    Answer answer;
    answer.status = status;
    answer.headers = {{"Content-Type", "text/plain; charset=utf-8"},
                      {"X-Content-Type-Options", "nosniff"}};
    answer.body = fmt::format("{} {}\n", status, reason_of(status));
    send(none, answer);
    // What is still on its way is taken for a moment: closed over it, the refusal would be lost.
    ::shutdown(socket_, SHUT_WR);
    const auto until = Clock::now() + std::chrono::milliseconds(200);
    std::size_t taken = 0;
    waiting_.clear();
    while (taken < (std::size_t{1} << 20U) && read_more(until)) {
      taken += waiting_.size();
      waiting_.clear();
    }
  }

  HttpServer& server_;
  int socket_;
  std::string waiting_;
  bool served_ = false;  ///< a request was whole
  std::atomic<bool> waits_{true};
  std::atomic<bool> done_{false};
  std::thread thread_;  // last: it uses the others
};

HttpServer::HttpServer(Handler handler, HttpLimits limits)
    : handler_(std::move(handler)), limits_(limits) {}

HttpServer::~HttpServer() { stop(); }

core::Result<int> HttpServer::listen_loopback(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return tl::unexpected(system_error("no socket"));
  listener_ = socket;
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  socklen_t size = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket, plain, size) != 0 || ::listen(socket, k_backlog) != 0 ||
      ::getsockname(socket, plain, &size) != 0) {
    return tl::unexpected(system_error(fmt::format("127.0.0.1:{}", port)));
  }
  return ntohs(address.sin_port);
}

core::Result<void> HttpServer::listen_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return core::fail(core::ErrorCode::bad_usage,
                      fmt::format("[live] {}: the path of a Unix socket has {} bytes at most", path,
                                  sizeof address.sun_path - 1));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return tl::unexpected(system_error("no socket"));
  listener_ = socket;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  struct stat there{};
  if (::lstat(path.c_str(), &there) == 0 && S_ISSOCK(there.st_mode)) {
    const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool lives = probe >= 0 && ::connect(probe, plain, sizeof address) == 0;
    if (probe >= 0) ::close(probe);
    if (!lives) ::unlink(path.c_str());
  }
  const mode_t before = ::umask(0177);
  const bool bound = ::bind(socket, plain, sizeof address) == 0;
  const int why = errno;
  ::umask(before);
  errno = why;
  if (!bound || ::listen(socket, k_backlog) != 0) return tl::unexpected(system_error(path));
  socket_path_ = path;
  return {};
}

void HttpServer::start() {
  thread_ = std::thread([this] { accept_all(); });
}

void HttpServer::accept_all() {
  while (!stopping_) {
    reap(false);
    pollfd look{listener_, POLLIN, 0};
    if (::poll(&look, 1, k_poll_ms) <= 0) continue;
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    const int yes = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    const std::lock_guard lock(mutex_);
    if (connections_.size() >= limits_.connections && !make_room()) {
      ::close(socket);
      continue;
    }
    try {
      connections_.push_back(std::make_unique<Connection>(*this, socket));
    } catch (const std::exception&) {  // no thread to be had: this one is not served
      ::close(socket);
    }
  }
}

/// False where all of them are being answered.
bool HttpServer::make_room() {
  const auto oldest = std::find_if(connections_.begin(), connections_.end(),
                                   [](const auto& each) { return each->is_waiting(); });
  if (oldest == connections_.end()) return false;
  connections_.erase(oldest);
  return true;
}

void HttpServer::reap(bool all) {
  std::list<std::unique_ptr<Connection>> over;
  const std::lock_guard lock(mutex_);
  for (auto each = connections_.begin(); each != connections_.end();) {
    const auto next = std::next(each);
    if (all || (*each)->is_done()) over.splice(over.end(), connections_, each);
    each = next;
  }
}

void HttpServer::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  reap(true);
  if (listener_ >= 0) ::close(std::exchange(listener_, -1));
  if (!socket_path_.empty()) ::unlink(std::exchange(socket_path_, {}).c_str());
}

}  // namespace aplomb::serve
