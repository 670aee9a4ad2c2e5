// What needs more memory than --max-memory allows is left out and named, in every command that reads;
// nothing dies of it, hangs, or is called healthy without what was left out.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace aplomb::cli {
namespace {

using test::Folder;
using test::run_program;
using test::Said;
using ::testing::HasSubstr;

std::string log_of(int steps) {
  std::string text;
  for (int i = 1; i <= steps; ++i) {
    text += "{'loss': " + std::to_string(1 + 2.0 / i) +
            ", 'grad_norm': 1.0, 'learning_rate': " + "0.0001, 'step': " + std::to_string(i) +
            "}\n";
  }
  return text;
}

/// So many runs that they cannot all be held.
void make_runs(const Folder& folder, int count) {
  const std::string log = log_of(4000);
  for (int i = 0; i < count; ++i) folder.write("r" + std::to_string(i) + "/train.log", log);
}

TEST(MaxMemory, RunsThatDoNotFitAreLeftOutAndNamed) {
  const Folder folder;
  make_runs(folder, 200);
  const Said said = run_program("timeout 300 % diagnose --json --max-memory 64M " + (folder / ""));
  EXPECT_EQ(said.status, 1) << said.error;
  const auto report = nlohmann::json::parse(said.out);
  EXPECT_EQ(report["verdict"], "insufficient-evidence");
  std::size_t left_out = 0;
  for (const auto& input : report["inputs"]) {
    for (const auto& warning : input["warnings"])
      left_out += warning.get<std::string>().find("--max-memory") == std::string::npos ? 0U : 1U;
  }
  EXPECT_GT(left_out, 10U);
  EXPECT_LT(left_out, 200U);
}

TEST(MaxMemory, ABundleOfThemIsWrittenOrRefused) {
  const Folder folder;
  make_runs(folder, 60);
  const std::string out = folder / "bundle.tar.gz";
  const Said said =
      run_program("timeout 300 % bundle --yes --max-memory 40M " + (folder / "") + " -o " + out);
  EXPECT_TRUE(said.status == 0 || said.status == 2) << said.status << said.error;
  EXPECT_EQ(said.status == 0, std::ifstream(out).good());
}

TEST(MaxMemory, WhatHoldsMoreThanAllOfItIsAnErrorThatSaysSo) {
  const Folder folder;
  std::string header = "{";
  for (int i = 0; i < 150'000; ++i) {
    header += "\"model.layers." + std::to_string(i) +
              ".weight\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},";
  }
  header.back() = '}';
  std::string file;
  for (std::size_t i = 0, size = header.size(); i < 8; ++i, size >>= 8U)
    file += static_cast<char>(size & 0xFFU);
  folder.write("c/model.safetensors", file + header);
  for (const char* command : {"ckpt scan", "ckpt optimizer", "ckpt resume", "diagnose"}) {
    const Said said = run_program(std::string("timeout 300 % ") + command + " --max-memory 24M " +
                                  (folder / "c"));
    EXPECT_TRUE(said.status == 1 || said.status == 2) << command << said.status << said.error;
    EXPECT_THAT(said.out + said.error, HasSubstr("memory")) << command;
  }
}

TEST(MaxMemory, ACheckThatCannotReadItsDataEnds) {
  const Folder folder;
  const std::string config = folder.write("train.yml", "dataset: data.jsonl\nbf16: true\n");
  std::string rows;
  for (int i = 0; i < 200'000; ++i)
    rows += "{\"text\": \"row " + std::to_string(i) + " of the data\"}\n";
  folder.write("data.jsonl", rows);
  const Said said = run_program("timeout 300 % check --max-memory 16M " + config);
  EXPECT_TRUE(said.status >= 0 && said.status <= 2) << said.status << said.error;
}

TEST(MaxMemory, IsASize) {
  const Folder folder;
  const std::string log = folder.write("train.log", log_of(100));
  for (const char* size : {"4G", "4GiB", "500m", "4000000000"})
    EXPECT_NE(run_program(std::string("% diagnose --max-memory ") + size + " " + log).status, 2);
  for (const char* size : {"much", "4X"})
    EXPECT_EQ(run_program(std::string("% diagnose --max-memory ") + size + " " + log).status, 2);
}

}  // namespace
}  // namespace aplomb::cli
