#include "log_errors/signatures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace aplomb::log_errors {
namespace {

constexpr double k_mib = 1048576.0;
constexpr double k_gib = 1073741824.0;

/// The events that a text of lines gives; a line may begin with `[rankN]: `, as the log reader
/// would cut it off.
std::vector<record::Event> all_events_of(std::string_view text) {
  aplomb::record::Run run;
  record::RunBuilder build(run);
  const record::SourceId source = build.open("log.txt", "text-log", text.size());
  SignatureMatcher matcher;
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    int rank = -1;
    if (line.substr(0, 5) == "[rank") {
      rank = line[5] - '0';
      line.remove_prefix(9);
    }
    matcher.line(line, ++number, at, rank, build, source);
    at = end + 1;
  }
  matcher.finish(build, source);
  return run.events;
}

/// The failures among them that have a name of their own: without notes, and without the general
/// `python-exception`, which stands beside the particular one.
std::vector<record::Event> events_of(std::string_view text) {
  std::vector<record::Event> events = all_events_of(text);
  std::erase_if(events, [](const record::Event& event) {
    return event.severity != core::Severity::failed || event.kind == "python-exception";
  });
  return events;
}

double number(const record::Event& event, const std::string& name) {
  const auto found = event.caught.find(name);
  const double* value = found == event.caught.end() ? nullptr : core::as_number(found->second);
  return value == nullptr ? -1 : *value;
}

TEST(SignatureTable, HasNoMistakesAndEveryExpressionCompiles) {
  const SignatureTable& table = SignatureTable::instance();
  EXPECT_GE(table.all().size(), 30U);
  EXPECT_EQ(table.mistakes(), std::vector<std::string>{});
  for (const auto& signature : table.all()) {
    EXPECT_EQ(signature->compiled().broken, std::vector<std::string>{}) << signature->kind;
    const bool placed = signature->role == SignatureRole::frame;
    EXPECT_EQ(signature->place.empty(), !placed) << signature->kind;
    EXPECT_EQ(signature->title.empty(), placed) << signature->kind;
  }
}

TEST(Signatures, ReadTheNumbersOfEveryWordingOfAnOutOfMemoryMessage) {
  struct Case {
    std::string_view text;
    double requested, total, free, allocated;
  };
  const Case cases[] = {
      {"RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 8.00 GiB total "
       "capacity; 6.50 GiB already "
       "allocated; 12.00 MiB free; 6.75 GiB reserved in total by PyTorch)",
       20 * k_mib, 8 * k_gib, 12 * k_mib, 6.5 * k_gib},
      {"RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 1; 11.00 GiB total "
       "capacity; 8.00 GiB already "
       "allocated; 1.50 GiB free; 96.00 MiB cached)",
       2 * k_gib, 11 * k_gib, 1.5 * k_gib, 8 * k_gib},
      {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.50 GiB. GPU 5 has a total "
       "capacity of 79.00 GiB "
       "of which 2.50 GiB is free. Process 17 has 76.50 GiB memory in use. Of the allocated memory "
       "70.00 GiB is "
       "allocated by PyTorch, and 3.00 GiB is reserved by PyTorch but unallocated.",
       4.5 * k_gib, 79 * k_gib, 2.5 * k_gib, 70 * k_gib},
      {"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB.\n  GPU 5 has a "
       "total capacity of 40.00 "
       "GiB of which 0 bytes is free.\n  Of the allocated memory 38.00 GiB is allocated by PyTorch",
       1 * k_gib, 40 * k_gib, 0, 38 * k_gib},
      {"RuntimeError: MPS backend out of memory (MPS allocated: 16.00 GiB, other allocations: 1.00 "
       "GiB, max allowed: "
       "18.00 GiB). Tried to allocate 256.00 MiB on private pool.",
       256 * k_mib, 18 * k_gib, -1, 16 * k_gib},
  };
  for (const Case& each : cases) {
    const auto events = events_of(each.text);
    ASSERT_EQ(events.size(), 1U) << each.text;
    EXPECT_EQ(events[0].kind, "cuda-oom");
    EXPECT_EQ(events[0].severity, core::Severity::failed);
    EXPECT_EQ(number(events[0], "requested"), each.requested) << each.text;
    EXPECT_EQ(number(events[0], "total"), each.total) << each.text;
    EXPECT_EQ(number(events[0], "free"), each.free) << each.text;
    EXPECT_EQ(number(events[0], "allocated"), each.allocated) << each.text;
  }
}

TEST(Signatures, FramesTellAnErrorWhereItHappenedAndANewTracebackForgetsThem) {
  const auto events = events_of(
      "Traceback (most recent call last):\n"
      "  File \"train.py\", line 10, in <module>\n"
      "    loss.backward()\n"
      "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
      "a\nb\nc\nd\n"
      "Traceback (most recent call last):\n"
      "ValueError: Asking to pad but the tokenizer does not have a padding token.\n");
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].caught.count("in_backward"), 1U);
  EXPECT_EQ(events[1].kind, "pad-token-missing");
  EXPECT_EQ(events[1].caught.count("in_backward"), 0U);
}

