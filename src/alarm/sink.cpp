#include "alarm/sink.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "alarm/address.h"
#include "alarm/child_program.h"
#include "alarm/web_request.h"
#include "core/json_text.h"
#include "core/pair_table.h"
#include "core/text.h"

namespace aplomb::alarm {
namespace {

constexpr std::chrono::seconds k_limit{30};
constexpr std::chrono::seconds k_web{15};

core::Error failed(const std::string& who, const Ran& ran) {
  const std::string said = core::shorten(core::sanitize(core::trim(ran.output)), 200);
  const int status = WIFEXITED(ran.status) ? WEXITSTATUS(ran.status) : 128 + WTERMSIG(ran.status);
  return {core::ErrorCode::not_writable,
          fmt::format("[alert] {} ended with {}{}{}", who, status, said.empty() ? "" : ": ", said)};
}

core::Result<void> run(const std::string& who, const std::vector<std::string>& words,
                       const std::string& input,
                       const std::vector<std::pair<std::string, std::string>>& extra = {}) {
  const core::Result<Ran> ran = run_program(words, input, k_limit, extra);
  if (!ran) return tl::unexpected(ran.error());
  if (ran->status != 0) return tl::unexpected(failed(who, *ran));
  return {};
}

/// The user's own words for the shell. What a log says reaches them as data: in variables and on
/// standard input, never in the words.
class Command final : public Sink {
 public:
  explicit Command(std::string words) : words_(std::move(words)) {}
  std::string name() const override { return "command"; }
  core::Result<void> send(const Notice& notice) const override {
    return run("the command", {"/bin/sh", "-c", words_}, json_of(notice),
               {{"APLOMB_ALERT_WHAT", std::string(alarm::name(notice.what))},
                {"APLOMB_ALERT_RUN", notice.run},
                {"APLOMB_ALERT_TITLE", notice.title()},
                {"APLOMB_ALERT_TEXT", notice.text},
                {"APLOMB_ALERT_FIX", notice.fix},
                {"APLOMB_ALERT_PLACE", notice.place}});
  }

 private:
  std::string words_;
};

class Desktop final : public Sink {
 public:
  std::string name() const override { return "desktop"; }
  core::Result<void> send(const Notice& notice) const override {
    return run("notify-send",
               {"notify-send", "--app-name=aplomb", "--", notice.title(), notice.words()}, {});
  }
};

/// A notice by the web.
class Web : public Sink {
 public:
  Web(Url url, bool may_be_private) : url_(std::move(url)), may_be_private_(may_be_private) {}

 protected:
  const std::string& host() const { return url_.host; }
  core::Result<void> post(const std::string& body, const std::vector<std::string>& headers) const {
    const auto answer = web_post(url_, {.who = "[alert]",
                                        .body = body,
                                        .headers = headers,
                                        .may_be_private = may_be_private_,
                                        .limit = k_web});
    if (!answer) return tl::unexpected(answer.error());
    return {};
  }

 private:
  Url url_;
  bool may_be_private_;
};

class Webhook final : public Web {
 public:
  using Web::Web;
  std::string name() const override { return "webhook " + host(); }
  core::Result<void> send(const Notice& notice) const override {
    return post(json_of(notice), {"Content-Type: application/json", "User-Agent: aplomb"});
  }
};

class Ntfy final : public Web {
 public:
  using Web::Web;
  std::string name() const override { return "ntfy " + host(); }
  core::Result<void> send(const Notice& notice) const override {
    const char* priority =
        notice.what == Notice::What::end && notice.standing == "healthy" ? "default" : "high";
    return post(notice.words(), {"Title: " + notice.title(), std::string("Priority: ") + priority,
                                 "Content-Type: text/plain; charset=utf-8", "User-Agent: aplomb"});
  }
};

}  // namespace

std::string_view name(Notice::What what) {
  static constexpr std::pair<Notice::What, std::string_view> k_names[] = {
      {Notice::What::verdict, "verdict"}, {Notice::What::hang, "hang"}, {Notice::What::end, "end"}};
  return core::second_of(k_names, what).value_or("end");
}

std::string Notice::key() const {
  std::string all = run + '\x1f' + std::string(name(what));
  if (what == What::verdict) all += '\x1f' + standing + '\x1f' + cause;
  if (what == What::hang) all += '\x1f' + (step ? std::to_string(*step) : std::string());
  return all;
}

std::string Notice::title() const {
  if (what == What::hang) return run + " stands still";
  if (what == What::end) return run + " has ended: " + standing;
  return run + " is " + standing;
}

std::string Notice::words() const {
  std::string all = text;
  if (!fix.empty()) all += "\nDo first: " + fix;
  if (!place.empty()) all += "\n" + place;
  return all;
}

std::string json_of(const Notice& notice) {
  const auto or_null = [](const std::string& word) {
    return word.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(word);
  };
  nlohmann::ordered_json value = {{"schema", "aplomb.alert/1"},
                                  {"what", name(notice.what)},
                                  {"run", notice.run},
                                  {"standing", notice.standing},
                                  {"cause", or_null(notice.cause)},
                                  {"step", notice.step ? nlohmann::ordered_json(*notice.step)
                                                       : nlohmann::ordered_json(nullptr)},
                                  {"title", notice.title()},
                                  {"text", notice.title() + ". " + notice.text},
                                  {"fix", or_null(notice.fix)},
                                  {"place", or_null(notice.place)}};
  return core::ascii_json_text(value);
}

core::Result<std::unique_ptr<Sink>> make_sink(const std::string& words, bool may_be_private) {
  if (words == "desktop") return std::make_unique<Desktop>();
  const std::size_t colon = words.find(':');
  const std::string kind = words.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : words.substr(colon + 1);
  if (kind == "command" && !rest.empty()) return std::make_unique<Command>(rest);
  if (kind != "webhook" && kind != "ntfy") {
    return core::fail(
        core::ErrorCode::bad_usage,
        fmt::format("[alert] {}: say command:WORDS, webhook:URL, ntfy:URL or desktop", words));
  }
  core::Result<Url> url = parse_url(rest);
  if (!url) return tl::unexpected(url.error());
  if (kind == "ntfy") return std::make_unique<Ntfy>(*std::move(url), may_be_private);
  return std::make_unique<Webhook>(*std::move(url), may_be_private);
}

}  // namespace aplomb::alarm
