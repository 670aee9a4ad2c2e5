#include "alarm/alarms.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "alarm/child_program.h"
#include "cli/program.h"
#include "core/folder.h"
#include "serve/http.h"

namespace aplomb::alarm {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::content;
using test::Folder;

const bool has_curl = std::system("command -v curl >/dev/null 2>&1") == 0;

Notice notice_of(const std::string& text) {
  Notice notice;
  notice.run = "out/run-7";
  notice.standing = "failed";
  notice.cause = "nan.lr-too-high";
  notice.step = 161;
  notice.text = text;
  return notice;
}

/// A server that keeps what is sent to it.
class Kept {
 public:
  explicit Kept(int status = 200, std::string location = {})
      : http_([this, status, location](const serve::Request& request, serve::Answer& answer) {
          const std::lock_guard lock(mutex_);
          requests_.push_back(request);
          answer.status = status;
          if (!location.empty()) answer.headers.emplace_back("Location", location);
        }) {
    port_ = http_.listen_loopback(0).value();
    http_.start();
  }
  std::string url() const {
    return "http://127.0.0.1:" + std::to_string(port_) + "/hook?key=secret";
  }
  std::vector<serve::Request> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  std::mutex mutex_;
  std::vector<serve::Request> requests_;
  int port_ = 0;
  serve::HttpServer http_;
};

std::unique_ptr<Sink> sink_of(const std::string& words) { return make_sink(words, false).value(); }

TEST(AlarmSinks, AWebhookGetsTheNoticeAsJson) {
  if (!has_curl) GTEST_SKIP() << "no curl";
  Kept kept;
  const std::string text = "loss 1.5 -> nan at step 161 \"quoted\" \\ \xc3\xa4\n@/etc/passwd";
  const auto done = sink_of("webhook:" + kept.url())->send(notice_of(text));
  ASSERT_TRUE(done) << done.error().text;
  const auto requests = kept.requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].method, "POST");
  EXPECT_EQ(requests[0].path, "/hook");
  EXPECT_EQ(requests[0].query.at("key"), "secret");
  EXPECT_EQ(requests[0].header("content-type"), "application/json");
  const json body = json::parse(requests[0].body);
  EXPECT_EQ(body["schema"], "aplomb.alert/1");
  EXPECT_EQ(body["step"], 161);
  EXPECT_EQ(body["text"], "out/run-7 is failed. " + text);
}

TEST(AlarmSinks, NtfyGetsTextAndTitle) {
  if (!has_curl) GTEST_SKIP() << "no curl";
  Kept kept;
  const auto done = sink_of("ntfy:" + kept.url())->send(notice_of("loss is nan"));
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(kept.requests().at(0).body, "loss is nan");
  EXPECT_EQ(kept.requests().at(0).header("title"), "out/run-7 is failed");
  EXPECT_EQ(kept.requests().at(0).header("priority"), "high");
}

TEST(AlarmSinks, FollowsNoRedirectionAndAsksNoProxy) {
  if (!has_curl) GTEST_SKIP() << "no curl";
  Kept elsewhere;
  Kept kept(303, elsewhere.url());
  ::setenv("http_proxy", elsewhere.url().c_str(), 1);
  (void)sink_of("webhook:" + kept.url())->send(notice_of("x"));
  ::unsetenv("http_proxy");
  EXPECT_EQ(kept.requests().size(), 1U);
  EXPECT_TRUE(elsewhere.requests().empty());
}

TEST(AlarmSinks, ARefusalAndSilenceAreErrorsWithoutTheKey) {
  if (!has_curl) GTEST_SKIP() << "no curl";
  Kept kept(503);
  const auto sink = sink_of("webhook:" + kept.url());
  const auto done = sink->send(notice_of("x"));
  ASSERT_FALSE(done);
  EXPECT_EQ((done.error().text + sink->name()).find("secret"), std::string::npos)
      << done.error().text;
  EXPECT_FALSE(sink_of("webhook:http://127.0.0.1:1/")->send(notice_of("x")));
  EXPECT_FALSE(sink_of("webhook:http://169.254.169.254/")->send(notice_of("x")));
}

