#include <gtest/gtest.h>

#include "diagnosis/cause_book.h"
#include "diagnosis/derivers.h"
#include "knowledge/document.h"

namespace aplomb::diagnosis {
namespace {

constexpr double k_gib = 1073741824.0;

record::Event event(const std::string& kind, std::map<std::string, core::Value> caught,
                    int rank = -1, core::Severity severity = core::Severity::failed) {
  record::Event made;
  made.kind = kind;
  made.severity = severity;
  made.rank = rank;
  made.caught = std::move(caught);
  return made;
}

/// Events without a place get a line each.
FactTable facts_of(std::vector<record::Event> events) {
  aplomb::record::Run run;
  std::uint64_t line = 0;
  for (record::Event& each : events) {
    if (each.origin.offset == 0) each.origin.offset = 1000 + ++line;
  }
  run.events = std::move(events);
  FactTable facts;
  fact_graph().derive(run, facts);
  return facts;
}

bool holds(const FactTable& facts, const std::string& name) {
  const record::Fact* fact = facts.find(name);
  return fact != nullptr && core::is_true(fact->value);
}

double number(const FactTable& facts, const std::string& name) {
  const record::Fact* fact = facts.find(name);
  const double* value = fact == nullptr ? nullptr : core::as_number(fact->value);
  return value == nullptr ? -1 : *value;
}

FactTable memory(double requested, double total, double free, double allocated, double reserved) {
  return facts_of({event("cuda-oom", {{"requested", requested * k_gib},
                                      {"total", total * k_gib},
                                      {"free", free * k_gib},
                                      {"allocated", allocated * k_gib},
                                      {"reserved", reserved * k_gib}})});
}

TEST(MemoryFacts, OneTensorLargerThanAHalfEmptyCardIsTheStoryOfThatTensor) {
  const FactTable facts = memory(30, 80, 25, 50, 52);
  EXPECT_TRUE(holds(facts, "oom.one_giant_tensor"));
  EXPECT_FALSE(holds(facts, "oom.base_load_full"));
  EXPECT_FALSE(holds(facts, "oom.impossible_request"));
  EXPECT_TRUE(holds(memory(200, 80, 70, 5, 6), "oom.impossible_request"));
}

TEST(MemoryFacts, ASmallRequestOnAFullCardIsTheStoryOfTheStandingLoad) {
  const FactTable facts = memory(0.02, 24, 0.01, 22.5, 23);
  EXPECT_TRUE(holds(facts, "oom.base_load_full"));
  EXPECT_FALSE(holds(facts, "oom.one_giant_tensor"));
  EXPECT_FALSE(holds(facts, "oom.fragmented"));
}

TEST(MemoryFacts, SlackThatWouldHaveHeldTheRequestIsFragmentation) {
  const FactTable facts = memory(1, 24, 0.2, 14, 22);
  EXPECT_TRUE(holds(facts, "oom.fragmented"));
  EXPECT_NEAR(number(facts, "oom.fragmentation"), 8.0 / 24, 1e-9);
  EXPECT_FALSE(holds(memory(10, 24, 0.2, 14, 22), "oom.fragmented"));
}

TEST(MemoryFacts, WhatOthersHoldIsSeparated) {
  EXPECT_TRUE(holds(memory(1, 24, 0.5, 8, 9), "oom.card_shared"));
  EXPECT_FALSE(holds(memory(1, 24, 0.5, 22, 23), "oom.card_shared"));
}

TEST(MemoryFacts, APlaceAndAnEndedTrainingAreCarriedOver) {
  record::Event ended = event("training-ended", {}, -1, core::Severity::note);
  ended.origin.offset = 10;
  record::Event oom = event("cuda-oom", {{"at_save", true}});
  oom.origin.offset = 20;
  EXPECT_TRUE(holds(facts_of({ended, oom}), "oom.after_training_end"));
  EXPECT_TRUE(holds(facts_of({ended, oom}), "oom.at_save"));
  oom.origin.offset = 5;
  EXPECT_FALSE(holds(facts_of({oom, ended}), "oom.after_training_end"));
}

record::Event timeout(int rank, double seq, const std::string& op, double numel) {
  return event("nccl-watchdog",
               {{"seq", seq}, {"op_text", op}, {"numel_in", numel}, {"timeout_ms", 600000.0}},
               rank);
}

TEST(HangFacts, DifferentOperationsAtOneNumberAreTold) {
  const FactTable facts = facts_of({timeout(0, 50, "REDUCE", 1), timeout(1, 50, "ALLREDUCE", 1)});
  EXPECT_TRUE(holds(facts, "hang.collectives_differ"));
  EXPECT_FALSE(holds(facts, "hang.seq_differs"));
  EXPECT_EQ(number(facts, "hang.timeout_s"), 600);
  EXPECT_TRUE(holds(facts, "hang.one_element"));
}

TEST(HangFacts, DifferentSizesAndNumbersAreToldApart) {
  EXPECT_TRUE(holds(facts_of({timeout(0, 7, "ALLREDUCE", 10), timeout(1, 7, "ALLREDUCE", 12)}),
                    "hang.sizes_differ"));
  const FactTable facts =
      facts_of({timeout(0, 7, "ALLREDUCE", 10), timeout(1, 9, "ALLREDUCE", 10)});
  EXPECT_TRUE(holds(facts, "hang.seq_differs"));
  EXPECT_FALSE(holds(facts, "hang.sizes_differ"));
}

TEST(HangFacts, OfTheTimeoutsOfARankTheEarliestCollectiveCounts) {
  const FactTable facts = facts_of({timeout(0, 8, "ALLREDUCE", 10), timeout(0, 7, "BROADCAST", 3),
                                    timeout(1, 7, "BROADCAST", 3)});
  EXPECT_FALSE(holds(facts, "hang.collectives_differ"));
  EXPECT_FALSE(holds(facts, "hang.seq_differs"));
}

TEST(HangFacts, ARankThatSpeaksButDoesNotTimeOutIsMissing) {
  const FactTable facts = facts_of({timeout(1, 7, "ALLREDUCE", 1), timeout(2, 7, "ALLREDUCE", 1),
                                    event("nccl-cascade", {}, 0, core::Severity::warning)});
  EXPECT_EQ(number(facts, "hang.missing_ranks"), 1);
}

TEST(IncidentRoot, AnErrorOfOneRankOutranksTheTimeoutsOfTheOthers) {
  const FactTable facts = facts_of({timeout(1, 7, "ALLREDUCE", 1), event("cuda-oom", {}, 0)});
  EXPECT_EQ(core::show(facts.find("incident.root")->value), "cuda-oom");
  EXPECT_EQ(number(facts, "hang.failed_rank"), 0);
  EXPECT_TRUE(holds(facts, "hang.other_failure"));
  const FactTable only = facts_of({timeout(1, 7, "ALLREDUCE", 1)});
  EXPECT_EQ(core::show(only.find("incident.root")->value), "nccl-watchdog");
  EXPECT_FALSE(holds(only, "hang.other_failure"));
}

TEST(IncidentRoot, TheExceptionThatReportsATimeoutIsNotAnotherFailure) {
  record::Event waits = timeout(1, 7, "ALLREDUCE", 1);
  waits.origin.offset = 100;
  record::Event exception = event("python-exception", {}, 1);
  exception.origin.offset = 100;
  EXPECT_FALSE(holds(facts_of({waits, exception}), "hang.other_failure"));
  exception.origin.offset = 20;
  EXPECT_TRUE(holds(facts_of({waits, exception}), "hang.other_failure"));
}

TEST(SlowFacts, SharesOfAWallClockBreakdown) {
  const FactTable facts =
      facts_of({event("wall-clock", {{"forward", 100.0}, {"backward", 200.0}, {"step", 700.0}}, -1,
                      core::Severity::note)});
  EXPECT_NEAR(number(facts, "slow.optimizer_share"), 0.7, 1e-9);
}

TEST(SlowFacts, TheMedianOfSaidUtilisationsDecides) {
  const FactTable facts = facts_of({event("gpu-utilisation", {{"percent", 20.0}}),
                                    event("gpu-utilisation", {{"percent_b", 30.0}}),
                                    event("gpu-utilisation", {{"percent", 99.0}})});
  EXPECT_EQ(number(facts, "slow.gpu_percent"), 30);
  EXPECT_TRUE(holds(facts, "slow.gpu_idle"));
}

TEST(IncidentRules, EveryRuleParsesAndAsksOnlyForDeclaredFacts) {
  const std::vector<std::string> declared = declared_facts();
  const auto entries = knowledge::file("incidents.yaml").items();
  ASSERT_FALSE(entries.empty());
  for (const knowledge::Node& entry : entries) {
    const core::Result<Condition> when = Condition::parse(knowledge::text_of(entry, "when"));
    ASSERT_TRUE(when) << knowledge::text_of(entry, "fact");
    for (const std::string& name : when->names()) {
      EXPECT_TRUE(is_declared(declared, name)) << knowledge::text_of(entry, "fact") << ": " << name;
    }
  }
}

TEST(IncidentRules, AreFalseRatherThanUnknownWhereNothingWasSeen) {
  const FactTable facts = facts_of({});
  ASSERT_NE(facts.find("incident.oom"), nullptr);
  EXPECT_FALSE(holds(facts, "incident.oom"));
}

/// Facts of a request with the settings of a language model.
FactTable request_of(double gib, double micro, double length, double vocabulary, double heads) {
  aplomb::record::Run run;
  run.events.push_back(event("cuda-oom", {{"requested", gib * k_gib}, {"total", 80 * k_gib}}));
  FactTable facts;
  facts.set({"batch.micro", micro, "", {}});
  facts.set({"data.max_length", length, "", {}});
  facts.set({"model.vocab_size", vocabulary, "", {}});
  facts.set({"model.heads", heads, "", {}});
  fact_graph().derive(run, facts);
  return facts;
}

TEST(MemoryFacts, TheSizeAskedForNamesItsTensor) {
  // 4 x 8192 x 131072 numbers of 4 bytes are 16 GiB.
  EXPECT_TRUE(holds(request_of(16.0, 4, 8192, 131072, 32), "oom.request_is_logits"));
  EXPECT_FALSE(holds(request_of(17.0, 4, 8192, 131072, 32), "oom.request_is_logits"));
  // 4 x 32 x 8192 x 8192 numbers of 2 bytes are 16 GiB.
  EXPECT_TRUE(holds(request_of(16.0, 4, 8192, 30522, 32), "oom.request_is_scores"));
  EXPECT_FALSE(holds(request_of(16.0, 4, 4096, 30522, 32), "oom.request_is_scores"));
}

TEST(MemoryFacts, AShapeInWordsNamesItsTensor) {
  const auto shaped = [](double a, double b, double c) {
    return facts_of(
        {event("tensor-product", {{"a", a}, {"b", b}, {"c", c}}, -1, core::Severity::note)});
  };
  EXPECT_TRUE(holds(shaped(32, 16384, 16384), "oom.request_is_scores"));
  EXPECT_TRUE(holds(shaped(8, 4096, 151936), "oom.request_is_logits"));
  EXPECT_FALSE(holds(shaped(8, 4096, 8192), "oom.request_is_logits"));
}

TEST(MemoryFacts, SlackIsThePartOfTheHeldThatIsNotUsed) {
  EXPECT_NEAR(number(memory(2, 24, 1, 5, 20), "oom.slack_share"), 0.75, 1e-9);
}

record::Event waits(int rank, const char* group, const char* members, double last,
                    const char* op = "nccl:all_reduce", double numel = 64) {
  std::map<std::string, core::Value> caught = {{"group", std::string(group)},
                                               {"members", std::string(members)}};
  if (last >= 0) {
    caught["first"] = last;
    caught["last"] = last;
    caught["op"] = std::string(op);
    caught["numel"] = numel;
  }
  return event("flight-group", std::move(caught), rank, core::Severity::note);
}

TEST(FlightFacts, TheRankThatIsBehindIsAbsentAndItsVictimsAreNot) {
  // 2 hangs; 3 waits for it in their pair, and so is behind in the group of all.
  const FactTable facts = facts_of(
      {waits(0, "all", "0,1,2,3", 510), waits(1, "all", "0,1,2,3", 510),
       waits(2, "all", "0,1,2,3", -1), waits(3, "all", "0,1,2,3", -1), waits(2, "pair", "2,3", -1),
       waits(3, "pair", "2,3", 90), waits(0, "pair", "0,1", -1), waits(1, "pair", "0,1", -1)});
  EXPECT_EQ(number(facts, "hang.absent_ranks"), 1);
  ASSERT_NE(facts.find("hang.absent_rank"), nullptr);
  EXPECT_EQ(core::show(facts.find("hang.absent_rank")->value), "2");
  EXPECT_TRUE(holds(facts, "hang.late_seq"));
}

TEST(FlightFacts, DifferentCollectivesAtOneNumberAreAMismatch) {
  const FactTable facts = facts_of({waits(0, "all", "0,1", 12, "nccl:all_reduce"),
                                    waits(1, "all", "0,1", 12, "nccl:broadcast")});
  EXPECT_TRUE(holds(facts, "hang.collectives_differ"));
  EXPECT_EQ(number(facts, "hang.absent_ranks"), 0);
}

TEST(FlightFacts, SizesMayDifferInAnAllToAllOnly) {
  EXPECT_TRUE(holds(facts_of({waits(0, "all", "0,1", 12, "nccl:all_reduce", 8),
                              waits(1, "all", "0,1", 12, "nccl:all_reduce", 9)}),
                    "hang.sizes_differ"));
  EXPECT_FALSE(holds(facts_of({waits(0, "all", "0,1", 12, "nccl:all_to_all", 8),
                               waits(1, "all", "0,1", 12, "nccl:all_to_all", 9)}),
                     "hang.sizes_differ"));
}

}  // namespace
}  // namespace aplomb::diagnosis
