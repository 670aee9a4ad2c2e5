#include "diagnosis/condition.h"

#include <gtest/gtest.h>

#include <limits>

namespace aplomb::diagnosis {
namespace {

FactTable some_facts() {
  FactTable facts;
  facts.set({"seen", true, "seen it", {}});
  facts.set({"absent", false, "", {}});
  facts.set({"lr.peak", 2e-4, "lr 2e-4", {}});
  facts.set({"precision.params", std::string("bf16"), "bf16 weights", {}});
  facts.set({"model.name", std::string("org/Baichuan2-13B"), "", {}});
  facts.set({"poisoned", std::numeric_limits<double>::quiet_NaN(), "", {}});
  return facts;
}

Truth judge(const char* text) {
  const core::Result<Condition> condition = Condition::parse(text);
  EXPECT_TRUE(condition.has_value()) << text;
  return condition ? condition->holds(some_facts()) : Truth::unknown;
}

TEST(Condition, ComparesNumbersWordsAndTruths) {
  EXPECT_EQ(judge("lr.peak > 1e-4"), Truth::yes);
  EXPECT_EQ(judge("lr.peak <= 1e-4"), Truth::no);
  EXPECT_EQ(judge("precision.params == BF16"), Truth::yes);
  EXPECT_EQ(judge("precision.params != fp32"), Truth::yes);
  EXPECT_EQ(judge("seen == false"), Truth::no);
  EXPECT_EQ(judge("model.name ~ baichuan"), Truth::yes);
  EXPECT_EQ(judge("model.name ~ 'llama 3'"), Truth::no);
}

TEST(Condition, UnknownFactsDecideNothing) {
  EXPECT_EQ(judge("nowhere"), Truth::unknown);
  EXPECT_EQ(judge("!nowhere"), Truth::unknown);
  EXPECT_EQ(judge("nowhere > 3"), Truth::unknown);
  EXPECT_EQ(judge("nowhere != bf16"), Truth::unknown);
  EXPECT_EQ(judge("nowhere && seen"), Truth::unknown);
  EXPECT_EQ(judge("nowhere && absent"), Truth::no);
  EXPECT_EQ(judge("nowhere || seen"), Truth::yes);
  EXPECT_EQ(judge("nowhere || absent"), Truth::unknown);
  EXPECT_EQ(judge("known(nowhere)"), Truth::no);
  EXPECT_EQ(judge("known(absent)"), Truth::yes);
  EXPECT_EQ(judge("unseen(nowhere)"), Truth::yes);
  EXPECT_EQ(judge("unseen(absent)"), Truth::yes);
  EXPECT_EQ(judge("unseen(seen)"), Truth::no);
}

TEST(Condition, ANaNAndAWrongTypeAreUnknownNotFalse) {
  EXPECT_EQ(judge("poisoned > 1"), Truth::unknown);
  EXPECT_EQ(judge("poisoned"), Truth::unknown);
  EXPECT_EQ(judge("precision.params > 1"), Truth::unknown);
  EXPECT_EQ(judge("lr.peak == bf16"), Truth::unknown);
}

TEST(Condition, AndBindsTighterThanOrAndNotTighterThanBoth) {
  EXPECT_EQ(judge("seen || seen && absent"), Truth::yes);
  EXPECT_EQ(judge("(seen || seen) && absent"), Truth::no);
  EXPECT_EQ(judge("!absent && seen"), Truth::yes);
  EXPECT_EQ(judge("!(absent || seen)"), Truth::no);
}

TEST(Condition, NonsenseIsRefusedWithItsColumn) {
  for (const char* text : {"", "&& seen", "seen &&", "(seen", "seen)", "lr.peak >", "3 > lr.peak",
                           "known()", "model.name ~ 'open"}) {
    EXPECT_FALSE(Condition::parse(text).has_value()) << text;
  }
  const core::Result<Condition> bad = Condition::parse("seen seen");
  ASSERT_FALSE(bad.has_value());
  EXPECT_NE(bad.error().text.find("column 6"), std::string::npos) << bad.error().text;
}

TEST(Condition, DeeplyNestedTextDoesNotExhaustTheStack) {
  EXPECT_FALSE(Condition::parse(std::string(100000, '(')).has_value());
  EXPECT_FALSE(Condition::parse(std::string(100000, '!')).has_value());
}

TEST(Condition, SupportNamesOnlyTheFactsThatMadeItHold) {
  const FactTable facts = some_facts();
  const auto names = [&](const char* text) {
    std::vector<std::string> out;
    for (const record::Fact* fact : Condition::parse(text)->support(facts))
      out.push_back(fact->name);
    return out;
  };
  EXPECT_EQ(names("absent || lr.peak > 1e-4"), std::vector<std::string>{"lr.peak"});
  EXPECT_EQ(names("seen && !absent"), (std::vector<std::string>{"seen", "absent"}));
  EXPECT_EQ(names("seen && absent"), std::vector<std::string>{});
}

}  // namespace
}  // namespace aplomb::diagnosis