TEST(AlarmSinks, ACommandGetsTheNoticeAsDataAndNeverAsWords) {
  const Folder folder;
  const auto sink = sink_of("command:cat >" + (folder / "in") +
                            "; printf %s \"$APLOMB_ALERT_TEXT\" >" + (folder / "text"));
  const std::string text = "$(touch " + (folder / "harm") + ") `touch " + (folder / "harm") +
                           "`; touch " + (folder / "harm");
  const auto done = sink->send(notice_of(text));
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(content(folder / "text"), text);
  EXPECT_EQ(json::parse(content(folder / "in"))["run"], "out/run-7");
  EXPECT_FALSE(std::filesystem::exists(folder / "harm"));
  EXPECT_FALSE(sink_of("command:echo no >&2; exit 3")->send(notice_of("x")));
}

TEST(AlarmSinks, WhatIsNoSinkIsSaid) {
  for (const char* each : {"", "mail:a@b", "webhook", "webhook:", "webhook:file:///etc/passwd",
                           "command:", "ntfy:topic"})
    EXPECT_FALSE(make_sink(each, false)) << each;
}

TEST(AlarmProgram, IsEndedWithAllThatItStartedWhenItsTimeIsOver) {
  const Folder folder;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(run_program({"sh", "-c", "sleep 30 & echo $! >" + (folder / "pid") + "; wait"}, {},
                           milliseconds(300)));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(10));
  const int pid = std::stoi(content(folder / "pid"));
  for (int i = 0; i < 500 && ::kill(pid, 0) == 0; ++i)
    std::this_thread::sleep_for(milliseconds(10));
  const std::string state = content("/proc/" + std::to_string(pid) + "/stat");
  EXPECT_TRUE(state.empty() || state.find(") Z") != std::string::npos) << state;
  EXPECT_EQ(run_program({"/nonexistent/program"}, {}, seconds(5)).error().code,
            core::ErrorCode::not_found);
  EXPECT_EQ(run_program({"cat"}, std::string(1U << 20U, 'x'), seconds(10))->output.size(), 65536U);
}

/// A sink that keeps, or fails, or takes its time.
struct Recorded {
  std::mutex mutex;
  std::vector<Notice> notices;
  std::vector<std::string> said;
  std::size_t count() {
    const std::lock_guard lock(mutex);
    return notices.size();
  }
};
class RecordingSink : public Sink {
 public:
  RecordingSink(std::shared_ptr<Recorded> out, bool fails, milliseconds takes)
      : out_(std::move(out)), fails_(fails), takes_(takes) {}
  std::string name() const override { return "recording"; }
  core::Result<void> send(const Notice& notice) const override {
    std::this_thread::sleep_for(takes_);
    const std::lock_guard lock(out_->mutex);
    out_->notices.push_back(notice);
    if (fails_) return core::fail(core::ErrorCode::not_writable, "[alert] broken");
    return {};
  }

 private:
  std::shared_ptr<Recorded> out_;
  bool fails_;
  milliseconds takes_;
};

std::unique_ptr<Alarms> alarms_of(const std::shared_ptr<Recorded>& out, bool fails = false,
                                  milliseconds takes = milliseconds(0)) {
  std::vector<std::unique_ptr<Sink>> sinks;
  sinks.push_back(std::make_unique<RecordingSink>(out, fails, takes));
  return std::make_unique<Alarms>(
      std::move(sinks),
      [](std::string_view text) {
        std::string copy(text);
        const std::size_t at = copy.find("hunter2");
        if (at != std::string::npos) copy.replace(at, 7, "<secret-1>");
        return copy;
      },
      [out](std::string_view text) { out->said.emplace_back(text); });
}

