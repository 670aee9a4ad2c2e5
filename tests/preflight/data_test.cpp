#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "core/folder.h"
#include "preflight/data_check.h"
#include "preflight/data_stream.h"
#include "preflight/data_tally.h"

namespace aplomb::preflight {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Row read(std::string_view text, const DataLimits& limits = {}) {
  JsonRowReader reader(limits);
  return reader.read(text, 0);
}

struct RowCase {
  const char* text;
  RowForm form;
  std::uint32_t faults;
};

TEST(DataRow, KnowsFormsAndFaults) {
  const DataLimits limits{100, 0, 3};
  const std::vector<RowCase> cases = {
      {R"({"text": "a story"})", RowForm::text, 0},
      {R"({"text": " \n"})", RowForm::text, k_row_empty},
      {R"({"text": ""})", RowForm::text, k_row_empty},
      {R"({"instruction": "add", "input": "", "output": "4"})", RowForm::pair, 0},
      {R"({"instruction": "add", "input": "", "output": " "})", RowForm::pair, k_row_empty},
      {R"({"prompt": "q", "answer": 42})", RowForm::pair, 0},
      {R"({"prompt": "q"})", RowForm::pair, 0},
      {R"({"prompt": "q", "chosen": "a", "rejected": "b"})", RowForm::preference, 0},
      {R"({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]})",
       RowForm::chat, 0},
      {R"({"conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "yo"}]})",
       RowForm::chat, 0},
      {R"({"messages": [{"role": "user", "content": "hi"}]})", RowForm::chat, k_row_masked},
      {R"({"messages": [{"content": "hi"}]})", RowForm::chat, k_row_chat},
      {R"({"messages": [{"role": "assistant", "content": null}]})", RowForm::chat, k_row_chat},
      {R"({"messages": [{"role": "assistant", "content": "x"}, {"role": "assistant", "content": null, "tool_calls": []}]})",
       RowForm::chat, 0},
      {R"({"messages": []})", RowForm::chat, k_row_empty},
      {R"({"input_ids": [1, 2, 3], "labels": [-100, 2, 3], "attention_mask": [1, 1, 1]})",
       RowForm::tokens, 0},
      {R"({"input_ids": [1, 2], "labels": [-100, -100]})", RowForm::tokens, k_row_masked},
      {R"({"input_ids": [1, 100], "labels": [1, 2]})", RowForm::tokens, k_row_out_of_range},
      {R"({"input_ids": [1, 2], "labels": [1, -1]})", RowForm::tokens, k_row_out_of_range},
      {R"({"input_ids": [1, 2], "labels": [1]})", RowForm::tokens, k_row_lengths_differ},
      {R"({"input_ids": []})", RowForm::tokens, k_row_empty},
      {R"({"text": "good", "label": 3})", RowForm::text, k_row_out_of_range},
      {R"({"text": "NaN is a word", "label": 1})", RowForm::text, 0},
      {R"({"text": "x", "score": NaN})", RowForm::text, k_row_nonfinite},
      {R"({"loss": 2.5, "step": 10})", RowForm::unknown, k_row_foreign},
      {R"({"text": "x")", RowForm::text, k_row_unreadable},
      {R"(not json)", RowForm::unknown, k_row_unreadable}};
  for (const RowCase& each : cases) {
    const Row row = read(each.text, limits);
    EXPECT_EQ(row.faults, each.faults) << each.text;
    if ((each.faults & (k_row_unreadable | k_row_nonfinite)) != 0) continue;
    EXPECT_EQ(row.form, each.form) << each.text;
  }
}

TEST(DataRow, EqualContentHasOneHashWhateverTheId) {
  EXPECT_EQ(read(R"({"id": 1, "prompt": "a", "output": "b"})").hash,
            read(R"({"id": 2, "prompt": "a", "output": "b"})").hash);
  EXPECT_NE(read(R"({"prompt": "a", "output": "b"})").hash,
            read(R"({"prompt": "b", "output": "a"})").hash);
  EXPECT_EQ(read(R"({"input_ids": [1, 2], "labels": [1, 2]})").hash,
            read(R"({"input_ids": [1, 2], "labels": [-100, 2]})").hash);
}

TEST(DataRow, ShortTextsHaveHashesOfTheirOwn) {
  std::set<std::uint64_t> seen;
  for (char c = 'a'; c <= 'z'; ++c) EXPECT_TRUE(seen.insert(hash_of(std::string(1, c))).second);
  for (std::size_t zeros = 0; zeros < 40; ++zeros)
    EXPECT_TRUE(seen.insert(hash_of(std::string(zeros, '\0'))).second) << zeros;
}

