#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "made_files.h"
#include "reader_support.h"

namespace aplomb::sources {
namespace {

using test::read_with;

// The fields as swanlab 0.10.3 writes them offline.
class SwanlabWriter {
 public:
  void sample(const std::string& key, int step, double value) {
    std::string number;
    protozero::pbf_writer(number).add_double(1, value);
    std::string inner;
    protozero::pbf_writer writer(inner);
    writer.add_string(1, key);
    writer.add_uint64(2, static_cast<std::uint64_t>(step));
    writer.add_int32(3, 1);
    writer.add_message(5, number);
    whole(13, inner);
  }
  void console(const std::string& text) {
    std::string inner;
    protozero::pbf_writer(inner).add_string(1, text);
    whole(16, inner);
  }
  void whole(protozero::pbf_tag_type kind, const std::string& inner) {
    std::string out;
    protozero::pbf_writer writer(out);
    writer.add_int64(1, ++number_);
    writer.add_message(kind, inner);
    log_.record(out);
  }
  const std::string& bytes() const { return log_.bytes(); }
  test::WandbWriter& log() { return log_; }

 private:
  test::WandbWriter log_{":SWL\xD6\xE1\x02"};
  std::int64_t number_ = 0;
};

std::string run_of(int steps, std::size_t chatter = 0) {
  SwanlabWriter writer;
  for (int i = 1; i <= steps; ++i) {
    const bool bad = i == 4;
    writer.sample("train/loss", 10 * i,
                  bad ? std::numeric_limits<double>::quiet_NaN() : 3.0 - 0.01 * i);
    writer.console(std::string(chatter, 'x'));
    writer.sample("train/lr", 10 * i, 1e-4);
  }
  return writer.bytes();
}

TEST(Swanlab, GivesSamplesByTheirSteps) {
  const record::Run run = read_with("swanlab", run_of(6));
  EXPECT_TRUE(run.defects.empty());
  const record::Series* loss = run.primary(record::Role::loss);
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->step, (std::vector<std::int64_t>{10, 20, 30, 40, 50, 60}));
  EXPECT_TRUE(std::isnan(loss->value[3]));
  ASSERT_NE(run.primary(record::Role::lr), nullptr);
  EXPECT_EQ(run.series.size(), 2U);
}

TEST(Swanlab, PartsOfAnySizeGiveTheSame) {
  const std::string file = run_of(40, 3000);
  ASSERT_GT(file.size(), 3 * 32768U);
  const record::Run run = read_with("swanlab", file);
  EXPECT_TRUE(run.defects.empty());
  for (const std::size_t part : {1UL, 5UL, 1000UL, 32768UL})
    test::expect_same_series(run, read_with("swanlab", file, part));
}

TEST(Swanlab, TakesATornTailForNormal) {
  const std::string file = run_of(4);
  for (std::size_t size = 8; size < file.size(); size += 3) {
    const record::Run run = read_with("swanlab", std::string_view(file).substr(0, size));
    for (const record::Defect& defect : run.defects) EXPECT_EQ(defect.kind, "truncated") << size;
  }
}

TEST(Swanlab, GoesOnAtTheNextBlockAfterDamage) {
  std::string file = run_of(40, 3000);
  file[40000] = static_cast<char>(file[40000] ^ 1);
  const record::Run run = read_with("swanlab", file);
  ASSERT_EQ(run.defects.size(), 1U);
  EXPECT_EQ(run.defects[0].kind, "bad-crc");
  EXPECT_GE(run.primary(record::Role::loss)->count, 20U);
}

/// Records of other forms, keys without end, steps that cannot be.
TEST(Swanlab, LeavesOutWhatIsNoSample) {
  SwanlabWriter writer;
  writer.log().record("\xff\xff\xff no message");
  writer.whole(13, "\x0a\xff");
  writer.sample("", 1, 1);
  writer.sample("loss", -5, 1);
  writer.whole(13, std::string("\x0a\x04loss\x10\x01", 8));  // no value: a picture
  writer.sample("loss", 2, 1.5);
  const record::Run run = read_with("swanlab", writer.bytes());
  ASSERT_NE(run.primary(record::Role::loss), nullptr);
  EXPECT_EQ(run.primary(record::Role::loss)->count, 1U);
}

TEST(Swanlab, SniffsItsOwnOnly) {
  EXPECT_EQ(test::chosen_reader("run-x.swanlab", run_of(1)), "swanlab");
  EXPECT_EQ(test::chosen_reader("run-x.swanlab", test::WandbWriter().bytes()), "wandb");
  EXPECT_NE(test::chosen_reader("run-x.swanlab", "SWL is short"), "swanlab");
}

}  // namespace
}  // namespace aplomb::sources
