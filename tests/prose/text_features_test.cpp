#include "prose/text_features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "knowledge/text_classifier.h"
#include "sources/reader_support.h"

namespace aplomb::prose {
namespace {

using knowledge::TextClassifier;

std::vector<record::Fact> heard(std::string_view reader, std::string_view text) {
  const aplomb::record::Run run = test::read_with(reader, text, 1U << 20U, "reported.txt");
  std::vector<record::Fact> facts;
  for (const record::Fact& fact : run.facts)
    if (fact.name == TextClassifier::k_fact) facts.push_back(fact);
  return facts;
}

TEST(TextFeatures, StandLineByLineWithTheirPlaces) {
  for (const char* reader : {"settings-text", "text-log"}) {
    const auto facts = heard(reader, "the loss\n\nthe loss\nthe loss is nan\n");
    ASSERT_EQ(facts.size(), 1U) << reader;
    EXPECT_EQ(*core::as_text(facts[0].value), "the|the loss|loss\nloss is|is|is nan|nan") << reader;
    ASSERT_EQ(facts[0].evidence.size(), 2U) << "what a line repeats is not told again";
    EXPECT_EQ(facts[0].evidence[0].line, 1U);
    EXPECT_EQ(facts[0].evidence[1].line, 4U);
    EXPECT_EQ(facts[0].evidence[1].offset, 19U);
  }
}

TEST(TextFeatures, TellAnAccountFromALogAndAProgram) {
  const auto is_account = [](std::string_view reader, std::string_view text) {
    const aplomb::record::Run run = test::read_with(reader, text, 1U << 20U, "file.txt");
    return std::any_of(run.facts.begin(), run.facts.end(), [](const record::Fact& fact) {
      return fact.name == TextClassifier::k_account;
    });
  };
  EXPECT_TRUE(is_account("settings-text",
                         "The loss falls for two epochs and is nan from then on.\n"
                         "lr=1e-3 batch=8\n"));
  EXPECT_FALSE(is_account("text-log",
                          "step 1 | loss 2.3\nstep 2 | loss 2.1\n"
                          "Traceback (most recent call last):\n"
                          "  File \"train.py\", line 3, in <module>\n"
                          "    main()\n"
                          "IndexError: index out of range in self\n"));
  EXPECT_FALSE(is_account("text-log",
                          "import torch\nmodel = Net()\n# the loss is summed here\n"
                          "for x, y in loader:\n    loss = model(x, y)\n"));
}

TEST(TextFeatures, TellAMessageFromAReport) {
  const auto is_message = [](std::string_view text) {
    const aplomb::record::Run run = test::read_with("text-log", text, 1U << 20U, "file.txt");
    return std::any_of(run.facts.begin(), run.facts.end(), [](const record::Fact& fact) {
      return fact.name == TextClassifier::k_message;
    });
  };
  EXPECT_TRUE(is_message("Content end boundary is before start boundary\n"));
  EXPECT_FALSE(is_message("I get: boundary is before start boundary\n"));
  EXPECT_FALSE(is_message("boundary is before start boundary, is that normal?\n"));
  EXPECT_FALSE(
      is_message("The end of the content is before its start in every second row of the data "
                 "since the tokenizer was changed.\n"));
}

TEST(TextFeatures, AnEnvironmentIsNoAccount) {
  const aplomb::record::Run run = test::read_with(
      "text-log", "PyTorch: 2.3.0\nBF16 supported: False\nGPU: Tesla T4\nCUDA: 12.1\n", 1U << 20U,
      "file.txt");
  EXPECT_FALSE(std::any_of(run.facts.begin(), run.facts.end(), [](const record::Fact& fact) {
    return fact.name == TextClassifier::k_account;
  }));
}

TEST(TextFeatures, OfALongTextAreTheTrainersOwn) {
  std::string text;
  for (int i = 0; i < 600; ++i) text += "the loss is nan\n";
  EXPECT_TRUE(heard("text-log", text).empty());
}

TEST(TextFeatures, PackagesAreNone) {
  EXPECT_TRUE(heard("settings-text", "torch==2.3.0\nnumpy==1.26.4\n").empty());
  EXPECT_FALSE(heard("settings-text", "with torch==2.3.0 it hangs\n").empty());
}

TEST(TextFeatures, LookAtTheHeadOnly) {
  const std::string text = std::string(TextClassifier::k_largest_text, '.') + "\nloss\n";
  EXPECT_TRUE(heard("settings-text", text).empty());
}

}  // namespace
}  // namespace aplomb::prose
