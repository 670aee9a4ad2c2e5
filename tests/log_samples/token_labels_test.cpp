#include "log_samples/token_labels.h"

#include <gtest/gtest.h>

#include "log_text/line_feed.h"

namespace aplomb::log_samples {
namespace {

bool by_position(const std::vector<std::string>& lines) {
  return !log_text::test::events_of_lines<TokenLabels>(lines).empty();
}

TEST(TokenLabels, LabelsLaidOnPiecesOneAfterAnother) {
  EXPECT_TRUE(
      by_position({"example: ['[CLS]', 'the', 'weather', 'in', 'li', '##m', '##a', 'was', 'mild', "
                   "'.', '[SEP]']",
                   "labels:  [-100, 0, 0, 0, 3, 0, 0, 0, -100, -100, -100]"}));
}

TEST(TokenLabels, ALabelAtTheOpeningToken) {
  EXPECT_TRUE(by_position({"['[CLS]', '3', 'of', 'cheddar', 'l', '##e', '[SEP]', '[PAD]']",
                           "[1, 1, 0, 4, 4, -100, -100, -100]"}));
}

TEST(TokenLabels, LabelsOfFirstPiecesAreInOrder) {
  EXPECT_FALSE(by_position({"tokens ['[CLS]', 'in', 'li', '##m', '##a', 'was', 'mild', '[SEP]']",
                            "labels [-100, 0, 3, -100, -100, 0, 0, -100]"}));
  EXPECT_FALSE(by_position({"tokens ['[CLS]', 'in', 'li', '##m', '##a', 'was', 'mild', '[SEP]']",
                            "labels [-100, 0, 3, 3, 3, 0, 0, -100]"}))
      << "each piece may have the label of its word";
}

TEST(TokenLabels, IdsAreNoLabelsAndListsFarApartDoNotBelongTogether) {
  EXPECT_FALSE(
      by_position({"['[CLS]', 'in', 'li', '##m', '##a', '[SEP]']", "[101, 7, 8, 9, 4, 102]"}));
  EXPECT_FALSE(by_position({"['[CLS]', 'in', 'li', '##m', '##a', '[SEP]']", "1", "2", "3", "4",
                            "labels [1, 0, 3, -100, -100, 0]"}));
}

}  // namespace
}  // namespace aplomb::log_samples
