#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "cli/program.h"
#include "serve/client.h"

namespace aplomb {
namespace {

using test::Client;
using test::content;
using test::Folder;
using test::run_program;

/// A program in the background.
class Background {
 public:
  Background(const Folder& folder, const std::string& words) : folder_(folder) {
    (void)run_program("cd " + (folder / "") + " && ( { " + words +
                      " >out.txt 2>error.txt; echo $? >status.txt; } & )");
  }
  std::string said() const { return content(folder_ / "out.txt") + content(folder_ / "error.txt"); }
  std::string status() const { return content(folder_ / "status.txt"); }

 private:
  const Folder& folder_;
};

template <class Wanted>
bool comes(Wanted wanted) {
  for (int i = 0; i < 1500; ++i) {
    if (wanted()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

/// The page as a browser has it: the port, the cookie.
struct Page {
  int port = 0;
  std::string cookie;

  static Page open(const std::string& said) {
    Page page;
    const std::string host = "http://127.0.0.1:";
    const std::size_t at = said.find(host);
    if (at == std::string::npos) return page;
    page.port = std::stoi(said.substr(at + host.size()));
    const std::size_t token = said.find("token=");
    const std::string answer =
        page.ask("GET /?token=" + said.substr(token + 6, said.find('\n', token) - token - 6), {});
    const std::size_t cookie = answer.find("Set-Cookie: ") + 12;
    page.cookie = answer.substr(cookie, answer.find(';', cookie) - cookie);
    return page;
  }
  std::string ask(const std::string& line, const std::string& body) const {
    Client client(port);
    const std::string host = "127.0.0.1:" + std::to_string(port);
    client.send(line + " HTTP/1.1\r\nHost: " + host + "\r\nOrigin: http://" + host +
                "\r\nCookie: " + cookie + "\r\nConnection: close\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + body);
    return client.read();
  }
  std::string runs() const { return ask("GET /api/runs", {}); }
  std::string run_id() const {
    const std::string text = runs();
    const std::size_t at = text.find("\"id\":\"");
    return at == std::string::npos ? "" : text.substr(at + 6, text.find('"', at + 6) - at - 6);
  }
};

constexpr const char* k_trains =
    "sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo \"{\\\"loss\\\": 1.5, \\\"step\\\": "
    "$i}\"; sleep 0.02; done'";

TEST(Live, ShowsARunUntilItIsEnded) {
  const Folder folder;
  std::string log;
  for (int i = 1; i <= 40; ++i)
    log += "{'loss': " + std::to_string(3 - 0.05 * i) + ", 'step': " + std::to_string(i) + "}\n";
  folder.write("runs/train.log", log);
  const Background live(folder, "sh -c 'echo $$ >live.txt; exec % live runs'");
  ASSERT_TRUE(comes([&] { return live.said().find("token=") != std::string::npos; }))
      << live.said();
  const Page page = Page::open(live.said());
  ASSERT_TRUE(comes([&] { return !page.run_id().empty(); }));
  EXPECT_NE(page.runs().find("\"standing\":\"healthy\""), std::string::npos) << page.runs();
  EXPECT_NE(page.ask("POST /api/runs/" + page.run_id() + "/stop", "{\"confirm\":true}").find("403"),
            std::string::npos);
  ASSERT_EQ(::kill(std::stoi(content(folder / "live.txt")), SIGTERM), 0);
  ASSERT_TRUE(comes([&] { return !live.status().empty(); }));
  EXPECT_EQ(live.status(), "0\n");
}

TEST(Live, WhatIsNotThereIsSaid) {
  const Folder folder;
  const test::Said said = run_program("% live " + (folder / "nothing"));
  EXPECT_EQ(said.status, 2);
  EXPECT_NE(said.error.find("no such file"), std::string::npos) << said.error;
}

TEST(Live, ARunWithAPageIsStoppedFromItAndReported) {
  const Folder folder;
  const Background run(folder,
                       std::string("% run --live --allow-stop --grace 5 --out run -- ") + k_trains);
  ASSERT_TRUE(comes([&] { return run.said().find("token=") != std::string::npos; })) << run.said();
  const Page page = Page::open(run.said());
  ASSERT_TRUE(comes([&] { return page.runs().find("\"state\":\"running\"") != std::string::npos; }))
      << page.runs();
  EXPECT_NE(page.runs().find("\"can_stop\":true"), std::string::npos);
  // The first look at the run may have come before its log was there.
  std::string answer;
  ASSERT_TRUE(comes([&] {
    answer = page.ask("POST /api/runs/" + page.run_id() + "/stop", "{\"confirm\":true}");
    return answer.find("HTTP/1.1 202") != std::string::npos;
  })) << answer;
  ASSERT_TRUE(comes([&] { return !run.status().empty(); }));
  EXPECT_NE(run.status(), "0\n");
  EXPECT_NE(run.said().find("stopped as its page asks"), std::string::npos) << run.said();
  EXPECT_NE(content(folder / "run/report.json").find("aplomb.report/1"), std::string::npos);
  // The page outlives the run for those who look.
  EXPECT_TRUE(comes([&] { return page.runs().find("\"state\":\"stopped\"") != std::string::npos; }))
      << page.runs();
  EXPECT_NE(content(folder / "run/run.lock").find("stopped 1"), std::string::npos);
}

TEST(Live, ThePageHoldsNeitherTheRunNorItsOutput) {
  const Folder folder;
  const auto begin = std::chrono::steady_clock::now();
  // `$(...)` waits until nobody holds the pipe any more: a page that kept it would hold the shell.
  const test::Said said = run_program("x=$(% run --live --out " + (folder / "run") +
                                      " -- sh -c 'echo done; exit 3' 2>&1); echo \"$? $x\"");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_EQ(said.out.substr(0, 2), "3 ") << said.out;
  EXPECT_NE(said.out.find("done"), std::string::npos);
}

TEST(Alert, ARunTellsWhatIsSeenOnceAndItsEnd) {
  const Folder folder;
  const std::string steps =
      "sh -c 'i=0; while [ $i -lt 80 ]; do i=$((i+1)); v=1.5; [ $i -gt 50 ] && v=nan; echo "
      "\"{\\\"loss\\\": "
      "$v, \\\"step\\\": $i}\"; sleep 0.02; done; exit 3'";
  const test::Said said = run_program(
      "cd " + (folder / "") + " && % run --alert 'command:cat >>told; echo >>told' -- " + steps);
  EXPECT_EQ(said.status, 3);
  const std::string told = content(folder / "told");
  EXPECT_NE(told.find("\"what\":\"verdict\""), std::string::npos) << told;
  EXPECT_NE(told.find("\"what\":\"end\""), std::string::npos) << told;
  EXPECT_NE(told.find("with status 3"), std::string::npos) << told;
  EXPECT_NE(told.find("\"standing\":\"failed\""), std::string::npos) << told;
  // One of what was seen, with its cause and what to do first, and one of the end.
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 2) << told;
  EXPECT_NE(told.find("\"cause\":\"nan."), std::string::npos) << told;
  EXPECT_EQ(told.find("\"fix\":null"), std::string::npos) << told;
  EXPECT_NE(told.find("/aplomb-run/"), std::string::npos) << told;
}

TEST(Alert, ASinkThatFailsIsToldOnceAndTheRunGoesOn) {
  const Folder folder;
  const test::Said said = run_program("cd " + (folder / "") +
                                      " && % run --alert webhook:http://127.0.0.1:1/ --alert "
                                      "'command:exit 9' -- sh -c 'echo done; exit 4'");
  EXPECT_EQ(said.status, 4);
  EXPECT_EQ(said.out, "done\n");
  EXPECT_NE(said.error.find("did not get through (command)"), std::string::npos) << said.error;
}

TEST(Alert, WhatIsNoSinkStartsNothing) {
  const Folder folder;
  const test::Said said =
      run_program("cd " + (folder / "") + " && % run --alert mail:me -- touch started");
  EXPECT_EQ(said.status, 2);
  EXPECT_FALSE(std::filesystem::exists(folder / "started"));
}

TEST(Alert, LiveTellsOfARunThatGoesWrong) {
  const Folder folder;
  const auto line = [](int step, const char* loss) {
    return std::string("{'loss': ") + loss + ", 'step': " + std::to_string(step) + "}\n";
  };
  std::string log;
  for (int i = 1; i <= 60; ++i) log += line(i, "1.5");
  folder.write("runs/train.log", log);
  const Background live(
      folder, "sh -c 'echo $$ >live.txt; exec % live --alert \"command:cat >>told\" runs'");
  ASSERT_TRUE(comes([&] { return live.said().find("token=") != std::string::npos; }));
  const Page page = Page::open(live.said());
  ASSERT_TRUE(comes([&] { return !page.run_id().empty(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  std::ofstream(folder / "runs/train.log", std::ios::app) << line(61, "nan") << line(62, "nan");
  EXPECT_TRUE(comes([&] {
    return content(folder / "told").find("\"standing\":\"failed\"") != std::string::npos;
  }));
  ASSERT_EQ(::kill(std::stoi(content(folder / "live.txt")), SIGTERM), 0);
  ASSERT_TRUE(comes([&] { return !live.status().empty(); }));
}

}  // namespace
}  // namespace aplomb
