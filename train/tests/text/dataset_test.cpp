#include "train/text/dataset.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "train/tests/text/small_model.h"

namespace aplomb::train::text {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::SizeIs;

class DatasetTest : public SmallModelTest {
 protected:
  core::Result<Dataset> open(const std::string& content, DatasetOptions options = {}) {
    return Dataset::open({write("data.jsonl", content)}, codec(), options);
  }
  /// The sample with what counts in brackets.
  std::string shown(const Dataset& data, std::uint64_t number) {
    const SampleView sample = data.sample(number);
    std::string text;
    bool inside = false;
    for (std::size_t i = 0; i < sample.size(); ++i) {
      if (sample.counts(i) != inside) text += inside ? "]" : "[";
      inside = sample.counts(i);
      text += codec().tokenizer.decode(std::vector<std::int32_t>{sample.id(i)});
    }
    return inside ? text + "]" : text;
  }
};

TEST_F(DatasetTest, CompletionsCountAndPromptsDoNot) {
  const auto data = open(R"({"prompt": "1+1=", "completion": "2"})");
  ASSERT_TRUE(data) << data.error().text;
  EXPECT_EQ(shown(*data, 0), "<s>1+1=[2</s>]");
  EXPECT_EQ(data->counted_tokens(), 2);
  EXPECT_EQ(data->format(), DataFormat::prompt_completion);
}

TEST_F(DatasetTest, WithTrainOnPromptAllButTheFirstTokenCounts) {
  const auto data = open(R"({"prompt": "ab", "completion": "c"})", {.train_on_prompt = true});
  ASSERT_TRUE(data);
  EXPECT_EQ(shown(*data, 0), "<s>[abc</s>]");
}

TEST_F(DatasetTest, AlpacaRowsGetTheirPrompt) {
  const auto data = open(
      "[{\"instruction\": \"Add\", \"input\": \"\", \"output\": \"2\", \"answer\": \"x\"},\n"
      " {\"instruction\": \"Add\", \"input\": \"1+1\", \"output\": \"2\"}]");
  ASSERT_TRUE(data) << data.error().text;
  ASSERT_EQ(data->size(), 2);
  EXPECT_THAT(shown(*data, 0),
              testing::EndsWith("### Instruction:\nAdd\n\n### Response:\n[2</s>]"));
  EXPECT_THAT(shown(*data, 1), HasSubstr("### Input:\n1+1\n\n### Response:\n[2</s>]"));
  EXPECT_THAT(data->where(1), HasSubstr("data.jsonl:2 (row 1)"));
}

TEST_F(DatasetTest, OfAChatTheAssistantCounts) {
  const auto data = open(
      R"({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]})"
      "\n"
      R"({"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]})");
  ASSERT_TRUE(data) << data.error().text;
  EXPECT_EQ(shown(*data, 0), "<|u|>hi<|e|><|a|>[yo<|e|>]");
  EXPECT_EQ(shown(*data, 1), "<|u|>a<|e|><|a|>[b<|e|>]");
}

TEST_F(DatasetTest, OfAPromptThatIsAConversationOnlyTheCompletionCounts) {
  const auto data = open(
      R"({"prompt": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
                     {"role": "user", "content": "c"}],)"
      R"( "completion": [{"role": "assistant", "content": "d"}]})"
      "\n");
  EXPECT_FALSE(data);  // a row of JSON Lines is one line
  const auto one = open(
      R"([{"prompt": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
                      {"role": "user", "content": "c"}],
          "completion": [{"role": "assistant", "content": "d"}]}])");
  ASSERT_TRUE(one) << one.error().text;
  EXPECT_EQ(shown(*one, 0), "<|u|>a<|e|><|a|>b<|e|><|u|>c<|e|><|a|>[d<|e|>]");
}

TEST_F(DatasetTest, AChatWithoutATemplateOrAnAnswerIsADefect) {
  const std::string asked = R"({"messages": [{"role": "user", "content": "hi"}]})";
  EXPECT_THAT(open(asked).error().text, HasSubstr("the assistant says nothing"));
  std::filesystem::remove(folder_ / "chat_template.jinja");
  codec_.reset();
  const auto data = open(asked);
  ASSERT_FALSE(data);
  EXPECT_THAT(data.error().text, HasSubstr("no chat template"));
}

