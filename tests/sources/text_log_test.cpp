#include <gtest/gtest.h>

#include "sources/reader.h"

namespace aplomb {
std::unique_ptr<Reader> make_text_log_reader();
namespace {

aplomb::Run read_log(std::string_view text, std::size_t part = 1U << 20U) {
  aplomb::Run run;
  RunBuilder build(run);
  const SourceId source = build.open("log.txt", "text-log", text.size());
  const auto bytes = bytes_of(text, part);
  make_text_log_reader()->read(*bytes, build, source);
  return run;
}

TEST(TextLog, reads_the_dict_lines_of_the_hugging_face_trainer) {
  const aplomb::Run run = read_log(
      "{'loss': 2.5, 'grad_norm': 1.25, 'learning_rate': 1e-05, 'epoch': 0.1}\n"
      "{'loss': nan, 'grad_norm': nan, 'learning_rate': 9e-06, 'epoch': 0.2}\n");
  const Series* loss = run.find("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->role, Role::loss);
  ASSERT_EQ(loss->size(), 2U);
  EXPECT_EQ(loss->value[0], 2.5);
  EXPECT_EQ(loss->nonfinite_count, 1U);
}

}  // namespace
}  // namespace aplomb
