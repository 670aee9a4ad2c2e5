#include "preflight/column_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "core/folder.h"
#include "preflight/data_check.h"
#include "preflight/run_python.h"

namespace aplomb::preflight {
namespace {

using ::testing::HasSubstr;

/// A Python with pyarrow; empty where none is at hand.
std::string python_with_pyarrow() {
  std::vector<std::string> all = {"python3", APLOMB_SOURCE_DIR "/.venv/bin/python"};
  if (const char* chosen = std::getenv("APLOMB_TEST_PYTHON")) all.insert(all.begin(), chosen);
  for (const std::string& each : all) {
    const auto said =
        run_python(each, "import pyarrow.parquet; print('yes')", "", std::chrono::seconds(60));
    if (said && said->starts_with("yes")) return each;
  }
  return {};
}

/// Runs a program that writes, unlike those of run_python(), which may not.
bool write_with(const std::string& python, const test::Folder& folder, const std::string& program) {
  const std::string script = folder.write("write.py", program);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the test has one thread
  return std::system(("'" + python + "' '" + script + "' >'" + (folder / "said") + "'").c_str()) ==
         0;
}

/// Files that pyarrow writes of the rows in `table` (Python), in every format that is read.
class ColumnStreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static const std::string the_python = python_with_pyarrow();
    python_ = the_python;
    if (python_.empty()) GTEST_SKIP() << "no Python with pyarrow";
  }

  void make(const std::string& table) const {
    const std::string program = "import os, pyarrow as pa, pyarrow.parquet as pq\nos.chdir('" +
                                (folder_ / "") + "')\ntable = " + table + R"(
pq.write_table(table, "rows.parquet", row_group_size=7)
for name, new in (("stream.arrow", pa.ipc.new_stream), ("file.feather", pa.ipc.new_file)):
    with pa.OSFile(name, "wb") as sink, new(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=5)
)";
    ASSERT_TRUE(write_with(python_, folder_, program));
  }

  std::vector<Row> rows(const std::string& name, const DataLimits& limits = {}) const {
    std::vector<Row> found;
    const auto done = read_columns(
        {folder_ / name}, python_, limits, ~std::uint64_t{0},
        [&](const Row& row, std::uint64_t line, const RowQuote& quote) {
          EXPECT_EQ(line, 0U);
          EXPECT_TRUE(quote.text().starts_with("row " + std::to_string(found.size()) + ":"));
          found.push_back(row);
        });
    EXPECT_TRUE(done) << (done ? "" : done.error().text);
    return found;
  }

  test::Folder folder_;
  std::string python_;
};

constexpr const char* k_formats[] = {"rows.parquet", "stream.arrow", "file.feather"};

TEST_F(ColumnStreamTest, ReadsTokensOfAnyWidth) {
  make(R"(pa.table({
    "input_ids": pa.array([[1, 2, 3], [4, 200], [], [5, 6]] * 5, pa.list_(pa.int32())),
    "labels": pa.array([[-100, 2, 3], [4, 5], [], [-100, -100]] * 5, pa.list_(pa.int64())),
    "attention_mask": pa.array([[1, 1, 1], [1], [], [1, 1]] * 5, pa.list_(pa.int8()))}))");
  for (const char* name : k_formats) {
    const std::vector<Row> found = rows(name, {100, 0, 0});
    ASSERT_EQ(found.size(), 20U) << name;
    for (std::size_t i = 0; i < 20; i += 4) {
      EXPECT_EQ(found[i].faults, 0U) << name << i;
      EXPECT_EQ(found[i].length, 3U);
      EXPECT_EQ(found[i].trained, 2U);
      EXPECT_EQ(found[i + 1].faults, k_row_out_of_range | k_row_lengths_differ);
      EXPECT_EQ(found[i + 2].faults, std::uint32_t{k_row_empty});
      EXPECT_EQ(found[i + 3].faults, std::uint32_t{k_row_masked});
    }
  }
}

/// What JSON lines give for the same rows, hash included: a held-out Parquet file may be looked up
/// in JSON that trains.
TEST_F(ColumnStreamTest, GivesTheRowsThatJsonGives) {
  make(R"(pa.Table.from_pylist([
    {"prompt": "a", "completion": "b", "id": 1}, {"prompt": "a", "completion": " ", "id": 2},
    {"prompt": None, "completion": "c", "id": 3}]))");
  JsonRowReader json({});
  const std::vector<std::string> lines = {R"({"prompt": "a", "completion": "b"})",
                                          R"({"prompt": "a", "completion": " "})",
                                          R"({"prompt": "", "completion": "c"})"};
  for (const char* name : k_formats) {
    const std::vector<Row> found = rows(name);
    ASSERT_EQ(found.size(), lines.size()) << name;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const Row same = json.read(lines[i], 0);
      EXPECT_EQ(found[i].hash, same.hash) << name << i;
      EXPECT_EQ(found[i].faults, same.faults) << name << i;
      EXPECT_EQ(found[i].form, same.form) << name << i;
      EXPECT_EQ(found[i].length, same.length) << name << i;
    }
  }
}

