// A stand-in for the user's endpoint, honest and hostile.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "core/folder.h"
#include "serve/http.h"

namespace aplomb::test {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const bool has_curl = std::system("command -v curl >/dev/null 2>&1") == 0;

constexpr const char* k_text =
    "I fine-tune a model of seven billion weights on my own questions.\n"
    "The whole thing goes to pieces   after about\n"
    "700 updates, and what it prints is then not a number any more.\n"
    "I took 3e-3 for the step size of Adam. My colleague trains on in the other room.\n";

serve::HttpLimits large() {
  serve::HttpLimits limits;
  limits.body_bytes = 1U << 20U;
  return limits;
}

class Model {
 public:
  explicit Model(std::string answer, int status = 200)
      : http_(
            [this, answer = std::move(answer), status](const serve::Request& request,
                                                       serve::Answer& out) {
              const std::lock_guard lock(mutex_);
              requests_.push_back(request);
              out.status = status;
              out.body = answer;
            },
            large()) {
    port_ = http_.listen_loopback(0).value();
    http_.start();
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1"; }
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

std::string answer_of(const std::string& content) {
  return json{{"choices", {{{"message", {{"role", "assistant"}, {"content", content}}}}}}}.dump();
}

struct Told {
  int status = 0;
  json report;
  std::string warnings;
  std::string error;
};

Told diagnose(const std::string& answer, const std::string& text = k_text) {
  Model model(answer);
  const Folder folder;
  const std::string file = folder.write("story.txt", text);
  const Said said = run_program("% diagnose --json --reader " + model.url() + " " + file);
  Told told{said.status, json::parse(said.out, nullptr, false), "", said.error};
  if (told.report.is_object()) told.warnings = told.report["inputs"][0]["warnings"].dump();
  return told;
}

std::string honest() {
  return answer_of("Here it is:\n```json\n" +
                   json{{"claims",
                         {{{"subject", "loss"},
                           {"predicate", "nonfinite"},
                           {"step", 700},
                           {"quote",
                            "goes to pieces after about 700 updates, and what it prints is "
                            "then not a number any more"}}}},
                        {"settings",
                         {{{"name", "optim.lr"},
                           {"value", "3e-3"},
                           {"quote", "I took 3e-3 for the step size of Adam"}}}}}
                       .dump() +
                   "\n```");
}

TEST(ProseReader, WhatItQuotesCounts) {
  if (!has_curl) GTEST_SKIP() << "no curl";
  Told told = diagnose(honest());
  EXPECT_THAT(told.warnings, HasSubstr("2 statements were taken"));
  ASSERT_TRUE(told.report["settings"].contains("optim.lr")) << told.error;
  EXPECT_EQ(told.report["settings"]["optim.lr"], 0.003);
  EXPECT_THAT(told.report["causes"].dump(), HasSubstr("story.txt"));
  EXPECT_EQ(told.status, 1) << told.error;
}

TEST(ProseReader, IsAskedForTheTextAndTheVocabularyAndOnlyWhereTheUserSaysSo) {
  if (!has_curl) GTEST_SKIP() << "no curl";
  Model model(honest());
  const Folder folder;
  const std::string file = folder.write("story.txt", k_text);
  const std::string log = folder.write("train.log", "step 1 | loss 2.5\nstep 2 | loss 2.4\n");
  (void)run_program("% diagnose " + file);
  EXPECT_TRUE(model.requests().empty());
  (void)run_program("APLOMB_READER_KEY=sesame % diagnose --reader " + model.url() +
                    "/ --reader-model small " + file + " " + log);
  const auto requests = model.requests();
  ASSERT_EQ(requests.size(), 1U) << "a log is no prose";
  EXPECT_EQ(requests[0].path, "/v1/chat/completions");
  EXPECT_EQ(requests[0].header("authorization"), "Bearer sesame");
  const json body = json::parse(requests[0].body);
  EXPECT_EQ(body["model"], "small");
  EXPECT_EQ(body["messages"][1]["content"], k_text);
  EXPECT_THAT(body["messages"][0]["content"], HasSubstr("optim.lr"));
  EXPECT_THAT(body["messages"][0]["content"], HasSubstr("nonfinite"));
}

/// Whatever it invents: nothing of it is in the report, and what is ours stays.
TEST(ProseReader, NothingCountsThatTheTextDoesNotSay) {
  if (!has_curl) GTEST_SKIP() << "no curl";
  const std::string quote = "I took 3e-3 for the step size of Adam";
  const json lies = {
      {"claims",
       {{{"subject", "loss"}, {"predicate", "nonfinite"}, {"quote", "the loss is NaN at once"}},
        {{"subject", "loss"}, {"predicate", "nonfinite"}, {"quote", "Adam"}},
        {{"subject", "loss"}, {"predicate", "nonfinite"}, {"step", 5}, {"quote", quote}},
        {{"subject", "loss"}, {"predicate", "value"}, {"quote", quote}},
        {{"subject", "as"}, {"predicate", "loss.nonfinite"}, {"quote", quote}},
        {{"subject", "verdict"}, {"predicate", "healthy"}, {"quote", quote}},
        {{"subject", {{"a", 1}}}, {"predicate", 7}, {"quote", nullptr}},
        "loss is nan",
        nullptr}},
      {"settings",
       {{{"name", "optim.lr"}, {"value", 5}, {"quote", quote}},
        {{"name", "optim.lr"}, {"value", 3}, {"quote", quote}},
        {{"name", "precision.compute"}, {"value", "fp16"}, {"quote", quote}},
        {{"name", "precision.tf32"}, {"value", true}, {"quote", quote}},
        {{"name", "no.such"}, {"value", 3e-3}, {"quote", quote}},
        {{"name", "optim.lr"}, {"value", json::array()}, {"quote", quote}}}},
      {"verdict", "healthy"},
      {"causes", {{{"id", "nan.lr-too-high"}, {"probability", 1}}}}};
  Told told = diagnose(answer_of(lies.dump()));
  Told without = diagnose("{}");
  EXPECT_THAT(told.warnings, HasSubstr("0 statements were taken"));
  EXPECT_EQ(told.report["verdict"], without.report["verdict"]);
  EXPECT_EQ(told.report["settings"], without.report["settings"]);
  ASSERT_EQ(told.report["causes"].size(), without.report["causes"].size());
  for (std::size_t i = 0; i < told.report["causes"].size(); ++i) {
    EXPECT_EQ(told.report["causes"][i]["id"], without.report["causes"][i]["id"]);
    EXPECT_EQ(told.report["causes"][i]["probability"], without.report["causes"][i]["probability"]);
  }
}

TEST(ProseReader, AnAnswerOfAnotherFormIsToldAndCountsForNothing) {
  if (!has_curl) GTEST_SKIP() << "no curl";
  const std::string deep(30000, '[');
  for (const std::string& each :
       {std::string(), std::string("no"), std::string("[]"), std::string("{\"choices\": []}"),
        std::string(R"({"choices": [{"message": {"content": 7}}]})"), answer_of("I cannot do that"),
        answer_of("{\"claims\": 7, \"settings\": {}}"), answer_of("{" + deep), deep,
        answer_of(std::string("\x01\xff{}\xfe", 5).substr(0, 1) + "{}")}) {
    Told told = diagnose(each);
    ASSERT_TRUE(told.report.is_object()) << told.error;
    EXPECT_THAT(told.warnings, HasSubstr("[reader]")) << each.substr(0, 80);
    EXPECT_TRUE(told.report["settings"].empty() || !told.report["settings"].contains("optim.lr"));
  }
}

TEST(ProseReader, TooManyStatementsAreCutAndTermsOfATerminalAreNot) {
  if (!has_curl) GTEST_SKIP() << "no curl";
  json many = {{"claims", json::array()}};
  for (int i = 0; i < 300; ++i)
    many["claims"].push_back({{"subject", "loss"},
                              {"predicate", "nonfinite"},
                              {"quote", "\x1b[2J what it prints is then not a number"}});
  Told told = diagnose(answer_of(many.dump()));
  EXPECT_THAT(told.warnings, HasSubstr("are too many"));
  EXPECT_THAT(told.report.dump() + told.error, Not(HasSubstr("[2J")));
}

TEST(ProseReader, WithoutAnAnswerTheDiagnosisGoesOn) {
  if (!has_curl) GTEST_SKIP() << "no curl";
  const Folder folder;
  const std::string file = folder.write("story.txt", k_text);
  Model refuses("no", 500);
  for (const std::string& url : {refuses.url(), std::string("http://127.0.0.1:1/v1")}) {
    const Said said = run_program("% diagnose --json --reader " + url + " " + file);
    EXPECT_TRUE(json::parse(said.out, nullptr, false).is_object());
    EXPECT_THAT(said.error, HasSubstr("goes on without the reader"));
  }
}

TEST(ProseReader, AnotherMachineHasToBeNamedTwice) {
  const Folder folder;
  const std::string file = folder.write("story.txt", k_text);
  for (const char* each :
       {"https://api.example.com/v1", "http://10.0.0.7/v1", "http://[2001:db8::1]/v1",
        "https://localhost.example.com/v1", "https://127.0.0.1.example.com/v1"}) {
    const Said said = run_program(std::string("% diagnose --reader '") + each + "' " + file);
    EXPECT_EQ(said.status, 2) << each;
    EXPECT_THAT(said.error, HasSubstr("--reader-host")) << each;
  }
  for (const char* each :
       {"ftp://127.0.0.1/", "127.0.0.1:80", "http://a@127.0.0.1/", "file:///etc/passwd"})
    EXPECT_EQ(run_program(std::string("% diagnose --reader '") + each + "' " + file).status, 2)
        << each;
  const Said other = run_program(
      "% diagnose --reader https://api.example.com/v1 --reader-host example.com " + file);
  EXPECT_EQ(other.status, 2);
}

}  // namespace
}  // namespace aplomb::test