TEST_F(DatasetTest, PlainTextCountsWhole) {
  const auto data = open("{\"text\": \"abc\"}\n\n{\"text\": \"de\"}\n");
  ASSERT_TRUE(data) << data.error().text;
  EXPECT_EQ(shown(*data, 1), "<s>[de</s>]");
  EXPECT_THAT(data->where(1), HasSubstr(":3 (row 1)"));
}

TEST_F(DatasetTest, ATornLineIsNamedAndLeftOut) {
  std::string content;
  for (int i = 0; i < 40; ++i) content += "{\"text\": \"line number\"}\n";
  content += "{\"text\": \"torn";
  const auto data = open(content);
  ASSERT_TRUE(data) << data.error().text;
  EXPECT_EQ(data->size(), 40);
  ASSERT_THAT(data->defects(), SizeIs(1));
  EXPECT_EQ(data->defects()[0].fault, SampleFault::unreadable);
  EXPECT_EQ(data->defects()[0].line, 41);
  EXPECT_THAT(data->defects()[0].text, HasSubstr("data.jsonl:41 (sample 40): is not JSON"));
}

TEST_F(DatasetTest, MoreBrokenRowsThanAllowedAreAnError) {
  const auto data = open("{\"text\": \"ab\"}\n{\"text\": \"\"}\n{\"text\": 3}\n{broken}\n");
  ASSERT_FALSE(data);
  EXPECT_THAT(data.error().text, HasSubstr("3 of 4 rows"));
  EXPECT_THAT(data.error().text, HasSubstr("data.jsonl:2 (sample 1)"));
  EXPECT_TRUE(open("{\"text\": \"ab\"}\n{\"text\": \"\"}\n", {.most_defects = 0.5}));
}

TEST_F(DatasetTest, UnknownFieldsAreNamedWithWhatIsKnown) {
  const auto data = open(R"({"question": "a", "answer": "b"})");
  ASSERT_FALSE(data);
  EXPECT_THAT(data.error().text, HasSubstr("`question`, `answer`"));
  EXPECT_THAT(data.error().text, HasSubstr("prompt + completion"));
}

TEST_F(DatasetTest, LongSamplesAreCutOrDroppedAndAPromptThatFillsAllIsADefect) {
  const std::string rows =
      "{\"prompt\": \"a\", \"completion\": \"0123456789\"}\n"
      "{\"prompt\": \"0123456789\", \"completion\": \"a\"}\n"
      "{\"prompt\": \"a\", \"completion\": \"b\"}\n";
  const auto cut = open(rows, {.max_length = 6, .most_defects = 0.5});
  ASSERT_TRUE(cut) << cut.error().text;
  EXPECT_EQ(cut->size(), 2);
  EXPECT_EQ(cut->longest(), 6);
  EXPECT_EQ(cut->truncated(), 1);
  ASSERT_THAT(cut->defects(), SizeIs(1));
  EXPECT_EQ(cut->defects()[0].fault, SampleFault::all_masked);
  const auto dropped = open(rows, {.max_length = 6, .too_long = TooLong::drop, .most_defects = 0});
  ASSERT_TRUE(dropped) << dropped.error().text;
  EXPECT_EQ(dropped->size(), 1);
  EXPECT_EQ(dropped->defects()[1].fault, SampleFault::too_long);
}

TEST_F(DatasetTest, AVocabularyThatIsNotTheModelsIsAnError) {
  const auto data = open(R"({"text": "ab"})", {.embedding_rows = 10});
  ASSERT_FALSE(data);
  EXPECT_THAT(data.error().text, HasSubstr("not of one family"));
}

TEST_F(DatasetTest, IdsBeyondTheEmbeddingAreDefects) {
  const std::string rows = "{\"text\": \"ab\"}\n{\"text\": \"a<|e|>\"}\n";
  const auto data = open(rows, {.embedding_rows = 261, .most_defects = 0.5});
  ASSERT_TRUE(data) << data.error().text;
  ASSERT_THAT(data->defects(), SizeIs(1));
  EXPECT_EQ(data->defects()[0].fault, SampleFault::id_out_of_range);
  EXPECT_THAT(data->defects()[0].text, HasSubstr("embedding ends at 260"));
}

