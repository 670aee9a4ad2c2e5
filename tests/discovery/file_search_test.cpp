#include "discovery/file_search.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace aplomb::discovery {
namespace {

FoundFile found(const std::string& path, std::uint64_t bytes) {
  return {path, bytes, use_of(path)};
}

TEST(FileSearch, AFewScriptsBesideALogAreRead) {
  std::vector<FoundFile> files = {found("run/train.log", 100), found("run/loss.py", 900),
                                  found("run/generated.py", 10 << 20), found("run/curve.png", 9)};
  take_few_scripts(files);
  EXPECT_EQ(files[1].use, FileUse::read);
  EXPECT_EQ(files[2].use, FileUse::leave) << "too large for a script of training";
  EXPECT_EQ(files[3].use, FileUse::leave);
}

TEST(FileSearch, ARepositoryIsLeftAlone) {
  std::vector<FoundFile> files;
  for (int i = 0; i < 9; ++i) files.push_back(found("repo/m" + std::to_string(i) + ".py", 900));
  take_few_scripts(files);
  for (const FoundFile& file : files) EXPECT_EQ(file.use, FileUse::leave) << file.path;
}

TEST(FileSearch, ATokenizersWordsAreNoSettings) {
  EXPECT_EQ(use_of("model/tokenizer.json"), FileUse::leave);
  EXPECT_EQ(use_of("model/vocab.json"), FileUse::leave);
  EXPECT_EQ(use_of("model/tokenizer_config.json"), FileUse::read);
}

TEST(FileSearch, WhatATrackerSaysOfItselfIsNotSaidByTheRun) {
  for (const char* each :
       {"debug.log", "debug-internal.log", "run-20240621_122906-qn/logs/debug.log"})
    EXPECT_EQ(use_of(std::string("out/wandb/") + each), FileUse::leave) << each;
  EXPECT_EQ(use_of("out/wandb/run-20240621_122906-qn/files/output.log"), FileUse::read);
  EXPECT_EQ(use_of("out/debug.log"), FileUse::read);
}

TEST(FileSearch, WhatHoldsTensorsIsLeftToTheReaderOfCheckpoints) {
  EXPECT_EQ(use_of("out/checkpoint-5/optimizer.state"), FileUse::checkpoint);
  EXPECT_EQ(use_of("out/checkpoint-5/adapter_model.safetensors"), FileUse::checkpoint);
  EXPECT_EQ(use_of("out/checkpoint-5/training_state.json"), FileUse::read);
  EXPECT_EQ(use_of("out/run.state"), FileUse::read);
}

}  // namespace
}  // namespace aplomb::discovery
