#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace aplomb::cli {
namespace {

using test::Folder;
using test::run_program;
using test::Said;
using ::testing::HasSubstr;

const std::string k_run = APLOMB_SOURCE_DIR "/examples/bf16-frozen-norms";

std::string safetensors(const std::string& header, const std::string& data) {
  std::string length(8, '\0');
  const std::uint64_t size = header.size();
  std::memcpy(length.data(), &size, 8);
  return length + header + data;
}

nlohmann::json report_of(const Said& said) { return nlohmann::json::parse(said.out); }

TEST(CkptCommand, DiffNamesTheFrozenNormsAndTheCause) {
  const Said said =
      run_program("% ckpt diff --json " + k_run + "/checkpoint-200 " + k_run + "/checkpoint-400");
  EXPECT_EQ(said.status, 1) << said.error;
  const auto report = report_of(said);
  EXPECT_EQ(report["schema"], "aplomb.report/1");
  ASSERT_FALSE(report["causes"].empty());
  EXPECT_EQ(report["causes"][0]["id"], "stall.bf16-update-underflow");
  bool frozen = false;
  for (const auto& symptom : report["symptoms"]) {
    if (symptom["id"] != "tensor.frozen") continue;
    frozen = true;
    EXPECT_EQ(symptom["evidence"].size(), 5U);
    EXPECT_THAT(symptom["evidence"][0]["text"].get<std::string>(), HasSubstr("norm"));
  }
  EXPECT_TRUE(frozen);
  const Said table =
      run_program("% ckpt diff " + k_run + "/checkpoint-200 " + k_run + "/checkpoint-400");
  EXPECT_EQ(table.status, 1);
  EXPECT_THAT(table.out, HasSubstr("5 did not"));
  EXPECT_THAT(table.out, HasSubstr("norm weights"));
}

TEST(CkptCommand, PrecisionPredictsTheSameFromOneCheckpointAndPricesTheFix) {
  const Said said = run_program("% ckpt precision " + k_run + "/checkpoint-200");
  EXPECT_EQ(said.status, 1);
  EXPECT_THAT(said.out, HasSubstr("5 of 20 tensors lose all"));
  EXPECT_THAT(said.out, HasSubstr("fp32 master weights"));
  EXPECT_EQ(run_program("% ckpt precision --as fp32 " + k_run + "/checkpoint-200").status, 0);
}

TEST(CkptCommand, ARunsFolderStandsForItsNewestCheckpoint) {
  const Said said = run_program("% ckpt resume " + k_run);
  EXPECT_EQ(said.status, 0) << said.out << said.error;
  EXPECT_THAT(said.out, HasSubstr("step 400"));
  EXPECT_THAT(run_program("% ckpt optimizer " + k_run).out, HasSubstr("2 groups"));
  EXPECT_EQ(run_program("% ckpt scan " + k_run).status, 0);
}

TEST(CkptCommand, SaysWhatAnAdapterOrABareFileLacksForAResume) {
  const Folder folder;
  const std::string file = folder.write(
      "model.safetensors", safetensors(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                                       std::string(4, '\1')));
  const Said said = run_program("% ckpt resume --json " + file);
  EXPECT_EQ(said.status, 1);
  EXPECT_EQ(report_of(said)["symptoms"][0]["id"], "checkpoint.incomplete");
}

TEST(CkptCommand, FindsNaNAndZeros) {
  const Folder folder;
  const std::string nan("\0\0\xc0\x7f", 4);
  const std::string file =
      folder.write("model.safetensors",
                   safetensors(R"({"a.weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                               R"("b.weight":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
                               std::string(4, '\1') + nan + std::string(8, '\0')));
  const Said said = run_program("% ckpt scan --json " + file);
  EXPECT_EQ(said.status, 1);
  const auto report = report_of(said);
  EXPECT_EQ(report["verdict"], "failed");
  EXPECT_EQ(report["symptoms"][0]["id"], "tensor.nonfinite");
  EXPECT_THAT(report["symptoms"][0]["evidence"][0]["text"].get<std::string>(),
              HasSubstr("a.weight"));
  EXPECT_EQ(report["symptoms"][1]["id"], "tensor.all_zero");
}

TEST(CkptCommand, NamesCodeInAPickleAndRunsNone) {
  const Folder folder;
  const std::string proof = folder / "ran";
  const std::string file = folder.write("evil.pt",
                                        "\x80\x02"
                                        "cposix\nsystem\n(X" +
                                            std::string(1, static_cast<char>(6 + proof.size())) +
                                            std::string(3, '\0') + "touch " + proof + "tR.");
  const Said said = run_program("% ckpt scan --json " + file);
  EXPECT_EQ(said.status, 1) << said.error;
  EXPECT_EQ(report_of(said)["symptoms"][0]["id"], "pickle.dangerous");
  EXPECT_FALSE(std::filesystem::exists(proof));
}

TEST(CkptCommand, SaysTwoForWhatItCannotRead) {
  const Folder folder;
  EXPECT_EQ(run_program("% ckpt scan /nowhere/at/all").status, 2);
  EXPECT_EQ(run_program("% ckpt").status, 2);
  const Said keras =
      run_program("% ckpt scan " + folder.write("m.h5", "\x89HDF\r\n\x1a\n 0000000"));
  EXPECT_EQ(keras.status, 2);
  EXPECT_THAT(keras.error, HasSubstr("HDF5"));
  EXPECT_EQ(run_program("% ckpt scan " + folder.write("empty.pt", "")).status, 2);
}

TEST(CkptCommand, FiltersByNameAndKind) {
  const std::string path = k_run + "/checkpoint-200";
  const auto norms = report_of(run_program("% ckpt scan --json --kind norm " + path));
  EXPECT_EQ(norms["checkpoint"]["tensors"].size(), 5U);
  const auto one = report_of(
      run_program("% ckpt precision --json --only '*layers.0.*norm*' --threads 1 " + path));
  ASSERT_EQ(one["checkpoint"]["tensors"].size(), 2U);
  EXPECT_EQ(one["checkpoint"]["tensors"][0]["stays_frozen"], true);
  EXPECT_EQ(one["checkpoint"]["tensors"][0]["kind"], "norm");
  EXPECT_EQ(run_program("% ckpt scan --kind nonsense " + path).status, 2);
}

TEST(CkptCommand, ThePageHasAMapOfLayersAndKinds) {
  const Folder folder;
  const std::string page = folder / "page.html";
  run_program("% ckpt diff " + k_run + "/checkpoint-200 " + k_run + "/checkpoint-400 --html " +
              page);
  const std::string html = test::content(page);
  EXPECT_THAT(html, HasSubstr("By layer and kind"));
  EXPECT_THAT(html, HasSubstr("hsl(0 70% 80%);color:#111\">100 %"));
}

TEST(CkptCommand, SaysWhenAnotherNumberOfProcessesWillResume) {
  const std::string zero = APLOMB_SOURCE_DIR "/tests/checkpoint/data/zero2";
  EXPECT_THAT(run_program("% ckpt resume --world 3 " + zero).out,
              HasSubstr("2 processes saved it and 3 will resume"));
  EXPECT_THAT(run_program("% ckpt resume --world 2 " + zero).out,
              ::testing::Not(HasSubstr("will resume:")));
}

TEST(CkptCommand, ProcessesOfMpirunShareTheWorkAndSayItOnce) {
  if (std::system("mpirun --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no mpirun here";
  const std::string first = k_run + "/checkpoint-200";
  for (const std::string& what : {" ckpt scan --json " + first,
                                  " ckpt diff --json " + first + " " + k_run + "/checkpoint-400"}) {
    const Said by_itself = run_program("%" + what);
    const auto alone = report_of(by_itself)["checkpoint"];
    ASSERT_FALSE(alone["tensors"].empty());
    for (const char* count : {"2", "4"}) {
      const Said said = run_program(std::string("mpirun --allow-run-as-root --oversubscribe -n ") +
                                    count + " %" + what);
      EXPECT_EQ(said.status, by_itself.status) << said.error;
      EXPECT_EQ(report_of(said)["checkpoint"], alone);
    }
  }
}

TEST(CkptCommand, LatestNamesTheOneToResumeFromAndTheOnesToKeep) {
  const Said text = run_program("% ckpt latest " + k_run);
  EXPECT_EQ(text.status, 0) << text.error;
  EXPECT_THAT(text.out, HasSubstr("Resume from\n  " + k_run + "/checkpoint-400  step 400"));
  const Folder folder;
  std::filesystem::copy(k_run, folder / "out", std::filesystem::copy_options::recursive);
  std::filesystem::resize_file(folder / "out/checkpoint-400/optimizer.pt", 1000);
  const Said said = run_program("% ckpt latest --json " + (folder / "out"));
  EXPECT_EQ(said.status, 0) << said.error;
  const auto choice = report_of(said);
  EXPECT_EQ(choice["schema"], "aplomb.resume/1");
  EXPECT_EQ(choice["resume"]["step"], 200);
  EXPECT_EQ(choice["candidates"][0]["state"], "left");
  EXPECT_FALSE(choice["candidates"][0]["why_left"].empty());
  EXPECT_EQ(choice["keep"][0]["step"], 200);
  std::filesystem::remove(folder / "out/checkpoint-200/optimizer.pt");
  EXPECT_EQ(run_program("% ckpt latest " + (folder / "out")).status, 1);
  EXPECT_EQ(run_program("% ckpt latest " + (folder / "nowhere")).status, 2);
}

TEST(CkptCommand, AManifestIsWrittenAndHeldAgainstTheFiles) {
  const Folder folder;
  std::filesystem::copy(k_run + "/checkpoint-400", folder / "c");
  const std::string manifest = folder / "sums";
  const std::string scan = "% ckpt scan " + (folder / "c");
  EXPECT_EQ(run_program(scan + " --manifest " + manifest).status, 2);  // there is none yet
  EXPECT_EQ(run_program(scan + " --write-manifest " + manifest).status, 0);
  EXPECT_EQ(std::system(("cd " + (folder / "c") + " && sha256sum -c --status " + manifest).c_str()),
            0);
  EXPECT_EQ(run_program(scan + " --manifest " + manifest).status, 0);
  folder.write("c/config.json", "{}");
  const Said said = run_program(scan + " --json --manifest " + manifest);
  EXPECT_EQ(said.status, 1) << said.error;
  EXPECT_EQ(report_of(said)["symptoms"][0]["id"], "checkpoint.altered");
  EXPECT_THAT(said.out, HasSubstr("config.json has other bytes"));
  EXPECT_EQ(run_program(scan + " --write-manifest " + (folder / "c/model.safetensors")).status, 2);
}

TEST(CkptCommand, ConvertGivesMastersFromWhichTheRunCanBeResumed) {
  const Folder folder;
  const std::string from = k_run + "/checkpoint-200";
  const std::string wide = folder / "checkpoint-200-fp32";
  const Said said = run_program("% ckpt convert " + from + " " + wide + " --dtype float32 --json");
  EXPECT_EQ(said.status, 0) << said.error;
  EXPECT_EQ(report_of(said)["tensors"], 20);
  EXPECT_EQ(run_program("% ckpt scan " + wide).status, 0);
  EXPECT_EQ(run_program("% ckpt resume " + wide).status, 0);
  // What froze in bf16 moves in fp32.
  EXPECT_EQ(run_program("% ckpt precision " + wide).status, 0);
  EXPECT_EQ(run_program("% ckpt convert " + from + " " + wide).status, 2);
  EXPECT_EQ(run_program("% ckpt convert " + from + " " + from + "/inside").status, 2);
  EXPECT_EQ(
      run_program("% ckpt convert " + wide + " " + (folder / "back") + " --dtype bfloat16").status,
      0);
  const auto same = report_of(run_program("% ckpt diff --json " + from + " " + (folder / "back")));
  for (const auto& each : same["checkpoint"]["tensors"]) EXPECT_EQ(each["changed"], 0);
  std::filesystem::create_directory(folder / "empty");
  EXPECT_EQ(run_program("% ckpt convert " + from + " " + (folder / "empty")).status, 0);
}

/// Another process cuts the file while it is mapped: a finding or a finished answer, no SIGBUS.
TEST(CkptCommand, AFileThatIsCutUnderItEndsNothing) {
  constexpr std::uint64_t k_bytes = 256U << 20U;
  const std::string head = R"({"a.weight":{"dtype":"F32","shape":[)" + std::to_string(k_bytes / 4) +
                           R"(],"data_offsets":[0,)" + std::to_string(k_bytes) + "]}}";
  for (const char* delay : {"0.01", "0.03", "0.06", "0.1"}) {
    const Folder folder;
    const std::string path = folder.write("w.safetensors", safetensors(head, ""));
    std::filesystem::resize_file(path, 8 + head.size() + k_bytes);  // a hole: no bytes on the disk
    const Said said = run_program("% ckpt scan --threads 2 " + path + " & sleep " + delay +
                                  "; truncate -s 5000 " + path + "; wait $!");
    EXPECT_GE(said.status, 0) << delay;
    EXPECT_LE(said.status, 2) << delay << said.error;
    const bool told = said.out.find("checkpoint.lost") != std::string::npos ||
                      said.out.find("checkpoint.changed") != std::string::npos ||
                      said.error.find("[checkpoint]") != std::string::npos ||
                      said.out.find("all zero") != std::string::npos ||
                      said.out.find("tensors") != std::string::npos;
    EXPECT_TRUE(told) << delay << said.out << said.error;
  }
}

}  // namespace
}  // namespace aplomb::cli
