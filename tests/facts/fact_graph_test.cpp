#include "facts/fact_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "facts/graph_checks.h"

namespace aplomb::facts {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// One that sets what it gives to the number of the facts that it asks for and that are known.
Deriver counting(std::string name, std::vector<std::string> reads, std::vector<std::string> gives,
                 std::vector<std::string> fills = {}) {
  return {name, reads, gives, fills, [reads, gives, fills](FactView& view) {
            double known = 0;
            for (const std::string& fact : reads) known += view.known(fact) ? 1 : 0;
            for (const std::string& fact : gives) view.set(fact, known, "counted");
            for (const std::string& fact : fills) view.set(fact, -1.0, "filled");
          }};
}

std::vector<std::string> order_of(const FactGraph& graph) {
  std::vector<std::string> names;
  for (const Deriver& deriver : graph.derivers()) names.push_back(deriver.name);
  return names;
}

double number(const FactTable& facts, const char* name) {
  const record::Fact* fact = facts.find(name);
  return fact == nullptr ? -100 : *core::as_number(fact->value);
}

TEST(FactGraph, RunsADeriverAfterThoseWhoseFactsItAsksFor) {
  const FactGraph graph(
      {counting("c", {"b"}, {"c"}), counting("b", {"a"}, {"b"}), counting("a", {}, {"a"})});
  EXPECT_THAT(graph.faults(), IsEmpty());
  EXPECT_THAT(order_of(graph), ElementsAre("a", "b", "c"));
  FactTable facts;
  graph.derive({}, facts);
  EXPECT_EQ(number(facts, "c"), 1);
}

TEST(FactGraph, KeepsTheOrderOfThoseThatDoNotDependOnEachOther) {
  const FactGraph graph({counting("late", {"x"}, {}), counting("one", {}, {"1"}),
                         counting("two", {}, {"2"}), counting("x", {}, {"x"})});
  EXPECT_THAT(order_of(graph), ElementsAre("one", "two", "x", "late"));
}

TEST(FactGraph, APatternWaitsForAllThatFitIt) {
  const FactGraph graph({counting("all", {"*"}, {"words.*"}), counting("some", {"oom.*"}, {"n"}),
                         counting("b", {}, {"oom.b"}), counting("a", {}, {"oom.a"})});
  EXPECT_THAT(graph.faults(), IsEmpty());
  EXPECT_THAT(order_of(graph), ElementsAre("b", "a", "some", "all"));
}

TEST(FactGraph, WhoFillsAFactComesAfterWhoGivesItAndBeforeWhoAsksForIt) {
  const FactGraph graph({counting("reader", {"x"}, {"y"}), counting("second", {}, {}, {"x"}),
                         counting("third", {}, {}, {"x"}), counting("giver", {}, {"x"})});
  EXPECT_THAT(graph.faults(), IsEmpty());
  EXPECT_THAT(order_of(graph), ElementsAre("giver", "second", "third", "reader"));
  FactTable facts;
  graph.derive({}, facts);
  EXPECT_EQ(number(facts, "x"), 0) << "what is held stays";
}

TEST(FactGraph, TellsACycleAndRunsAllTheSame) {
  const FactGraph graph({counting("a", {"b"}, {"a"}), counting("b", {"c"}, {"b"}),
                         counting("c", {"a"}, {"c"}), counting("free", {}, {"d"})});
  ASSERT_EQ(graph.faults().size(), 1U);
  EXPECT_THAT(graph.faults().front(), HasSubstr("'a' waits for 'b'"));
  EXPECT_EQ(graph.derivers().size(), 4U);
}

TEST(FactGraph, TellsAFactThatTwoGive) {
  const FactGraph graph({counting("a", {}, {"x"}), counting("b", {}, {"x"})});
  ASSERT_EQ(graph.faults().size(), 1U);
  EXPECT_THAT(graph.faults().front(), HasSubstr("x is given by 'a' and by 'b'"));
}

TEST(FactGraph, ADeriverMayLookAtWhatItGives) {
  const FactGraph graph({counting("a", {"a"}, {}, {"a"})});
  EXPECT_THAT(graph.faults(), IsEmpty());
  FactTrace trace;
  FactTable facts;
  graph.derive({}, facts, &trace);
  EXPECT_THAT(test::undeclared_uses(graph, trace), IsEmpty());
}

// The checks that the derivers of the program are held to must be able to fail.

TEST(GraphChecks, FindAReadThatIsNotDeclared) {
  const FactGraph graph({{.name = "sly", .reads = {"a"}, .gives = {"x"}, .derive = [](FactView& v) {
                            if (v.known("a") || v.known("b")) v.set("x", true, "");
                          }}});
  FactTrace trace;
  FactTable facts;
  graph.derive({}, facts, &trace);
  EXPECT_THAT(test::undeclared_uses(graph, trace), ElementsAre("sly asks for b"));
}

TEST(GraphChecks, FindAReadingThatIsNotDeclared) {
  const FactGraph graph({{.name = "sly", .reads = {"series:loss"}, .derive = [](FactView& v) {
                            v.series(record::Role::loss);
                            v.series(record::Role::lr);
                            v.events("cuda-oom");
                            v.statements("optim.lr");
                            v.given_by_readers("said.*");
                            v.all_series();
                            v.frameworks();
                          }}});
  FactTrace trace;
  FactTable facts;
  graph.derive({}, facts, &trace);
  EXPECT_THAT(test::undeclared_uses(graph, trace),
              ElementsAre("sly asks for event:cuda-oom", "sly asks for reader:said.*",
                          "sly asks for series:*", "sly asks for series:lr",
                          "sly asks for setting:optim.lr", "sly asks for source:*"));
}

TEST(GraphChecks, FindAGiftThatIsNotDeclaredAlsoWhereTheFactIsHeld) {
  const FactGraph graph({{.name = "sly", .gives = {"x"}, .derive = [](FactView& v) {
                            v.set("x", true, "");
                            v.set("y", true, "");
                          }}});
  FactTrace trace;
  FactTable facts;
  facts.set({"y", true, "", {}});
  graph.derive({}, facts, &trace);
  EXPECT_THAT(test::undeclared_uses(graph, trace), ElementsAre("sly gives y"));
}

TEST(GraphChecks, CountThePlacesThatAFactTakesOverAsARead) {
  const FactGraph graph({{.name = "sly", .gives = {"x"}, .derive = [](FactView& v) {
                            v.set("x", true, "", {"optim.lr"});
                          }}});
  FactTrace trace;
  FactTable facts;
  graph.derive({}, facts, &trace);
  EXPECT_THAT(test::undeclared_uses(graph, trace), ElementsAre("sly asks for optim.lr"));
}

TEST(GraphChecks, FindDeclarationsThatNothingUses) {
  const FactGraph graph(
      {{.name = "idle", .reads = {"a", "oom.*"}, .gives = {"x"}, .derive = [](FactView& v) {
          v.known("a");
        }}});
  FactTrace trace;
  FactTable facts;
  graph.derive({}, facts, &trace);
  EXPECT_THAT(test::unused_declarations(graph, trace),
              ElementsAre("idle never asks for oom.*", "idle never gives x"));
}

TEST(GraphChecks, FindWhatNobodyGivesAndWhatIsGivenOverAReading) {
  const FactGraph graph({counting("a", {"lr", "gone"}, {"x"}), counting("b", {"x"}, {"lr"})});
  const auto is_base = [](std::string_view name) { return name == "lr"; };
  EXPECT_THAT(test::unknown_reads(graph, is_base), ElementsAre("a asks for gone"));
  EXPECT_THAT(test::given_over_readings(graph, is_base), ElementsAre("b gives lr"));
}

TEST(FactView, ReadsNumbersThatAreFiniteAndWordsInLowerCase) {
  FactTable facts;
  facts.set({"a", -2.0, "", {}});
  facts.set({"b", std::string("BF16"), "", {}});
  facts.set({"c", std::numeric_limits<double>::infinity(), "", {}});
  const record::Run run;
  const FactView view(run, facts);
  EXPECT_EQ(view.number("a"), -2.0);
  EXPECT_FALSE(view.positive("a"));
  EXPECT_FALSE(view.number("c"));
  EXPECT_EQ(view.text("b"), "BF16");
  EXPECT_EQ(view.word("b"), "bf16");
  EXPECT_EQ(view.text("a"), "");
  EXPECT_FALSE(view.truth("b"));
}

}  // namespace
}  // namespace aplomb::facts
