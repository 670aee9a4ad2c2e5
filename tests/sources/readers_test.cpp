#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "made_files.h"
#include "reader_support.h"

namespace aplomb::sources {
namespace {

/// Small files of every format, from which damaged ones are made.
std::vector<std::string> healthy_files() {
  std::vector<std::string> files;
  for (const auto& reader : readers()) files.push_back(reader->spec().example);
  files.push_back(test::version_event() + test::scalar_event(1, "train/loss", 2.5F) +
                  test::scalar_event(2, "train/loss", 2.25F));
  test::WandbWriter writer;
  writer.items(5, {{"learning_rate", "0.0002"}, {"model", R"({"layers": 2})"}});
  writer.items(2, {{"train/loss", "2.5"}, {"_step", "1"}});
  writer.output("step 1 loss 2.5\n");
  files.push_back(writer.bytes());
  files.push_back(
      "{\"step\": 1, \"loss\": NaN, \"x\": {\"y\": [1, 2]}}\n{\"step\": 2, \"loss\": \"1.5\"}\n");
  files.push_back(
      "{\"lm loss\": {\"start_step\": 1, \"step_interval\": 1, \"values\": {\"1\": 10.5, \"2\": "
      "10.25}}}");
  files.push_back("step,loss\n1,2.5\n2,\"tensor(2.25)\"\n<<<<<<< HEAD\n3,nan\n");
  return files;
}

std::string damaged(std::string bytes, std::mt19937_64& random) {
  const auto below = [&random](std::size_t most) { return most == 0 ? 0 : random() % most; };
  for (std::size_t i = 0, times = 1 + below(4); i < times && !bytes.empty(); ++i) {
    const std::size_t at = below(bytes.size());
    switch (below(5)) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes.erase(at, 1 + below(8));
        break;
      case 2:
        bytes.insert(at, bytes.substr(below(bytes.size()), below(64)));
        break;
      case 3:
        bytes.resize(at);
        break;
      default:
        bytes.insert(at, 1 + below(40), "0{[\"\n,-\xff"[below(8)]);
    }
  }
  return bytes;
}

TEST(Readers, HaveDistinctSlugsAndSayWhatTheyRead) {
  std::set<std::string> slugs;
  for (const auto& reader : readers()) {
    const ReaderSpec& spec = reader->spec();
    EXPECT_TRUE(slugs.insert(spec.slug).second) << spec.slug;
    EXPECT_FALSE(spec.summary.empty()) << spec.slug;
    EXPECT_FALSE(spec.example.empty()) << spec.slug;
    EXPECT_FALSE(spec.oddities.empty()) << spec.slug;
  }
}

TEST(Readers, EverySurvivesEveryFormatWholeAndDamaged) {
  std::mt19937_64 random(5);
  for (const std::string& healthy : healthy_files()) {
    for (int round = 0; round < 40; ++round) {
      const std::string bytes = round == 0 ? healthy : damaged(healthy, random);
      for (const auto& reader : readers()) {
        const double sure = reader->sniff({"run/artifact", bytes, bytes.size()});
        EXPECT_TRUE(sure >= 0 && sure <= 1) << reader->spec().slug;
        const aplomb::record::Run run =
            test::read_with(reader->spec().slug, bytes, 1 + random() % 97);
        for (const record::Defect& defect : run.defects) {
          EXPECT_FALSE(defect.text.empty()) << reader->spec().slug;
          EXPECT_LT(defect.text.size(), 4096U) << reader->spec().slug;
        }
        for (const record::Series& series : run.series) {
          EXPECT_EQ(series.step.size(), series.value.size());
          EXPECT_EQ(series.line.size(), series.value.size());
          EXPECT_EQ(series.offset.size(), series.value.size());
          EXPECT_EQ(series.segment.size(), series.value.size());
        }
      }
    }
  }
}

}  // namespace
}  // namespace aplomb::sources