TEST(DataRow, CountsWhatTrains) {
  const Row row = read(R"({"prompt": "12345", "completion": "678"})");
  EXPECT_EQ(row.length, 8U);
  EXPECT_EQ(row.trained, 3U);
  EXPECT_EQ(read(R"({"input_ids": [1, 2, 3], "labels": [-100, 2, 3]})").trained, 2U);
}

std::vector<std::uint64_t> lines_with(std::string_view text, DataSyntax syntax, std::size_t part,
                                      std::uint32_t faults) {
  std::vector<std::uint64_t> lines;
  const auto bytes = input::bytes_of(text, part);
  const auto done = read_rows(*bytes, syntax, {}, ~std::uint64_t{0},
                              [&](const Row& row, std::uint64_t line, const RowQuote&) {
                                if ((row.faults & faults) != 0) lines.push_back(line);
                              });
  EXPECT_TRUE(done.has_value());
  return lines;
}

TEST(DataStream, GivesTheSameRowsWhateverThePartsAre) {
  const std::string text =
      "{\"text\": \"a\"}\r\n\n{\"text\": \"\"}\n{\"text\": \"b\"}\nbroken\n{\"text\": \"\"}";
  for (const std::size_t part : {1U, 2U, 7U, 64U, 4096U}) {
    EXPECT_THAT(lines_with(text, DataSyntax::json_lines, part, k_row_empty), ElementsAre(3, 6));
    EXPECT_THAT(lines_with(text, DataSyntax::json_lines, part, k_row_unreadable), ElementsAre(5));
  }
}

TEST(DataStream, NamesTheLinesOfAnArray) {
  const std::string text =
      "[\n  {\"prompt\": \"a\", \"output\": \"b\"},\n\n  {\"prompt\": \"a\",\n"
      "   \"output\": \"\"}\n]\n";
  EXPECT_THAT(lines_with(text, DataSyntax::json_array, 5, k_row_empty), ElementsAre(4));
}

TEST(DataStream, ReadsQuotedFieldsOfCsvOverSeveralLines) {
  const std::string text = "text,label\n\"one, \"\"two\"\"\nthree\",1\n\"\",0\nplain,nan\nshort\n";
  EXPECT_THAT(lines_with(text, DataSyntax::csv, 3, k_row_empty), ElementsAre(4));
  EXPECT_THAT(lines_with(text, DataSyntax::csv, 3, k_row_nonfinite), ElementsAre(5));
  EXPECT_THAT(lines_with(text, DataSyntax::csv, 3, k_row_unreadable), ElementsAre(6));
}

TEST(SeenRows, FindsWhatWasAddedAndNothingElse) {
  SeenRows seen;
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> hashes(100000);
  for (auto& each : hashes) each = random();
  for (const std::uint64_t each : hashes) EXPECT_EQ(seen.add(each), SeenRows::Answer::fresh);
  for (const std::uint64_t each : hashes) EXPECT_EQ(seen.add(each), SeenRows::Answer::seen);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(seen.holds(random()));
  EXPECT_EQ(seen.add(0), SeenRows::Answer::fresh);
  EXPECT_TRUE(seen.holds(0));
}

TEST(LengthCounts, GivesQuantilesToAQuarterOfAnOctave) {
  LengthCounts counts;
  for (std::uint64_t i = 1; i <= 10000; ++i) counts.add(i);
  for (const double share : {0.05, 0.5, 0.95}) {
    const auto exact = 10000 * share;
    const auto told = static_cast<double>(counts.quantile(share));
    EXPECT_GE(told, exact * 0.99);
    EXPECT_LE(told, exact * 1.26);
  }
  EXPECT_EQ(counts.octave(3), 8U);  // 8 to 15
}

DataOptions limited(const DataLimits& limits) {
  DataOptions options;
  options.limits = limits;
  return options;
}

class DataCheckTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    return folder_.write(name, text);
  }
  static const ReportFinding* find(const DataCheck& data, const std::string& id) {
    const auto found = std::find_if(data.findings.begin(), data.findings.end(),
                                    [&](const ReportFinding& each) { return each.id == id; });
    return found == data.findings.end() ? nullptr : &*found;
  }
  static std::string row(int i) {
    return "{\"prompt\": \"question " + std::to_string(i) + "\", \"completion\": \"answer " +
           std::to_string(i) + "\"}\n";
  }
  test::Folder folder_;
};

