#include "task/held_out_sets.h"

#include <gtest/gtest.h>

#include "record/run_builder.h"

namespace aplomb::task {
namespace {

class Made {
 public:
  Made() : build_(run_), source_(build_.open("train.log", "text-log", 0)) {}
  Made& with(const char* raw, record::Role role, const std::vector<double>& values) {
    const record::SeriesId id =
        build_.series(source_, role == record::Role::eval_loss ? "eval_loss" : "eval_accuracy", raw,
                      role, record::StepKind::explicit_);
    std::int64_t step = 0;
    for (const double value : values) {
      ++step;
      build_.append(id, step, value, 1, 1);
    }
    return *this;
  }
  std::optional<HeldOutGap> gap() const { return held_out_gap(run_); }

 private:
  record::Run run_;
  record::RunBuilder build_;
  record::SourceId source_;
};

TEST(HeldOutSets, ATestSetThatIsMuchWorse) {
  const auto gap = Made()
                       .with("eval_acc", record::Role::eval_accuracy, {0.6, 0.83, 0.907})
                       .with("test_acc", record::Role::eval_accuracy, {0.532})
                       .gap();
  ASSERT_TRUE(gap);
  EXPECT_EQ(gap->because, "accuracy 0.907 on validation data, 0.532 on test data");
  EXPECT_TRUE(Made()
                  .with("val_loss", record::Role::eval_loss, {0.9, 0.5, 0.28})
                  .with("test_loss", record::Role::eval_loss, {0.47})
                  .gap());
}

TEST(HeldOutSets, ATestSetThatAgreesOrStandsAlone) {
  EXPECT_FALSE(Made()
                   .with("eval_acc", record::Role::eval_accuracy, {0.6, 0.83, 0.907})
                   .with("test_acc", record::Role::eval_accuracy, {0.86})
                   .gap());
  EXPECT_FALSE(Made().with("test_loss", record::Role::eval_loss, {0.9, 0.5, 0.28}).gap());
  EXPECT_FALSE(Made()
                   .with("val_loss", record::Role::eval_loss, {0.9})
                   .with("test_loss", record::Role::eval_loss, {2.0})
                   .gap());
}

}  // namespace
}  // namespace aplomb::task
