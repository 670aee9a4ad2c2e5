/// The derivers of the diagnosis fit together, and what the causes ask for is there to be asked for.

#include "diagnosis/derivers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "diagnosis/base_of_detectors.h"
#include "diagnosis/cause_book.h"
#include "diagnosis/health.h"
#include "facts/graph_checks.h"

namespace aplomb::diagnosis {
namespace {

using test::is_base;
using ::testing::IsEmpty;

TEST(Derivers, HaveNoCycleAndNoFactOfTwo) { EXPECT_THAT(fact_graph().faults(), IsEmpty()); }

TEST(Derivers, AskOnlyForWhatIsReadOrGiven) {
  EXPECT_THAT(test::unknown_reads(fact_graph(), is_base), IsEmpty());
}

TEST(Derivers, GiveNothingAsTheirsThatIsRead) {
  EXPECT_THAT(test::given_over_readings(fact_graph(), is_base), IsEmpty());
}

TEST(Derivers, GiveOnlyDeclaredFacts) {
  const std::vector<std::string> declared = declared_facts();
  for (const std::string& fact : test::given_by(fact_graph()))
    EXPECT_TRUE(is_declared(declared, fact)) << fact;
}

TEST(Derivers, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const facts::Deriver& deriver : fact_graph().derivers())
    EXPECT_TRUE(names.insert(deriver.name).second) << deriver.name;
}

/// A name may be declared and still be one that nobody gives: a rule over it never holds.
TEST(Derivers, GiveWhatTheCausesAskFor) {
  const std::vector<std::string> given = test::given_by(fact_graph());
  const auto check = [&](const Condition& condition, const std::string& id) {
    for (const std::string& name : condition.names())
      EXPECT_TRUE(is_base(name) || test::fits_any(given, name)) << id << " asks for " << name;
  };
  for (const Cause& cause : cause_book().causes) {
    for (const std::string& name : cause.explains)
      EXPECT_TRUE(is_base(name) || test::fits_any(given, name)) << cause.id << ": " << name;
    for (const Condition& needed : cause.needs) check(needed, cause.id);
    for (const EvidenceRule& rule : cause.evidence) check(rule.when, cause.id);
    for (const Refutation& each : cause.refuted_by) check(each.when, cause.id);
    for (const Sentence& each : cause.because) {
      for (const Condition& condition : each.when) check(condition, cause.id);
    }
    for (const RemedyRule& rule : cause.remedies) {
      for (const Condition& condition : rule.when) check(condition, cause.id);
    }
  }
  for (const NextStep& next : cause_book().next_steps) check(next.when, "a next step");
  for (const std::string& name : health_facts())
    EXPECT_TRUE(is_base(name) || test::fits_any(given, name)) << "health.yaml asks for " << name;
}

}  // namespace
}  // namespace aplomb::diagnosis
