#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace aplomb::test {
namespace {

constexpr const char* k_config = R"({"model_type": "llama", "hidden_size": 2048,
  "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32,
  "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": true,
  "max_position_embeddings": 131072, "torch_dtype": "bfloat16"})";

TEST(Plan, SaysWhatARunNeedsFromAConfigurationAlone) {
  const Folder folder;
  const Said said = run_program("% plan " + folder.write("config.json", k_config) +
                                " --gpu A100 --method lora --length 1024");
  EXPECT_EQ(said.status, 0) << said.error;
  EXPECT_EQ(said.out.rfind("FITS", 0), 0U) << said.out;
  EXPECT_NE(said.out.find("NVIDIA A100"), std::string::npos);
  EXPECT_NE(said.out.find("1.24 B parameters"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("tokens/s"), std::string::npos);
}

TEST(Plan, LinesStayWithinEightyColumns) {
  const Folder folder;
  const Said said = run_program("% plan " + folder.write("config.json", k_config) +
                                " --gpu 8xT4 --batch 16 --fit");
  std::stringstream lines(said.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(Plan, AnswersInJson) {
  const Folder folder;
  const Said said = run_program("% plan --json --fit " + folder.write("config.json", k_config) +
                                " --gpu T4 --batch 8");
  EXPECT_EQ(said.status, 1) << said.error;
  const auto plan = nlohmann::json::parse(said.out);
  EXPECT_EQ(plan["schema"], "aplomb.plan/1");
  EXPECT_FALSE(plan["memory"]["fits"]);
  EXPECT_FALSE(plan["ladder"].empty());
  double sum = 0;
  for (const auto& part : plan["memory"]["parts"]) sum += part["bytes"].get<double>();
  EXPECT_NEAR(sum / plan["memory"]["needed_bytes"].get<double>(), 1, 1e-6);
}

TEST(Plan, WritesAPageThatLoadsNothing) {
  const Folder folder;
  const std::string page = folder / "plan.html";
  const Said said = run_program("% plan " + folder.write("config.json", k_config) +
                                " --gpu T4 --batch 8 --set 'model.name=<b>x</b>' --html " + page);
  EXPECT_EQ(said.status, 1) << said.error;
  const std::string text = content(page);
  EXPECT_NE(text.find("class=\"stack\""), std::string::npos);
  EXPECT_NE(text.find("What would save memory"), std::string::npos);
  EXPECT_EQ(text.find("<b>x</b>"), std::string::npos);
  EXPECT_EQ(text.find("http"), text.find("http-equiv"));
  EXPECT_EQ(text.find("<script"), std::string::npos);
}

TEST(Plan, AModelThatIsOnlyNamedIsKnownByName) {
  const Folder folder;
  const Said said =
      run_program("% plan --gpu A100 " +
                  folder.write("axolotl.yaml",
                               "base_model: Qwen/Qwen2.5-0.5B\nsequence_len: 512\n"
                               "micro_batch_size: 1\nsample_packing: true\nbf16: true\n"));
  EXPECT_EQ(said.status, 0) << said.error;
  EXPECT_NE(said.out.find("494 M parameters"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("as published"), std::string::npos) << said.out;
}

TEST(Plan, ReadsTheTrainersConfigurationAndFlagsHaveTheLastWord) {
  const Folder folder;
  const std::string files =
      folder.write("config.json", k_config) + " " +
      folder.write("axolotl.yaml",
                   "base_model: meta-llama/Llama-3.2-1B\nsequence_len: 4096\nmicro_batch_size: 2\n"
                   "gradient_accumulation_steps: 4\nadapter: lora\nlora_r: 16\nlora_target_linear: "
                   "true\nbf16: true\noptimizer: adamw_bnb_8bit\ngradient_checkpointing: true\n"
                   "flash_attention: true\n");
  const Said said = run_program("% plan --json " + files + " --batch 3");
  ASSERT_EQ(said.status, 0) << said.error;
  const auto training = nlohmann::json::parse(said.out)["training"];
  EXPECT_EQ(training["method"], "lora");
  EXPECT_EQ(training["length"], 4096);
  EXPECT_EQ(training["micro_batch"], 3);
  EXPECT_EQ(training["accumulation"], 4);
  EXPECT_EQ(training["optimizer"], "adamw_8bit");
  EXPECT_EQ(training["attention"], "flash_attention_2");
  EXPECT_TRUE(training["checkpointing"]);
}

TEST(Plan, RefusesWhatItCannotPlan) {
  const Folder folder;
  const Said bare =
      run_program("% plan " + folder.write("axolotl.yaml",
                                           "base_model: x/y\nsequence_len: 512\n"
                                           "micro_batch_size: 1\nsample_packing: true\n"));
  EXPECT_EQ(bare.status, 2);
  EXPECT_NE(bare.error.find("config.json"), std::string::npos) << bare.error;
  EXPECT_EQ(run_program("% plan /no/such/config.json").status, 2);
  const std::string config = folder.write("config.json", k_config);
  EXPECT_EQ(run_program("% plan " + config + " --batch many").status, 2);
  EXPECT_EQ(run_program("% plan " + config + " --set no.such=1").status, 2);
}

TEST(Plan, RefusesSizesThatNoModelCanHaveBeforeItComputes) {
  const Folder folder;
  for (const char* size : {R"("num_hidden_layers": 2000000000, "vocab_size": 32000)",
                           R"("num_hidden_layers": 32, "vocab_size": 1e12)",
                           R"("num_hidden_layers": -4, "vocab_size": 32000)",
                           R"("num_hidden_layers": NaN, "vocab_size": 32000)",
                           R"("num_hidden_layers": "many", "vocab_size": 32000)"}) {
    const std::string path = folder.write(
        "config.json",
        std::string(R"({"model_type":"llama","hidden_size":4096,"intermediate_size":11008,)"
                    R"("num_attention_heads":32,)") +
            size + "}");
    // 400 MB of address space would not hold the layers' tensors.
    const Said plan = run_program("ulimit -v 400000; % plan " + path);
    EXPECT_EQ(plan.status, 2) << size << plan.out;
    EXPECT_NE(plan.error.find("config.json:1"), std::string::npos) << plan.error;
    EXPECT_NE(plan.error.find("likely"), std::string::npos) << plan.error;
    const Said checked = run_program("% check " + path);
    EXPECT_EQ(checked.status, 1) << size << checked.out;
    EXPECT_NE(checked.out.find("size that no model can have"), std::string::npos) << checked.out;
    const Said diagnosed = run_program("% diagnose " + path);
    EXPECT_NE(diagnosed.out.find("no model"), std::string::npos) << diagnosed.out;
  }
  const Said flag =
      run_program("% plan " + folder.write("c.json", k_config) + " --set model.layers=2000000000");
  EXPECT_EQ(flag.status, 2);
  EXPECT_NE(flag.error.find("is above 10000"), std::string::npos) << flag.error;
}

}  // namespace
}  // namespace aplomb::test
