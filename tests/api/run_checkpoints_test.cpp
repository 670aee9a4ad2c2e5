// Which folders of a run are one checkpoint: DeepSpeed's and accelerate's shards lie in folders of
// their own below it.

#include <aplomb/diagnose.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "checkpoint/made_checkpoints.h"
#include "core/folder.h"

namespace aplomb::api {
namespace {

namespace fs = std::filesystem;

const fs::path k_shards = APLOMB_SOURCE_DIR "/tests/checkpoint/data/zero2/global_step3";

void copy_shards(const std::string& to) {
  fs::create_directories(to);
  fs::copy(k_shards, to, fs::copy_options::recursive);
}

/// The summary of `tensor.frozen`: two copies of the same shards differ nowhere.
std::string frozen_in(const test::Folder& run) {
  for (const ReportSymptom& each : diagnose({run.path()}, {}).symptoms) {
    if (each.id == "tensor.frozen") return each.summary;
  }
  return {};
}

TEST(RunCheckpoints, ShardsInAFolderOfTheirOwnBelongToTheCheckpointAboveThem) {
  const test::Folder run;
  for (const char* step : {"3", "6"}) {
    const std::string checkpoint = run / (std::string("checkpoint-") + step);
    copy_shards(checkpoint + "/global_step" + step);
    std::ofstream(checkpoint + "/trainer_state.json") << R"({"global_step": )" << step << "}";
  }
  const std::string said = frozen_in(run);
  EXPECT_NE(said.find("7 of 7 tensors did not move"), std::string::npos) << said;
}

TEST(RunCheckpoints, StepFoldersBesideEachOtherAreCheckpointsOfTheirOwn) {
  const test::Folder run;
  copy_shards(run / "global_step3");
  copy_shards(run / "global_step9");
  std::ofstream(run / "latest") << "global_step9";
  EXPECT_NE(frozen_in(run).find("did not move"), std::string::npos);
}

TEST(RunCheckpoints, OneCheckpointIsNotComparedWithItself) {
  const test::Folder run;
  copy_shards(run / "checkpoint-3/global_step3");
  EXPECT_EQ(frozen_in(run), "");
}

}  // namespace
}  // namespace aplomb::api