TEST(Signatures, KeepTheWatchdogLinesOfEachRankApartAndCountRepetitions) {
  std::string text;
  for (int rank = 0; rank < 3; ++rank) {
    for (int times = 0; times < 2; ++times) {
      text += "[E ProcessGroupNCCL.cpp:100] [Rank " + std::to_string(rank) +
              "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=77, OpType=" +
              (rank == 0 ? "REDUCE" : "ALLREDUCE") +
              ", NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600123 milliseconds before "
              "timing out.\n";
    }
  }
  const auto events = events_of(text);
  ASSERT_EQ(events.size(), 6U);  // first and last of each rank
  EXPECT_EQ(events[0].rank, 0);
  EXPECT_EQ(number(events[0], "seq"), 77);
  EXPECT_EQ(number(events[0], "times"), 2);
  EXPECT_EQ(number(events[0], "timeout_ms"), 600000);
  EXPECT_EQ(core::show(events[0].caught.at("op_text")), "REDUCE");
  EXPECT_EQ(core::show(events[2].caught.at("op_text")), "ALLREDUCE");
}

TEST(Signatures, ANameThatBeginsWithFrozenIsNoRunThatHangs) {
  const auto hangs = [](std::string_view text) {
    const auto events = all_events_of(text);
    return std::any_of(events.begin(), events.end(),
                       [](const record::Event& each) { return each.kind == "hang"; });
  };
  EXPECT_FALSE(hangs("frozenlist==1.8.0\n"));
  EXPECT_FALSE(hangs("Requirement already satisfied: frozenlist>=1.1.1 in /usr/lib\n"));
  EXPECT_FALSE(hangs("  (norm): FrozenBatchNorm2d(64)\nmodel.frozen_stages = 1\n"));
  EXPECT_TRUE(hangs("after two epochs the process is frozen and nothing moves\n"));
}

TEST(Signatures, AMillionEqualWarningsStayTwoEvents) {
  aplomb::record::Run run;
  record::RunBuilder build(run);
  const record::SourceId source = build.open("log.txt", "text-log", 0);
  SignatureMatcher matcher;
  for (std::uint64_t i = 1; i <= 100000; ++i) {
    matcher.line("OSError: [Errno 24] Too many open files: 'x'", i, i * 45, -1, build, source);
  }
  matcher.finish(build, source);
  ASSERT_EQ(run.events.size(), 2U);
  EXPECT_EQ(number(run.events[0], "times"), 100000);
  EXPECT_EQ(run.events[1].origin.line, 100000U);
}

TEST(Signatures, WhatPeopleWriteCountsInShortTextsOnly) {
  const std::string said = "the run freezes after the first epoch\n";
  const auto hangs = [](const std::vector<record::Event>& events) {
    return std::any_of(events.begin(), events.end(),
                       [](const record::Event& event) { return event.kind == "hang"; });
  };
  EXPECT_TRUE(hangs(all_events_of(said)));
  std::string log = said;
  for (std::uint64_t i = 0; i < SignatureMatcher::k_account_lines; ++i) log += "step\n";
  EXPECT_FALSE(hangs(all_events_of(log)));
}

bool tells(std::string_view text, std::string_view kind) {
  const std::vector<record::Event> events = all_events_of(text);
  return std::any_of(events.begin(), events.end(),
                     [&](const record::Event& event) { return event.kind == kind; });
}

TEST(Signatures, AStackBehindAMessageGivesItsInnermostFrameOutsideOfLibraries) {
  const std::string text =
      "UserWarning: Error detected in DivBackward0. Traceback of forward call that caused the "
      "error:\n"
      "  File \"/u/fit.py\", line 88, in <module>\n"
      "    loss = model(batch)\n"
      "           ^^^^^^^^^^^^\n"
      "  File \"/u/parts.py\", line 42, in forward\n"
      "    w = w / w.norm()\n"
      "  File \"/l/site-packages/torch/_tensor.py\", line 40, in wrapped\n"
      "    return f(*args)\n"
      " (Triggered internally at ../torch/csrc/anomaly.cpp:122.)\n"
      "    unrelated\n";
  const auto events = events_of(text);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, "anomaly-forward");
  EXPECT_EQ(events[0].text, "DivBackward0 at parts.py:42: w = w / w.norm()");
  EXPECT_EQ(events[0].origin.line, 6U);
}

TEST(Signatures, WhatCountsAtTheEndDoesNotWhereTheLogGoesOn) {
  const auto forms = [](std::string_view text) {
    const auto events = all_events_of(text);
    return std::any_of(events.begin(), events.end(),
                       [](const record::Event& event) { return event.kind == "group-forming"; });
  };
  EXPECT_TRUE(forms("Loading\nInitializing process group (nccl)\n"));
  EXPECT_TRUE(forms("Initializing process group (nccl)\n^C\nKeyboardInterrupt\n"));
  EXPECT_FALSE(forms("Initializing process group (nccl)\na\nb\nc\nd\n"));
  EXPECT_FALSE(forms("Initializing process group done in 2 s\n"));
}