TEST_F(ColumnStreamTest, ReadsChatsPlainAndWithTools) {
  const std::string turns =
      "[[{'role': 'user', 'content': 'hi'}, {'role': 'assistant', 'content': 'yo'}],"
      " [{'role': 'user', 'content': 'hi'}], []]";
  const std::string tools =
      "[[{'role': 'assistant', 'content': None, 'tool_calls': 'f()'}],"
      " [{'role': 'assistant', 'content': None, 'tool_calls': None}]]";
  make("pa.table({'messages': " + turns + "})");
  for (const char* name : k_formats) {
    const std::vector<Row> found = rows(name);
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].faults, 0U);
    EXPECT_EQ(found[0].trained, 2U);
    EXPECT_EQ(found[1].faults, std::uint32_t{k_row_masked});
    EXPECT_EQ(found[2].faults, std::uint32_t{k_row_empty});
  }
  make("pa.table({'messages': " + tools + "})");
  EXPECT_EQ(rows("rows.parquet")[0].faults, 0U);
  EXPECT_EQ(rows("rows.parquet")[1].faults, std::uint32_t{k_row_chat});
}

TEST_F(ColumnStreamTest, FindsNumbersThatAreNotFiniteInAnyColumn) {
  make(R"(pa.table({"text": ["a", "b", "c"], "label": [0, 1, 7], "score": [1.0, float("nan"), 2.0],
                    "boxes": [[1.0], [2.0], [float("inf")]]}))");
  const std::vector<Row> found = rows("rows.parquet", {0, 0, 3});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].faults, 0U);
  EXPECT_EQ(found[1].faults, std::uint32_t{k_row_nonfinite});
  EXPECT_EQ(found[2].faults, k_row_nonfinite | k_row_out_of_range);
}

TEST_F(ColumnStreamTest, JudgesASavedDatasetAsOneAndItsSplitsAgainstEachOther) {
  const std::string program = "import os, json, pyarrow as pa\nos.chdir('" + (folder_ / "") + R"(')
def write(name, ids):
    os.makedirs(os.path.dirname(name), exist_ok=True)
    table = pa.table({"input_ids": pa.array(ids, pa.list_(pa.int32()))})
    with pa.OSFile(name, "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    for each in ("state.json", "dataset_info.json"):
        open(os.path.join(os.path.dirname(name), each), "w").write("{}")
write("saved/train/data-00000-of-00002.arrow", [[i, 1] for i in range(30)])
write("saved/train/data-00001-of-00002.arrow", [[i, 2] for i in range(30)] + [[3, 1]])
write("saved/test/data-00000-of-00001.arrow", [[100, 1], [4, 2]])
)";
  ASSERT_TRUE(write_with(python_, folder_, program));
  DataOptions options;
  options.python = python_;
  const DataCheck data = check_data({folder_ / "saved/test/data-00000-of-00001.arrow",
                                     folder_ / "saved/train/data-00000-of-00002.arrow",
                                     folder_ / "saved/train/data-00001-of-00002.arrow"},
                                    options);
  ASSERT_EQ(data.inputs.size(), 2U);
  EXPECT_EQ(data.inputs[0].path, folder_ / "saved/train");
  EXPECT_EQ(data.inputs[0].steps, 61U);
  EXPECT_EQ(data.training_rows, 61U);
  std::map<std::string, std::string> quoted;
  for (const ReportFinding& each : data.findings) quoted[each.id] = each.evidence[0].text;
  EXPECT_THAT(quoted["data.duplicates"], HasSubstr("row 60: input_ids 3 1"));
  EXPECT_THAT(quoted["data.overlap"], HasSubstr("row 1: input_ids 4 2"));
}

TEST_F(ColumnStreamTest, SaysWhyAFileIsNotRead) {
  const std::string torn = folder_.write("torn.parquet", "PAR1 and then nothing");
  const auto done = read_columns({torn}, python_, {}, 10,
                                 [](const Row&, std::uint64_t, const RowQuote&) { FAIL(); });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, core::ErrorCode::bad_format);
}

/// What a program that is no decoder prints must not be taken for rows.
TEST(ColumnStream, RefusesWhatIsNoBatch) {
  const test::Folder folder;
  const std::vector<std::string> answers = {
      "", "no header\n",
      R"({"error": "no pyarrow"})"
      "\n",
      R"({"rows": 2, "columns": [{"name": "text", "kind": "picture", "sizes": [1, 2]}]})"
      "\n",
      R"({"rows": 2, "columns": [{"name": "text", "kind": "text", "sizes": [24]}]})"
      "\n",
      R"({"rows": 2, "columns": [{"name": "text", "kind": "text", "sizes": [99999999999999, 1]}]})"
      "\n",
      // Offsets 0, 0x2020202020202020, ...: beyond the two bytes of text.
      R"({"rows": 2, "columns": [{"name": "text", "kind": "text", "sizes": [24, 2]}]})"
      "\n                          ",
      R"({"rows": 1, "columns": [{"name": "input_ids", "kind": "int32", "sizes": [16, 400]}]})"
      "\nhalf"};
  for (const std::string& answer : answers) {
    const std::string said = folder.write("said", answer);
    const std::string python =
        folder.write("python", "#!/bin/sh\ncat >/dev/null\ncat '" + said + "'\n");
    std::filesystem::permissions(python, std::filesystem::perms::owner_all);
    const auto done = read_columns({"x.parquet"}, python, {}, 10,
                                   [](const Row&, std::uint64_t, const RowQuote&) { FAIL(); });
    EXPECT_FALSE(done) << answer;
  }
}

TEST(ColumnStream, SaysWhatToInstallWhereThereIsNoPyarrow) {
  const auto done = read_columns({"x.parquet"}, "/nonexistent/python3", {}, 10,
                                 [](const Row&, std::uint64_t, const RowQuote&) { FAIL(); });
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().text, HasSubstr("pip install pyarrow"));
}

}  // namespace
}  // namespace aplomb::preflight
