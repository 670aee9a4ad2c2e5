#include "log_text/shapes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "log_text/pairs.h"

namespace aplomb::log_text {
namespace {

/// Learns the shape of one line.
class Learned {
 public:
  explicit Learned(std::string_view line) : finder_(keys_) {
    const std::vector<Pair>& pairs = finder_.find(line);
    Record record;
    for (const Pair& pair : pairs) {
      if (pair.meaning == Meaning::step) record.place.step = pair.value;
      if (pair.meaning == Meaning::metric) record.samples.push_back({pair.key, pair.value});
    }
    cache_.learn(line, pairs, finder_.tokens(), record);
  }
  bool match(std::string_view line) { return cache_.match(line, record_); }
  const Record& record() const { return record_; }

 private:
  KeyTable keys_;
  PairFinder finder_;
  ShapeCache cache_;
  Record record_;
};

TEST(Pairs, SizesBetweenBarsNeedNoSign) {
  KeyTable keys;
  PairFinder finder(keys);
  const std::string line = "epoch  1  loss 0.6822  |user| 0.2245  |item| 0.2316  (0.2s)";
  std::vector<std::string> names;
  for (const Pair& pair : finder.find(line))
    names.push_back(line.substr(pair.key_begin, pair.key_end - pair.key_begin));
  EXPECT_EQ(names, (std::vector<std::string>{"epoch", "loss", "|user|", "|item|"}));
}

TEST(TextLogShapes, read_the_next_line_of_a_shape) {
  Learned shape("12:00:01 step:  9/100 loss: 2.5, lr: 1e-05 (took 1.5s)");
  ASSERT_TRUE(shape.match("12:00:59 step: 10/100 loss: nan, lr: 0.001 (took 12.25s)"));
  EXPECT_EQ(shape.record().place.step, 10);
  ASSERT_EQ(shape.record().samples.size(), 2U);
  EXPECT_TRUE(std::isnan(shape.record().samples[0].value));
  EXPECT_EQ(shape.record().samples[1].value, 0.001);
}

TEST(TextLogShapes, refuse_what_only_looks_alike) {
  Learned shape("step: 9 loss: 2.5 Prec@1 90.5");
  EXPECT_FALSE(shape.match("step: 9 loss: 2.5 Prec@5 90.5")) << "digits of a key are its name";
  EXPECT_FALSE(shape.match("step: 9.5 loss: 2.5 Prec@1 90.5")) << "a step is a whole number";
  EXPECT_FALSE(shape.match("step: 9 loss: 2.5 Prec@1 90.5 more"));
  EXPECT_FALSE(shape.match("step: 9 loss: 2.5"));
  EXPECT_FALSE(shape.match("step: 9 loss: big Prec@1 90.5"));
  EXPECT_FALSE(shape.match(""));
}

}  // namespace
}  // namespace aplomb::log_text