TEST_F(DataCheckTest, SaysNothingButNotesOfCleanData) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += row(i);
  const DataCheck data = check_data({write("train.jsonl", text)}, {});
  for (const ReportFinding& each : data.findings) EXPECT_EQ(each.severity, "note") << each.title;
  const ReportFinding* said = find(data, "data.said");
  ASSERT_NE(said, nullptr);
  EXPECT_THAT(said->title, HasSubstr("200 rows"));
  EXPECT_EQ(data.inputs[0].steps, 200U);
}

TEST_F(DataCheckTest, NamesTheLinesOfEachFault) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += row(i);
  text += "{\"prompt\": \"q\", \"completion\": \"\"}\n";                         // line 51
  text += row(3);                                                                // 52
  text += "{\"prompt\": \"q\", \"completion\": \n";                              // 53
  text += "{\"prompt\": \"q\", \"completion\": \"a\", \"score\": -Infinity}\n";  // 54
  const DataCheck data = check_data({write("train.jsonl", text)}, {});
  const auto line_of = [&](const char* id) {
    const ReportFinding* finding = find(data, id);
    return finding == nullptr ? 0 : finding->evidence[0].line;
  };
  EXPECT_EQ(line_of("data.empty"), 51U);
  EXPECT_EQ(line_of("data.duplicates"), 52U);
  EXPECT_EQ(line_of("data.unreadable"), 53U);
  EXPECT_EQ(line_of("data.nonfinite"), 54U);
}

TEST_F(DataCheckTest, FindsHeldOutRowsThatAreTrainedOn) {
  std::string train;
  for (int i = 0; i < 50; ++i) train += row(i);
  const std::string held_out = write("eval.jsonl", row(99) + row(7) + row(100));
  const DataCheck data = check_data({held_out, write("train.jsonl", train)}, {});
  const ReportFinding* overlap = find(data, "data.overlap");
  ASSERT_NE(overlap, nullptr);
  EXPECT_EQ(overlap->evidence[0].line, 2U);
  EXPECT_EQ(overlap->evidence[0].path, held_out);
}

TEST_F(DataCheckTest, HoldsTokensAgainstTheModelAndTheLongestLength) {
  std::string text;
  for (int i = 0; i < 20; ++i)
    text +=
        "{\"input_ids\": [1, 2, 3, " + std::to_string(i + 4) + "], \"labels\": [-100, 2, 3, 4]}\n";
  const std::string path = write("train.jsonl", text);
  EXPECT_NE(find(check_data({path}, limited({10, 0, 0})), "data.out-of-range"), nullptr);
  EXPECT_NE(find(check_data({path}, limited({0, 3, 0})), "data.too-long"), nullptr);
  const DataCheck fine = check_data({path}, limited({100, 8, 0}));
  EXPECT_EQ(find(fine, "data.out-of-range"), nullptr);
  EXPECT_EQ(find(fine, "data.too-long"), nullptr);
}

TEST_F(DataCheckTest, TellsDataFromConfigurationsAndMetrics) {
  EXPECT_TRUE(is_data(write("a.jsonl", row(1))));
  EXPECT_TRUE(is_data(write("b.json", "[\n" + row(1) + "]")));
  EXPECT_TRUE(is_data(write("c.csv", "text,label\nhello,1\n")));
  EXPECT_FALSE(is_data(write("metrics.jsonl", "{\"step\": 1, \"loss\": 2.5}\n")));
  EXPECT_FALSE(is_data(write("log.csv", "step,loss\n1,2.5\n")));
  EXPECT_FALSE(is_data(write("config.json", "{\"learning_rate\": 1e-4}")));
  EXPECT_FALSE(is_data(write("train.yaml", "learning_rate: 1e-4\n")));
  EXPECT_FALSE(is_data(folder_ / "missing.jsonl"));
}

/// Bytes that nobody meant: no row may crash or hang the reader.
TEST(DataStream, SurvivesAnyBytes) {
  std::mt19937 random(11);
  const std::string alphabet = "{}[]\",:\\ntru0123456789-eE.NaIi \n\xFF";
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (auto i = random() % 80; i > 0; --i) text += alphabet[random() % alphabet.size()];
    for (const DataSyntax syntax :
         {DataSyntax::json_lines, DataSyntax::json_array, DataSyntax::csv}) {
      const auto bytes = input::bytes_of(text, 1 + random() % 16);
      (void)read_rows(*bytes, syntax, {100, 10, 3}, 1000,
                      [](const Row&, std::uint64_t, const RowQuote&) {});
    }
  }
}

}  // namespace
}  // namespace aplomb::preflight