TEST(Alarms, TellEachCauseOnceAndRedacted) {
  const auto out = std::make_shared<Recorded>();
  const auto alarms = alarms_of(out);
  for (int i = 0; i < 10; ++i) alarms->tell(notice_of("the key is hunter2 \x1b[2J"));
  Notice worse = notice_of("another");
  worse.cause = "diverge.lr-too-high";
  alarms->tell(worse);
  Notice hang = notice_of("hangs");
  hang.what = Notice::What::hang;
  alarms->tell(hang);
  alarms->tell(hang);
  hang.step = 200;  // it went on, and stands again
  alarms->tell(hang);
  alarms->finish(seconds(10));
  ASSERT_EQ(out->notices.size(), 4U);
  EXPECT_EQ(out->notices[0].text.find("hunter2"), std::string::npos);
  EXPECT_EQ(out->notices[0].text.find('\x1b'), std::string::npos);
}

TEST(Alarms, WhatOneMishapShowsIsToldOnceWithItsCause) {
  const auto out = std::make_shared<Recorded>();
  const auto alarms = alarms_of(out);
  alarms->explain_with([](Notice& notice) {
    notice.cause = "diverge.lr-too-high";
    notice.fix = "Lower the learning rate of hunter2";
  });
  for (const char* seen : {"loss.spike", "loss.nonfinite", "grad_norm.nonfinite"}) {
    Notice notice = notice_of("something was seen");
    notice.standing = seen == std::string_view("loss.spike") ? "unstable" : "failed";
    notice.cause = seen;
    alarms->tell(notice);
  }
  Notice end = notice_of("the program ended");
  end.what = Notice::What::end;
  alarms->tell(end);
  alarms->finish(seconds(10));
  ASSERT_EQ(out->notices.size(), 2U);
  EXPECT_EQ(out->notices[0].standing, "failed");
  EXPECT_EQ(out->notices[0].cause, "diverge.lr-too-high");
  EXPECT_EQ(out->notices[0].fix.find("Lower the learning rate"), 0U);
  EXPECT_EQ(out->notices[0].fix.find("hunter2"), std::string::npos);
}

TEST(Alarms, WhatCannotBeExplainedIsToldAsItWasSeen) {
  const auto out = std::make_shared<Recorded>();
  const auto alarms = alarms_of(out);
  alarms->explain_with([](Notice&) { throw std::runtime_error("no report"); });
  alarms->tell(notice_of("seen"));
  alarms->finish(seconds(10));
  ASSERT_EQ(out->notices.size(), 1U);
  EXPECT_EQ(out->notices[0].text, "seen");
}

TEST(Alarms, AFailingSinkIsToldOnceAndTriedAgain) {
  const auto out = std::make_shared<Recorded>();
  const auto alarms = alarms_of(out, true);
  for (int i = 0; i < 5; ++i) {
    Notice notice = notice_of("x");
    notice.cause = std::to_string(i);
    alarms->tell(notice);
  }
  alarms->finish(seconds(10));
  EXPECT_EQ(out->notices.size(), 5U);
  ASSERT_EQ(out->said.size(), 1U);
  EXPECT_NE(out->said[0].find("broken"), std::string::npos);
}

TEST(Alarms, ASlowSinkHoldsNobody) {
  const auto out = std::make_shared<Recorded>();
  const auto begin = std::chrono::steady_clock::now();
  {
    const auto alarms = alarms_of(out, false, milliseconds(1500));
    alarms->tell(notice_of("x"));
    alarms->finish(milliseconds(50));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(1400));
  for (int i = 0; i < 500 && out->count() == 0; ++i) std::this_thread::sleep_for(milliseconds(10));
}

TEST(Alarms, AreBounded) {
  const auto out = std::make_shared<Recorded>();
  const auto alarms = alarms_of(out);
  for (int i = 0; i < 500; ++i) {
    Notice notice = notice_of("x");
    notice.cause = std::to_string(i);
    alarms->tell(notice);
  }
  alarms->finish(seconds(10));
  EXPECT_EQ(out->notices.size(), Alarms::k_most);
  EXPECT_NE(out->notices.back().text.find("left out"), std::string::npos);
}

}  // namespace
}  // namespace aplomb::alarm
