#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reader_support.h"

namespace aplomb::sources {
namespace {

using test::read_with;

struct Made {
  std::string_view category, name;
  double begin, duration;
};

std::string event(const Made& made) {
  return R"({"ph": "X", "cat": ")" + std::string(made.category) + R"(", "name": ")" +
         std::string(made.name) + R"(", "pid": 1, "tid": "stream 7", "ts": )" +
         std::to_string(made.begin) + R"(, "dur": )" + std::to_string(made.duration) +
         R"(, "args": {"text": "a } brace and \" quote", "grid": [1, 2]}})";
}

std::string trace(const std::vector<Made>& events) {
  std::string text =
      "{\n\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0}],\n\"traceEvents\": [\n";
  text += R"({"ph": "M", "name": "process_name", "pid": 1, "ts": 0, "args": {"name": "python"}})";
  for (const Made& made : events) text += ",\n" + event(made);
  return text + "\n], \"traceName\": \"x\"}\n";
}

/// Two steps of 1 s: 0.3 s loader, kernels for 0.8 s of which 0.2 s overlap, 0.1 s NCCL alone.
std::vector<Made> two_steps() {
  return {{"user_annotation", "ProfilerStep#3", 1e6, 1e6},
          {"kernel", "ncclDevKernel_AllReduce_Sum_f32", 2.8e6, 0.1e6},
          {"user_annotation", "ProfilerStep#4", 2e6, 1e6},
          {"cpu_op", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1e6, 0.3e6},
          {"kernel", "ampere_sgemm_128x64_tn", 1.4e6, 0.5e6},
          {"kernel", "vectorized_elementwise_kernel", 1.7e6, 0.4e6},
          {"cuda_runtime", "cudaStreamSynchronize", 1.9e6, 0.1e6},
          {"cuda_runtime", "cudaLaunchKernel", 1.3e6, 0.02e6},
          {"gpu_memcpy", "Memcpy HtoD", 1.35e6, 0.01e6}};
}

double number(const aplomb::record::Run& run, std::string_view name) {
  for (const record::Fact& fact : run.facts) {
    if (fact.name == name)
      return core::as_number(fact.value) == nullptr ? -1 : *core::as_number(fact.value);
  }
  return -1;
}

TEST(KinetoTrace, SaysWhereTheTimeOfAStepGoes) {
  const aplomb::record::Run run = read_with("kineto-trace", trace(two_steps()));
  EXPECT_EQ(number(run, "trace.steps"), 2);
  EXPECT_NEAR(number(run, "trace.step_s"), 1.0, 1e-9);
  EXPECT_NEAR(number(run, "trace.loader_share"), 0.15, 1e-9);
  EXPECT_NEAR(number(run, "trace.gpu_busy_share"), 0.8 / 2, 1e-9);  // 1.4..2.1 and 2.8..2.9
  EXPECT_NEAR(number(run, "trace.exposed_communication_share"), 0.05, 1e-9);
  EXPECT_NEAR(number(run, "trace.sync_share"), 0.05, 1e-9);
  EXPECT_NEAR(number(run, "trace.fp32_matmul_share"), 0.5, 1e-9);
  EXPECT_NEAR(number(run, "trace.mean_kernel_s"), 1.0 / 3, 1e-9);
  ASSERT_EQ(run.series.size(), 1U);
  EXPECT_EQ(run.series[0].role, record::Role::step_time_s);
  EXPECT_EQ(run.series[0].step, (std::vector<std::int64_t>{3, 4}));
  EXPECT_TRUE(run.defects.empty());
}

TEST(KinetoTrace, TheRecordDoesNotDependOnWhereThePartsEnd) {
  const std::string text = trace(two_steps());
  const aplomb::record::Run whole = read_with("kineto-trace", text);
  for (const std::size_t part : {1U, 2U, 7U, 64U, 1000U}) {
    const aplomb::record::Run parts = read_with("kineto-trace", text, part);
    test::expect_same_series(whole, parts);
    ASSERT_EQ(whole.facts.size(), parts.facts.size());
    for (std::size_t i = 0; i < whole.facts.size(); ++i) {
      EXPECT_EQ(whole.facts[i].because, parts.facts[i].because) << part;
    }
  }
}

TEST(KinetoTrace, CategoriesOf2021AndABareArrayAreRead) {
  std::string text = "[" + event({"Operator", "ProfilerStep#1", 0, 100}) + "," +
                     event({"Kernel", "k", 10, 50}) + "]";
  const aplomb::record::Run run = read_with("kineto-trace", text);
  EXPECT_NEAR(number(run, "trace.gpu_busy_share"), 0.5, 1e-9);
}

TEST(KinetoTrace, ATornTraceGivesWhatStoodBeforeTheTearAndSaysSo) {
  const std::string text = trace(two_steps());
  const aplomb::record::Run run = read_with("kineto-trace", text.substr(0, text.size() - 60));
  EXPECT_EQ(number(run, "trace.steps"), 2);
  ASSERT_EQ(run.defects.size(), 1U);
  EXPECT_EQ(run.defects[0].kind, "truncated");
}

TEST(KinetoTrace, HostileInputNeitherHangsNorGrows) {
  for (const std::string& text :
       {std::string("{\"traceEvents\": ["), std::string("{\"traceEvents\": 3}"), std::string("["),
        "{\"traceEvents\": [" + std::string(5000, '{'),
        "[{\"ph\": \"X\", \"ts\": \"x\"}]" + std::string(9, ']'),
        "[{\"ph\": \"X\", \"name\": \"" + std::string(3U << 20U, 'a') +
            "\", \"ts\": 1, \"dur\": 1}]"}) {
    const aplomb::record::Run run = read_with("kineto-trace", text, 4096);
    EXPECT_EQ(number(run, "trace.steps"), -1);
  }
}

TEST(KinetoTrace, SniffsItsOwnAndNothingElse) {
  EXPECT_EQ(test::chosen_reader("w.pt.trace.json", trace(two_steps())), "kineto-trace");
  EXPECT_NE(
      test::chosen_reader("trainer_state.json", "{\"log_history\": [{\"loss\": 1, \"step\": 1}]}"),
      "kineto-trace");
  EXPECT_NE(test::chosen_reader("log.txt", "step 1 loss 2\nstep 2 loss 1.9\n"), "kineto-trace");
}

}  // namespace
}  // namespace aplomb::sources
