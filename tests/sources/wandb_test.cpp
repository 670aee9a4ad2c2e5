#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "knowledge/setting.h"
#include "made_files.h"
#include "reader_support.h"

namespace aplomb::sources {
namespace {

using test::read_with;
using test::WandbWriter;

WandbWriter small_run(int records, std::size_t padding = 0) {
  WandbWriter writer;
  writer.items(
      5,
      {{"learning_rate", "0.0002"}, {"max_steps", "500"}, {"_wandb", R"({"t": {"1": [1, 5]}})"}});
  for (int i = 0; i < records; ++i) {
    const std::string loss = i == 3 ? "\"NaN\"" : i == 4 ? "NaN" : std::to_string(3.0 - 0.01 * i);
    writer.items(2, {{"train/loss", loss},
                     {"train/global_step", std::to_string(10 * (i + 1))},
                     {"gradients/x", R"({"_type": "histogram", "values": [1, 2]})"},
                     {"note", '"' + std::string(padding, 'x') + '"'},
                     {"_timestamp", "1718968142.5"},
                     {"_step", std::to_string(i)}});
  }
  return writer;
}

TEST(Wandb, GivesTheHistoryByTheTrainersOwnStep) {
  const aplomb::record::Run run = read_with("wandb", small_run(6).bytes());
  EXPECT_TRUE(run.defects.empty());
  const record::Series* loss = run.primary(record::Role::loss);
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->step, (std::vector<std::int64_t>{10, 20, 30, 40, 50, 60}));
  EXPECT_TRUE(std::isnan(loss->value[3]));
  EXPECT_TRUE(std::isnan(loss->value[4]));
  EXPECT_EQ(run.series.size(), 1U);  // no time stamps, no histograms
}

TEST(Wandb, PutsRecordsOfSeveralBlocksTogether) {
  const WandbWriter writer = small_run(40, 9000);
  ASSERT_GT(writer.bytes().size(), 10 * 32768U);
  const aplomb::record::Run run = read_with("wandb", writer.bytes());
  EXPECT_TRUE(run.defects.empty());
  ASSERT_NE(run.primary(record::Role::loss), nullptr);
  EXPECT_EQ(run.primary(record::Role::loss)->count, 40U);
  for (const std::size_t part : {5UL, 1000UL, 32768UL}) {
    test::expect_same_series(run, read_with("wandb", writer.bytes(), part));
  }
}

TEST(Wandb, TakesItsConfigForSettings) {
  const aplomb::record::Run run = read_with("wandb", small_run(1).bytes());
  if (knowledge::read_setting("", "learning_rate", "0.0002").empty()) {
    GTEST_SKIP() << "no table of knowledge/frameworks holds learning_rate";
  }
  ASSERT_NE(run.setting("optim.lr"), nullptr);
  EXPECT_EQ(*core::as_number(run.setting("optim.lr")->value), 0.0002);
}

TEST(Wandb, LooksForErrorsInTheConsoleOutput) {
  WandbWriter writer = small_run(2);
  writer.output("some line\ntorch.cuda.OutOfMemoryError: CUDA out of mem");
  writer.output("ory. Tried to allocate 2.00 GiB\n");
  const aplomb::record::Run run = read_with("wandb", writer.bytes());
  ASSERT_FALSE(run.events.empty());
  EXPECT_NE(run.events[0].text.find("CUDA out of memory"), std::string::npos);
}

TEST(Wandb, AFieldOfAnotherTypeThanItsOwnIsLeftOut) {
  WandbWriter writer = small_run(2);
  std::string item;
  protozero::pbf_writer of_item(item);
  of_item.add_uint64(1, 7);   // the key, a string
  of_item.add_double(16, 2);  // its value, a string as well
  std::string history;
  protozero::pbf_writer(history).add_message(1, item);
  std::string record;
  protozero::pbf_writer(record).add_message(2, history);
  writer.record(record);
  const aplomb::record::Run run = read_with("wandb", writer.bytes());
  ASSERT_NE(run.primary(record::Role::loss), nullptr);
  EXPECT_EQ(run.primary(record::Role::loss)->count, 2U);
}

TEST(Wandb, TakesATornTailForNormal) {
  const std::string file = small_run(4).bytes();
  for (std::size_t size = 8; size < file.size(); size += 3) {
    const aplomb::record::Run run = read_with("wandb", std::string_view(file).substr(0, size));
    for (const record::Defect& defect : run.defects) EXPECT_EQ(defect.kind, "truncated") << size;
  }
}

TEST(Wandb, GoesOnAtTheNextBlockAfterDamage) {
  std::string file = small_run(40, 9000).bytes();
  file[40000] = static_cast<char>(file[40000] ^ 1);
  const aplomb::record::Run run = read_with("wandb", file);
  ASSERT_EQ(run.defects.size(), 1U);
  EXPECT_EQ(run.defects[0].kind, "bad-crc");
  ASSERT_NE(run.primary(record::Role::loss), nullptr);
  EXPECT_GE(run.primary(record::Role::loss)->count, 33U);
  EXPECT_LT(run.primary(record::Role::loss)->count, 40U);
}

TEST(Wandb, SniffsItsOwnOnly) {
  EXPECT_EQ(test::chosen_reader("run-x.wandb", small_run(1).bytes()), "wandb");
  EXPECT_NE(test::chosen_reader("run-x.wandb", "W&B is a tool"), "wandb");
}

}  // namespace
}  // namespace aplomb::sources