TEST_F(DatasetTest, PaddingIsAnIdThatTheModelHas) {
  const std::string rows = "{\"text\": \"ab\"}\n";
  EXPECT_EQ(open(rows)->pad(), 262);
  EXPECT_EQ(open(rows, {.embedding_rows = 320})->pad(), 262);
  EXPECT_EQ(open(rows, {.embedding_rows = 262})->pad(), 261);
}

TEST_F(DatasetTest, FilesThatAreNoJsonAreNamedForWhatTheyAre) {
  const auto error = [&](const std::string& content) {
    const auto data = open(content);
    return data ? std::string("opened") : data.error().text;
  };
  EXPECT_THAT(error(""), HasSubstr("is empty"));
  EXPECT_THAT(error("PAR1xxxx"), HasSubstr("Parquet"));
  EXPECT_THAT(error("\x1F\x8B..."), HasSubstr("gzip"));
  EXPECT_THAT(error("instruction,output\na,b\n"), HasSubstr("neither JSON nor JSON Lines"));
  EXPECT_THAT(error("[{\"text\": \"a\"}, {\"text\": \"b\""), HasSubstr("does not end"));
  EXPECT_THAT(error("{\"version\": 1}"), HasSubstr("has the fields `version`"));
  const auto absent = Dataset::open({"/nowhere/train.jsonl"}, codec(), {});
  ASSERT_FALSE(absent);
  EXPECT_THAT(absent.error().text, HasSubstr("/nowhere/train.jsonl"));
}

TEST_F(DatasetTest, ListsInsideAnObjectAreRows) {
  const auto data = open(
      "{\"version\": \"1]\",\n \"data\": [\n  {\"text\": \"a[\"},\n  {\"text\": \"b\\\"]\"}\n ]}");
  ASSERT_TRUE(data) << data.error().text;
  EXPECT_EQ(data->size(), 2);
  EXPECT_EQ(shown(*data, 1), "<s>[b\"]</s>]");
  EXPECT_THAT(data->where(1), HasSubstr(":4 (row 1)"));
}

TEST_F(DatasetTest, AnyNumberOfThreadsGivesTheSameData) {
  std::string content;
  for (int i = 0; i < 2000; ++i) content += fmt::format("{{\"text\": \"sample {} of many\"}}\n", i);
  const auto one = open(content, {.threads = 1});
  const auto many = open(content, {.threads = 7});
  ASSERT_TRUE(one);
  ASSERT_TRUE(many);
  EXPECT_EQ(one->fingerprint(), many->fingerprint());
  EXPECT_EQ(shown(*many, 1999), "<s>[sample 1999 of many</s>]");
  const auto other = open(content + "{\"text\": \"x\"}\n");
  EXPECT_NE(one->fingerprint(), other->fingerprint());
}

TEST_F(DatasetTest, SplitsAreSeededAndDisjoint) {
  std::string content;
  for (int i = 0; i < 100; ++i) content += "{\"text\": \"some text\"}\n";
  const auto data = open(content);
  ASSERT_TRUE(data);
  const auto split = data->split({.share = 0.2, .seed = 1});
  ASSERT_TRUE(split);
  EXPECT_THAT(split->train, SizeIs(80));
  EXPECT_THAT(split->validation, SizeIs(20));
  std::vector<std::uint64_t> all = split->train;
  all.insert(all.end(), split->validation.begin(), split->validation.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::unique(all.begin(), all.end()) - all.begin(), 100);
  EXPECT_EQ(data->split({.share = 0.2, .seed = 1})->validation, split->validation);
  EXPECT_NE(data->split({.share = 0.2, .seed = 2})->validation, split->validation);
  EXPECT_THAT(data->split({})->validation, SizeIs(0));
  EXPECT_FALSE(data->split({.samples = 100}));
  EXPECT_FALSE(data->split({.share = 1.0}));
}

}  // namespace
}  // namespace aplomb::train::text
