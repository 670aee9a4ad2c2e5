#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "made_files.h"
#include "reader_support.h"

namespace aplomb::sources {
namespace {

using test::frame;
using test::read_with;
using test::scalar_event;
using test::value_event;
using test::version_event;

std::string small_file() {
  std::string file = version_event();
  for (int step = 10; step <= 50; step += 10) {
    file += scalar_event(step, "train/loss", 3.0F - 0.01F * static_cast<float>(step));
    file += scalar_event(step, "train/grad_norm",
                         step == 40 ? std::numeric_limits<float>::quiet_NaN() : 1.5F);
  }
  return file;
}

std::string scalar_tensor(std::int64_t step, std::string_view tag, int type, int field,
                          std::string_view content) {
  return value_event(step, tag, [&](protozero::pbf_writer& value) {
    std::string tensor;
    protozero::pbf_writer writer(tensor);
    writer.add_int32(1, type);
    writer.add_message(2, std::string());
    writer.add_bytes(static_cast<protozero::pbf_tag_type>(field), content.data(), content.size());
    value.add_message(8, tensor);
  });
}

TEST(Crc32c, IsThatOfTheStandardByTableAndByInstruction) {
  EXPECT_EQ(core::crc32c("123456789"),
            0xE3069283U);  // the check value of CRC-32C (RFC 3720 B.4's polynomial)
  EXPECT_EQ(core::crc32c_by_table("123456789"), 0xE3069283U);
  std::mt19937 random(3);
  for (std::size_t size = 0; size < 200; ++size) {
    std::string bytes(size, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    EXPECT_EQ(core::crc32c(bytes), core::crc32c_by_table(bytes)) << size;
  }
}

TEST(Tensorboard, GivesScalarsByStepUnderTheirNormalisedNames) {
  const aplomb::record::Run run = read_with("tensorboard", small_file());
  EXPECT_TRUE(run.defects.empty());
  const record::Series* loss = run.primary(record::Role::loss);
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->name, "loss");
  EXPECT_EQ(loss->raw_name, "train/loss");
  EXPECT_EQ(loss->step, (std::vector<std::int64_t>{10, 20, 30, 40, 50}));
  EXPECT_FLOAT_EQ(static_cast<float>(loss->value[4]), 2.5F);
  const record::Series* norm = run.primary(record::Role::grad_norm);
  ASSERT_NE(norm, nullptr);
  EXPECT_TRUE(std::isnan(norm->value[3]));
}

TEST(Tensorboard, ReadsTheSameInPartsOfAnySize) {
  const std::string file = small_file();
  const aplomb::record::Run whole = read_with("tensorboard", file);
  for (const std::size_t part : {1UL, 3UL, 64UL, 1000UL}) {
    test::expect_same_series(whole, read_with("tensorboard", file, part));
  }
}

TEST(Tensorboard, ReadsTensorsOfOneNumberInEveryType) {
  std::string file = version_event();
  file += scalar_tensor(1, "loss", 1, 4, test::bytes_of_number(2.5F));
  file += scalar_tensor(2, "loss", 2, 4, test::bytes_of_number(2.25));
  file +=
      scalar_tensor(3, "loss", 19, 4, test::bytes_of_number<std::uint16_t>(0x4000));  // half 2.0
  file += scalar_tensor(4, "loss", 14, 4,
                        test::bytes_of_number<std::uint16_t>(0x3FC0));   // bfloat16 1.5
  file += scalar_tensor(5, "loss", 1, 5, test::bytes_of_number(1.25F));  // packed float_val
  file += scalar_tensor(6, "loss", 19, 4,
                        test::bytes_of_number<std::uint16_t>(0x7C00));  // half infinity
  file += scalar_tensor(7, "loss", 9, 4, test::bytes_of_number<std::int64_t>(-3));
  const aplomb::record::Run run = read_with("tensorboard", file);
  const record::Series* loss = run.primary(record::Role::loss);
  ASSERT_NE(loss, nullptr);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(loss->value, (std::vector<double>{2.5, 2.25, 2.0, 1.5, 1.25, infinity, -3.0}));
}

TEST(Tensorboard, SkipsWhatIsNoScalar) {
  std::string file = version_event();
  file += value_event(1, "weights", [](protozero::pbf_writer& value) {
    value.add_message(5, std::string(300, 'h'));
  });
  std::string vector_tensor;
  protozero::pbf_writer tensor(vector_tensor);
  tensor.add_int32(1, 1);
  tensor.add_message(2, std::string("\x12\x02\x08\x04", 4));  // shape [4]
  tensor.add_bytes(4, std::string(16, '\1'));
  file += value_event(1, "vector",
                      [&](protozero::pbf_writer& value) { value.add_message(8, vector_tensor); });
  std::string graph;
  protozero::pbf_writer(graph).add_bytes(4, std::string(3U << 20U, 'g'));
  file += frame(graph);
  file += scalar_event(2, "loss", 1.0F);
  const aplomb::record::Run run = read_with("tensorboard", file, 4096);
  ASSERT_EQ(run.series.size(), 1U);
  EXPECT_EQ(run.series[0].raw_name, "loss");
  EXPECT_TRUE(run.defects.empty());
}

TEST(Tensorboard, AFieldOfAnotherTypeThanItsOwnIsLeftOut) {
  std::string event;
  protozero::pbf_writer writer(event);
  writer.add_string(1, "wall");  // a double
  writer.add_string(2, "step");  // a varint
  writer.add_uint64(3, 1);       // the version, a string
  std::string value;
  protozero::pbf_writer of_value(value);
  of_value.add_uint64(1, 7);      // the tag, a string
  of_value.add_string(2, "2.5");  // a float
  of_value.add_uint64(8, 1);      // a tensor
  std::string summary;
  protozero::pbf_writer(summary).add_message(1, value);
  writer.add_message(5, summary);
  const aplomb::record::Run run =
      read_with("tensorboard", version_event() + frame(event) + scalar_event(3, "loss", 2.5F));
  ASSERT_NE(run.primary(record::Role::loss), nullptr);
  EXPECT_EQ(run.primary(record::Role::loss)->count, 1U);
}

TEST(Tensorboard, TakesATornTailForNormalAtEveryByte) {
  const std::string file = small_file();
  for (std::size_t size = 1; size < file.size(); ++size) {
    const aplomb::record::Run run =
        read_with("tensorboard", std::string_view(file).substr(0, size));
    for (const record::Defect& defect : run.defects) {
      EXPECT_EQ(defect.kind, "truncated") << size;
      EXPECT_EQ(defect.severity, core::Severity::note);
    }
    ASSERT_LE(run.defects.size(), 1U);
  }
}

TEST(Tensorboard, LeavesOutADamagedFrameAndGoesOn) {
  const std::string before = version_event() + scalar_event(1, "loss", 4.0F);
  const std::string after = scalar_event(3, "loss", 2.0F);
  std::string damaged = scalar_event(2, "loss", 3.0F);
  for (const std::size_t at : {std::size_t{2}, std::size_t{20}, damaged.size() - 1}) {
    std::string bad = damaged;
    bad[at] = static_cast<char>(bad[at] ^ 0x40);
    const aplomb::record::Run run = read_with("tensorboard", before + bad + after);
    const record::Series* loss = run.primary(record::Role::loss);
    ASSERT_NE(loss, nullptr);
    EXPECT_EQ(loss->step, (std::vector<std::int64_t>{1, 3})) << at;
    ASSERT_EQ(run.defects.size(), 1U) << at;
    EXPECT_EQ(run.defects[0].kind, "bad-crc");
    EXPECT_EQ(run.defects[0].offset, before.size());
  }
}

TEST(Tensorboard, AsksForNoMemoryBecauseALengthSaysSo) {
  const std::string length = test::bytes_of_number<std::uint64_t>(1ULL << 33U);
  const std::string file =
      version_event() + length + test::bytes_of_number(core::masked_crc32c(length)) + "rest";
  const aplomb::record::Run run = read_with("tensorboard", file);
  ASSERT_EQ(run.defects.size(), 1U);
  EXPECT_EQ(run.defects[0].kind, "truncated");
}

TEST(Tensorboard, TellsEvaluationByItsFolder) {
  const std::string file = version_event() + scalar_event(1, "epoch_loss", 2.0F);
  EXPECT_EQ(read_with("tensorboard", file, 1000, "logs/validation/events.out.tfevents.1.v2")
                .series[0]
                .role,
            record::Role::eval_loss);
  EXPECT_EQ(
      read_with("tensorboard", file, 1000, "logs/train/events.out.tfevents.1.v2").series[0].role,
      record::Role::loss);
  const std::string curves = version_event() + scalar_event(1, "Loss", 2.0F);
  EXPECT_EQ(
      read_with("tensorboard", curves, 1000, "tb/Loss_val/events.out.tfevents.1").series[0].role,
      record::Role::eval_loss);
}

TEST(Tensorboard, SniffsItsOwnOnly) {
  EXPECT_EQ(test::chosen_reader("a/unnamed", small_file()), "tensorboard");
  EXPECT_EQ(test::chosen_reader("a/events.out.tfevents.1.host", small_file().substr(0, 40)),
            "tensorboard");
  EXPECT_NE(test::chosen_reader("a/b.bin", std::string(100, '\0')), "tensorboard");
}

}  // namespace
}  // namespace aplomb::sources