TEST(Signatures, AStandstillAfterASaveIsAHangAndNoFrozenWeight) {
  constexpr std::string_view k_said =
      "The layers are saved; after saving there is no progress, the bar is not updated.\n";
  EXPECT_TRUE(tells(k_said, "hang-saving"));
  EXPECT_FALSE(tells(k_said, "weights-unmoved"));
  EXPECT_TRUE(tells("The layers are not updated.\n", "weights-unmoved"));
}

TEST(Signatures, ANewHeadIsNoMissingCheckpoint) {
  constexpr std::string_view k_head =
      "Some weights of XForSequenceClassification were not initialized from the model checkpoint "
      "at "
      "y and are newly initialized: ['classifier.weight', 'classifier.bias']\n";
  constexpr std::string_view k_body =
      "Some weights of XModel were not initialized from the model checkpoint at y and are newly "
      "initialized: ['encoder.layer.0.weight']\n";
  EXPECT_TRUE(tells(k_head, "task-head-new"));
  EXPECT_FALSE(tells(k_head, "newly-initialized"));
  EXPECT_FALSE(tells(k_head, "missing-keys"));
  EXPECT_TRUE(tells(k_body, "newly-initialized"));
  EXPECT_FALSE(tells(k_body, "task-head-new"));
}

TEST(Signatures, ANewVersionAndAFirstLossAreNoWrongCheckpoint) {
  EXPECT_FALSE(
      tells("With the latest checkpointing code the initial loss is 2.3.\n", "wrong-checkpoint"));
  EXPECT_TRUE(tells("It loads an older folder, not the latest checkpoint.\n", "wrong-checkpoint"));
  EXPECT_TRUE(tells("After the restart it is back to the initial loss.\n", "wrong-checkpoint"));
}

TEST(Signatures, ThatAChangeChangesNothingIsNoLackOfRepeatability) {
  EXPECT_FALSE(tells("With other images I get the same result.\n", "not-reproducible"));
  EXPECT_TRUE(tells("With one seed I never get the same result.\n", "not-reproducible"));
}

TEST(Signatures, FilesOfACheckpointAreToldApart) {
  EXPECT_TRUE(tells("model.pt\nscheduler.pt\n", "scheduler-file"));
  EXPECT_FALSE(tells("model.pt\nscheduler.pt\n", "optimizer-file"));
  EXPECT_TRUE(tells("optimizer.pt\nscheduler.pt\n", "optimizer-file"));
}

TEST(Signatures, RaiseNothingOnOrdinaryLines) {
  for (const record::Event& event :
       all_events_of("{'loss': 2.31, 'grad_norm': 1.2, 'learning_rate': 5e-05, 'epoch': 0.1}\n"
                     "Epoch 3: 100%|##########| 100/100 [00:31<00:00, 3.2it/s]\n"
                     "except torch.cuda.OutOfMemoryError:\n"
                     "import flash_attn\n"
                     "Saving model checkpoint to out/checkpoint-500\n"
                     "INFO:root:killed time until the data came\n"
                     "Loading checkpoint shards: 100%|##| 2/2 [00:03<00:00, 1.5s/it]\n"
                     "To resume, pass --resume_from_checkpoint out/checkpoint-500\n"
                     "FutureWarning: torch.cuda.amp.autocast(args...) is deprecated\n")) {
    EXPECT_EQ(event.severity, core::Severity::note) << event.kind << ": " << event.text;
  }
}

TEST(Signatures, AHeadThatTheFileDoesNotHoldIsDrawnAtRandom) {
  const auto kinds = [](std::string_view text) {
    std::vector<std::string> found;
    for (const record::Event& event : all_events_of(text)) found.push_back(event.kind);
    return found;
  };
  const auto tells = [&](std::string_view text) {
    const auto found = kinds(text);
    return std::find(found.begin(), found.end(), "head-missing") != found.end();
  };
  EXPECT_TRUE(tells("classifier.weight                          | MISSING    | "));
  EXPECT_TRUE(tells("score.weight | MISSING | "));
  EXPECT_TRUE(
      tells("Some weights of BertForSequenceClassification were not initialized from the model "
            "checkpoint at x and are newly initialized: ['classifier.bias', 'classifier.weight']"));
  EXPECT_FALSE(tells("cls.predictions.bias                       | UNEXPECTED | "));
  EXPECT_FALSE(tells("bert.encoder.layer.3.output.dense.weight   | MISSING    | "));
}

TEST(Signatures, AStageIsANumberOrAHeadingOfItsOwn) {
  const auto begins = [](std::string_view line) {
    const auto events = all_events_of(line);
    return std::any_of(events.begin(), events.end(),
                       [](const record::Event& each) { return each.kind == "stage-begins"; });
  };
  EXPECT_TRUE(begins("--- stage: sequences of length 3"));
  EXPECT_TRUE(begins("=== Phase: long clips ==="));
  EXPECT_TRUE(begins("Stage 2: all layers"));
  EXPECT_FALSE(begins("stage: train"));
  EXPECT_FALSE(begins("the stage: a model"));
}

}  // namespace
}  // namespace aplomb::log_errors
