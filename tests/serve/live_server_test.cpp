#include "serve/live_server.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "core/folder.h"
#include "serve/client.h"
#include "serve/still_page.h"

namespace aplomb::serve {
namespace {

using nlohmann::json;
using test::Client;
using test::Folder;

std::string lines(int from, int to) {
  std::string text;
  for (int i = from; i <= to; ++i) {
    text += "{'loss': " + std::to_string(3.0 - 0.01 * i) + ", 'step': " + std::to_string(i) + "}\n";
  }
  return text;
}

/// A server over a folder with one run, and what a browser would do.
class LiveServerTest : public ::testing::Test {
 protected:
  void begin(LiveOptions options = {}) {
    folder_.write("train.log", lines(1, 60));
    options.follow.paths = {folder_ / ""};
    options.follow.python = "";
    options.follow.tick = std::chrono::milliseconds(10);
    server_ = std::make_unique<LiveServer>(options);
    const auto started = server_->start();
    ASSERT_TRUE(started) << started.error().text;
    host_ = "127.0.0.1:" + std::to_string(server_->port());
    const std::string answer = ask("GET /?token=" + server_->token() + " HTTP/1.1", {});
    const std::size_t at = answer.find("Set-Cookie: ");
    ASSERT_NE(at, std::string::npos) << answer;
    cookie_ = answer.substr(at + 12, answer.find(';', at) - at - 12);
    for (int i = 0; i < 2000 && server_->follower().glances().empty(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ASSERT_EQ(server_->follower().glances().size(), 1U);
    run_ = server_->follower().glances()[0].id;
  }

  /// One request on a connection of its own. `headers` without Host and Cookie.
  std::string ask(const std::string& line, const std::vector<std::string>& headers,
                  const std::string& body = {}) const {
    Client client(server_->port());
    std::string text = line + "\r\nHost: " + host_ + "\r\nConnection: close\r\n";
    if (!cookie_.empty()) text += "Cookie: a=b; " + cookie_ + "\r\n";
    for (const std::string& each : headers) text += each + "\r\n";
    if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    EXPECT_TRUE(client.send(text + "\r\n" + body));
    return client.read();
  }
  std::string get(const std::string& path) const { return ask("GET " + path + " HTTP/1.1", {}); }
  static int status(const std::string& answer) {
    return answer.size() > 12 ? std::stoi(answer.substr(9, 3)) : 0;
  }
  static json body(const std::string& answer) {
    return json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  }
  std::string origin() const { return "Origin: http://" + host_; }

  Folder folder_;
  std::unique_ptr<LiveServer> server_;
  std::string host_;
  std::string cookie_;
  std::string run_;
};

TEST_F(LiveServerTest, TellsOfRunsSeriesAndOneRun) {
  begin();
  const json list = body(get("/api/runs"));
  EXPECT_EQ(list["schema"], "aplomb.live/1");
  EXPECT_EQ(list["server"]["can_stop"], false);
  EXPECT_EQ(list["runs"][0]["id"], run_);
  EXPECT_EQ(body(get("/api/runs/" + run_))["report"]["schema"], "aplomb.report/1");
  const json series = body(get("/api/runs/" + run_ + "/series/loss?from=10&to=19&points=5"));
  EXPECT_EQ(series["steps"].size(), 5U);
  EXPECT_EQ(series["steps"][0], 10);
  EXPECT_EQ(status(get("/api/runs/" + run_ + "/series/none")), 404);
  EXPECT_EQ(status(get("/api/runs/none")), 404);
  EXPECT_EQ(status(get("/api/runs/%zz")), 404);
}

TEST_F(LiveServerTest, WithoutTheCookieNothingIsTold) {
  begin();
  const std::string cookie = std::exchange(cookie_, "");
  for (const char* path :
       {"/", "/app.js", "/api/runs", "/api/events", "/none", "/?token=", "/?token=00"})
    EXPECT_EQ(status(get(path)), 401) << path;
  cookie_ = cookie.substr(0, cookie.size() - 1);
  EXPECT_EQ(status(get("/api/runs")), 401);
  cookie_ = cookie.substr(0, cookie.find('=') + 1) + server_->token();
  EXPECT_EQ(status(get("/api/runs")), 401) << "the token is no cookie";
  cookie_ = cookie;
  EXPECT_EQ(status(get("/api/runs")), 200);
}

TEST_F(LiveServerTest, TheTokenBecomesACookieThatNoScriptAndNoOtherSiteHas) {
  begin();
  const std::string answer = get("/?token=" + server_->token());
  EXPECT_EQ(status(answer), 303);
  EXPECT_NE(answer.find("; HttpOnly; SameSite=Strict"), std::string::npos);
  EXPECT_EQ(answer.find(server_->token()), std::string::npos) << "another value than the token";
  EXPECT_GE(server_->token().size(), 32U);
  LiveServer other(LiveOptions{});
  EXPECT_NE(other.token(), server_->token());
}

TEST_F(LiveServerTest, AnswersUnderNoNameButItsOwn) {
  begin();
  for (const char* host :
       {"evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost:", "localhost:x",
        "[::1].evil", "0.0.0.0", "10.0.0.1", "127.0.0.1:1:2", ""}) {
    host_ = host;
    EXPECT_EQ(status(get("/api/runs")), 421) << host;
  }
  // Forwarded ports (ssh -L) are other ports than ours.
  for (const char* host : {"localhost:9999", "127.0.0.1", "[::1]:8080"}) {
    host_ = host;
    EXPECT_EQ(status(get("/api/runs")), 200) << host;
  }
}

TEST_F(LiveServerTest, PagesOfOtherOriginsAreRefused) {
  begin();
  const std::string line = "GET /api/runs HTTP/1.1";
  EXPECT_EQ(status(ask(line, {"Origin: http://evil.example"})), 403);
  EXPECT_EQ(status(ask(line, {"Origin: null"})), 403);
  EXPECT_EQ(status(ask(line, {"Origin: http://127.0.0.1:1"})), 403)
      << "another server of this machine";
  EXPECT_EQ(status(ask(line, {"Sec-Fetch-Site: cross-site"})), 403);
  EXPECT_EQ(status(ask(line, {"Sec-Fetch-Site: same-site"})), 403);
  EXPECT_EQ(status(ask(line, {"Sec-Fetch-Site: same-origin", origin()})), 200);
}

TEST_F(LiveServerTest, StopsNothingUnlessItWasStartedSo) {
  begin();
  const std::string line = "POST /api/runs/" + run_ + "/stop HTTP/1.1";
  EXPECT_EQ(status(ask(line, {origin()}, "{\"confirm\":true}")), 403);
}

TEST_F(LiveServerTest, StopTakesOurOriginAndAConfirmation) {
  LiveOptions options;
  options.follow.may_stop = true;
  begin(options);
  const std::string line = "POST /api/runs/" + run_ + "/stop HTTP/1.1";
  EXPECT_EQ(status(ask(line, {}, "{\"confirm\":true}")), 403) << "no origin";
  EXPECT_EQ(status(ask(line, {"Origin: http://evil.example"}, "{\"confirm\":true}")), 403);
  EXPECT_EQ(status(get("/api/runs/" + run_ + "/stop")), 405);
  for (const char* text :
       {"{}", "{\"confirm\":1}", "{\"confirm\":false}", "[true]", "x", "confirm=true"})
    EXPECT_EQ(status(ask(line, {origin()}, text)), 400) << text;
  const std::string answer = ask(line, {origin()}, "{\"confirm\":true}");
  EXPECT_EQ(status(answer), 403) << "not a run of `aplomb run`";
  EXPECT_NE(answer.find("aplomb run"), std::string::npos);
  EXPECT_EQ(status(ask("POST /api/runs/r0/stop HTTP/1.1", {origin()}, "{\"confirm\":true}")), 404);
}

TEST_F(LiveServerTest, EveryAnswerCarriesThePolicy) {
  begin();
  for (const char* path : {"/", "/api/runs", "/none"}) {
    const std::string answer = get(path);
    EXPECT_NE(answer.find("default-src 'none'; script-src 'self'"), std::string::npos) << path;
    EXPECT_NE(answer.find("X-Content-Type-Options: nosniff"), std::string::npos);
    EXPECT_NE(answer.find("Date: "), std::string::npos);
  }
}

TEST_F(LiveServerTest, NoPageShowsItInAFrameUnlessItWasStartedSo) {
  const std::vector<std::string> framed = {"Sec-Fetch-Site: same-site", "Sec-Fetch-Dest: iframe"};
  begin();
  EXPECT_NE(get("/").find("frame-ancestors 'none'"), std::string::npos);
  EXPECT_NE(get("/").find("X-Frame-Options: DENY"), std::string::npos);
  EXPECT_EQ(status(ask("GET / HTTP/1.1", framed)), 403);
  cookie_.clear();
  LiveOptions options;
  options.in_frame = true;
  begin(std::move(options));
  EXPECT_NE(get("/").find("frame-ancestors 'self' http://localhost:* http://127.0.0.1:*"),
            std::string::npos);
  EXPECT_EQ(get("/").find("X-Frame-Options"), std::string::npos);
  EXPECT_NE(status(ask("GET / HTTP/1.1", framed)), 403);
  EXPECT_EQ(status(ask("GET /api/runs HTTP/1.1", framed)), 403) << "the page and nothing else";
  EXPECT_EQ(status(ask("GET / HTTP/1.1", {"Sec-Fetch-Site: cross-site", framed[1]})), 403);
}

TEST_F(LiveServerTest, AStoppedPageHoldsItsRunAndNothingThatCouldEndItsScript) {
  folder_.write("run.log", "{'loss': 1.0, 'step': 1} </script><script>alert(1)</script> & more\n");
  ASSERT_NO_FATAL_FAILURE(begin());
  EXPECT_FALSE(still_page(server_->follower(), "none"));
  const auto page = still_page(server_->follower(), run_);
  if (!LiveServer::has_page()) {
    ASSERT_FALSE(page);
    EXPECT_NE(page.error().text.find("web/check.sh"), std::string::npos);
    return;
  }
  ASSERT_TRUE(page) << page.error().text;
  const std::string begins = "id=\"aplomb-data\">";
  const std::size_t at = page->find(begins);
  ASSERT_NE(at, std::string::npos);
  const std::size_t from = at + begins.size();
  const std::string held = page->substr(from, page->find("</script>", from) - from);
  EXPECT_EQ(held.find_first_of("<>&"), std::string::npos);
  const json run = json::parse(held);
  EXPECT_EQ(run["id"], run_);
  EXPECT_EQ(run["can_stop"], false);
  EXPECT_EQ(run["series"][0]["steps"].size(), run["series"][0]["min"].size());
  EXPECT_NE(page->find("default-src 'none'"), std::string::npos);
}

TEST_F(LiveServerTest, ServesNothingFromDiskByName) {
  begin();
  for (const char* path :
       {"/train.log", "/../train.log", "/%2e%2e/etc/passwd", "/app.js/../../etc/passwd",
        "/etc/passwd", "//etc/passwd", "/index.html", "/report.html"}) {
    EXPECT_EQ(status(get(path)), 404) << path;
  }
}

TEST_F(LiveServerTest, ThePageIsTheBuiltOneWithATag) {
  begin();
  const std::string answer = get("/app.js");
  if (!LiveServer::has_page()) {
    EXPECT_EQ(status(answer), 501);
    EXPECT_NE(answer.find("web/check.sh build"), std::string::npos);
    return;
  }
  EXPECT_EQ(status(answer), 200);
  EXPECT_NE(answer.find("Content-Type: text/javascript"), std::string::npos);
  const std::size_t at = answer.find("ETag: ");
  ASSERT_NE(at, std::string::npos);
  const std::string tag = answer.substr(at + 6, answer.find('\r', at) - at - 6);
  const std::string again = ask("GET /app.js HTTP/1.1", {"If-None-Match: " + tag});
  EXPECT_EQ(status(again), 304);
  EXPECT_TRUE(again.ends_with("\r\n\r\n"));
}

TEST_F(LiveServerTest, TooMuchIsRefused) {
  begin();
  EXPECT_EQ(status(ask("GET /api/runs HTTP/1.1", {"A: " + std::string(40000, 'x')})), 431);
  EXPECT_EQ(status(get("/" + std::string(40000, 'x'))), 431);
  const std::string stop = "POST /api/runs/" + run_ + "/stop HTTP/1.1";
  EXPECT_EQ(status(ask(stop, {origin()}, std::string(100000, ' '))), 413);
  EXPECT_EQ(status(ask(stop, {origin(), "Transfer-Encoding: chunked"})), 501);
  EXPECT_EQ(status(ask(stop, {origin(), "Content-Length: 99999999999999999999999"})), 400);
  EXPECT_EQ(status(ask("PUT /api/runs HTTP/1.1", {origin()})), 405);
}

TEST_F(LiveServerTest, WhoSendsSlowlyIsCutOff) {
  LiveOptions options;
  options.limits.request = std::chrono::milliseconds(300);
  options.limits.idle = std::chrono::milliseconds(500);
  begin(options);
  Client slow(server_->port());
  ASSERT_TRUE(slow.send("GET / HTTP/1.1\r\nHost: x\r\n"));
  const auto begin_time = std::chrono::steady_clock::now();
  EXPECT_EQ(status(slow.read({}, 5)), 408);
  EXPECT_LT(std::chrono::steady_clock::now() - begin_time, std::chrono::seconds(4));
  Client silent(server_->port());
  EXPECT_EQ(silent.read({}, 5), "");
  EXPECT_TRUE(silent.closed());
  EXPECT_EQ(status(get("/api/runs")), 200);
}

/// A page that listens.
std::unique_ptr<Client> listener(int port, const std::string& host, const std::string& cookie,
                                 const std::string& last = {}) {
  auto client = std::make_unique<Client>(port);
  std::string text = "GET /api/events HTTP/1.1\r\nHost: " + host + "\r\nCookie: " + cookie + "\r\n";
  if (!last.empty()) text += "Last-Event-ID: " + last + "\r\n";
  client->send(text + "\r\n");
  return client;
}

TEST_F(LiveServerTest, ConnectionsAreBounded) {
  LiveOptions options;
  options.limits.connections = 4;
  begin(options);
  {
    std::vector<std::unique_ptr<Client>> held;
    for (int i = 0; i < 4; ++i) held.push_back(listener(server_->port(), host_, cookie_));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    Client further(server_->port());
    EXPECT_EQ(further.read({}, 2), "");
    EXPECT_TRUE(further.closed());
  }
  // That a listener is gone is seen when it is next written to.
  for (int i = 0; i < 400 && status(get("/api/runs")) != 200; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(status(get("/api/runs")), 200);
}

/// Half a request on each of them, and then nothing.
TEST_F(LiveServerTest, WhoHoldsConnectionsOpenKeepsNobodyOut) {
  LiveOptions options;
  options.limits.connections = 4;
  begin(options);
  std::vector<std::unique_ptr<Client>> held;
  for (int i = 0; i < 12; ++i) {
    held.push_back(std::make_unique<Client>(server_->port()));
    ASSERT_TRUE(held.back()->send(i % 2 == 0 ? "GET / HTTP/1.1\r\nHost: x" : ""));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(status(get("/api/runs")), 200);
}

TEST_F(LiveServerTest, ALineWithoutItsEndAndAnOlderProtocolAreRefusedAtOnce) {
  begin();
  for (const char* text : {"GET / HTTP/1.1\nHost: localhost\n\n", "GET /\r\n", "GET /\n"}) {
    Client client(server_->port());
    ASSERT_TRUE(client.send(text));
    EXPECT_EQ(status(client.read({}, 2)), 400) << text;
  }
}

TEST_F(LiveServerTest, AConnectionTakesOneRequestAfterTheOther) {
  begin();
  Client client(server_->port());
  const std::string request =
      "GET /api/runs HTTP/1.1\r\nHost: " + host_ + "\r\nCookie: " + cookie_ + "\r\n";
  ASSERT_TRUE(client.send(request + "\r\n" + request + "Connection: close\r\n\r\n"));
  const std::string text = client.read();
  EXPECT_NE(text.find("HTTP/1.1 200", text.find("HTTP/1.1 200") + 1), std::string::npos);
}

TEST_F(LiveServerTest, PointsComeAsEventsAndAViewerThatWasAwayIsSentWhatItMissed) {
  begin();
  auto first = listener(server_->port(), host_, cookie_);
  first->read(": here\n", 5);
  std::ofstream(folder_ / "train.log", std::ios::app) << lines(61, 61);
  const std::string text = first->read("\"loss\":[[61,", 10);
  const std::size_t at = text.find("event: points\n");
  ASSERT_NE(at, std::string::npos) << text;
  const std::size_t id_at = text.rfind("id: ", at) + 4;
  const std::string id = text.substr(id_at, text.find('\n', id_at) - id_at);
  first.reset();
  std::ofstream(folder_ / "train.log", std::ios::app) << lines(62, 62);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  auto second = listener(server_->port(), host_, cookie_, id);
  const std::string missed = second->read("\"loss\":[[62,", 10);
  EXPECT_NE(missed.find("\"loss\":[[62,"), std::string::npos);
  EXPECT_EQ(missed.find("\"loss\":[[61,"), std::string::npos);
  auto stranger = listener(server_->port(), host_, cookie_, "12345678-9");
  EXPECT_NE(stranger->read("event: reset\n", 5).find("event: reset\n"), std::string::npos);
}

TEST_F(LiveServerTest, ViewersAreBoundedAndLeaveTheirPlace) {
  LiveOptions options;
  options.viewers = 2;
  begin(options);
  auto one = listener(server_->port(), host_, cookie_);
  auto two = listener(server_->port(), host_, cookie_);
  one->read(": here\n", 5);
  two->read(": here\n", 5);
  EXPECT_EQ(server_->viewers(), 2U);
  auto three = listener(server_->port(), host_, cookie_);
  EXPECT_EQ(status(three->read("\r\n\r\n", 5)), 503);
  one.reset();
  for (int i = 0; i < 1000 && server_->viewers() > 1; ++i) {
    std::ofstream(folder_ / "train.log", std::ios::app) << lines(61 + i, 61 + i);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(server_->viewers(), 1U);
}

TEST_F(LiveServerTest, StopsAtOnceWhileSomebodyListens) {
  begin();
  auto viewer = listener(server_->port(), host_, cookie_);
  viewer->read(": here\n", 5);
  const auto begin_time = std::chrono::steady_clock::now();
  server_->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begin_time, std::chrono::seconds(5));
}

TEST_F(LiveServerTest, ATakenPortIsSaid) {
  begin();
  LiveOptions options;
  options.port = server_->port();
  LiveServer other(options);
  const auto started = other.start();
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().text.find(std::to_string(server_->port())), std::string::npos);
}

TEST(LiveSocket, IsOpenToItsOwnerAloneAndTakenOverFromTheDead) {
  const Folder folder;
  const std::string path = folder / "page";
  folder.write("train.log", lines(1, 30));
  LiveOptions options;
  options.follow.paths = {folder / "train.log"};
  options.socket = path;
  {
    LiveServer server(options);
    ASSERT_TRUE(server.start());
    struct stat about{};
    ASSERT_EQ(::stat(path.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777U, 0600U);
    Client client(path);
    ASSERT_TRUE(client.connected());
    client.send("GET /api/runs HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_NE(client.read("token").find("401"), std::string::npos);
    LiveServer second(options);
    EXPECT_FALSE(second.start()) << "somebody listens there";
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  folder.write("page", "a file of the user's");
  LiveServer server(options);
  EXPECT_FALSE(server.start());
  EXPECT_EQ(::access(path.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace aplomb::serve
