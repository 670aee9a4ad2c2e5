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

void expect(Truth truth, std::initializer_list<const char*> texts) {
  for (const char* text : texts) EXPECT_EQ(judge(text), truth) << text;
}

TEST(Condition, ComparesNumbersWordsAndTruths) {
  expect(Truth::yes, {"lr.peak > 1e-4", "precision.params == BF16", "precision.params != fp32",
                      "model.name ~ baichuan"});
  expect(Truth::no, {"lr.peak <= 1e-4", "seen == false", "model.name ~ 'llama 3'"});
}

TEST(Condition, UnknownFactsDecideNothing) {
  expect(Truth::yes, {"nowhere || seen", "known(absent)", "unseen(nowhere)", "unseen(absent)"});
  expect(Truth::no, {"nowhere && absent", "known(nowhere)", "unseen(seen)"});
  expect(Truth::unknown, {"nowhere", "!nowhere", "nowhere > 3", "nowhere != bf16",
                          "nowhere && seen", "nowhere || absent"});
}

TEST(Condition, ANaNAndAWrongTypeAreUnknownNotFalse) {
  expect(Truth::unknown, {"poisoned > 1", "poisoned", "precision.params > 1", "lr.peak == bf16"});
}

TEST(Condition, AndBindsTighterThanOrAndNotTighterThanBoth) {
  expect(Truth::yes, {"seen || seen && absent", "!absent && seen"});
  expect(Truth::no, {"(seen || seen) && absent", "!(absent || seen)"});
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
