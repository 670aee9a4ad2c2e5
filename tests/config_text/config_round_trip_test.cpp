/// read -> Settings -> render in the same framework -> read: no key that the table knows is lost.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "config_text/command_line.h"
#include "config_text/config_support.h"
#include "config_text/nested_text.h"
#include "config_text/toml_text.h"
#include "config_text/yaml_text.h"
#include "knowledge/render.h"
#include "sources/reader_support.h"

namespace aplomb::config_text {
namespace {

std::vector<ConfigEntry> parse_as(std::string_view syntax, std::string_view text) {
  if (syntax == "yaml") return parse_yaml(text).entries;
  if (syntax == "toml") return parse_toml(text).entries;
  if (syntax == "flags" || syntax == "hydra") return parse_command(text);
  return parse_nested(text);
}

/// The settings of a run under their names, the last of each, in the words of one framework.
std::vector<knowledge::SettingValue> settings_of_run(const aplomb::record::Run& run) {
  std::vector<knowledge::SettingValue> settings;
  std::set<std::string> seen;
  for (auto setting = run.settings.rbegin(); setting != run.settings.rend(); ++setting) {
    if (seen.insert(setting->name).second) settings.emplace_back(setting->name, setting->value);
  }
  return settings;
}

/// Names of settings that are lost on the way there and back.
std::vector<std::string> lost(const aplomb::record::Run& run, const std::string& framework) {
  const auto settings = settings_of_run(run);
  const knowledge::WrittenSettings written = knowledge::write_settings(framework, settings);
  aplomb::record::Run again;
  record::RunBuilder build(again);
  const record::SourceId source = build.open("rendered", "test", 0);
  std::set<const knowledge::Framework*> places;
  for (const knowledge::WrittenKey& key : written.keys) places.insert(key.framework);
  for (const knowledge::Framework* place : places) {
    std::vector<knowledge::SettingValue> own;
    std::copy_if(settings.begin(), settings.end(), std::back_inserter(own),
                 [&](const knowledge::SettingValue& one) {
                   const auto alone = knowledge::write_settings(framework, {one});
                   return !alone.keys.empty() && alone.keys.front().framework == place;
                 });
    const std::string text =
        knowledge::render_settings(place->slug == framework ? framework : place->slug, own);
    put_entries(parse_as(place->syntax, text), place->slug, build, source);
  }
  std::vector<std::string> missing;
  for (const auto& [name, value] : settings) {
    const bool writable =
        std::find(written.left_out.begin(), written.left_out.end(), name) == written.left_out.end();
    const record::Setting* back = again.setting(name);
    const bool off = value == core::Value(std::string("fp32")) ||
                     value == core::Value(std::string("none"));  // every switch off
    if (writable && !off && (back == nullptr || back->value != value)) {
      missing.push_back(name + " = " + core::show(value) +
                        (back == nullptr ? "" : ", read back as " + core::show(back->value)));
    }
  }
  return missing;
}

TEST(ConfigRoundTrip, KeepsAHandWrittenConfigurationOfEachSyntax) {
  struct Written {
    const char* reader;
    const char* path;
    const char* text;
  };
  const Written k_written[] = {
      {"config-yaml", "a.yaml",
       "base_model: m\nsequence_len: 512\nmicro_batch_size: 2\nbf16: true\nlearning_rate: "
       "3e-4\nadapter: lora\nlora_r: 8\n"
       "special_tokens:\n  pad_token: <pad>\n"},
      {"config-json", "ds_config.json",
       R"({"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}, "fp16": {"enabled": true},
           "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "betas": [0.9, 0.95]}}, "gradient_clipping": 1.0})"},
      {"config-toml", "t.toml", "[optimizer]\nlr = 3e-4\n[training]\nseq_len = 128\nsteps = 10\n"},
      {"python-config", "c.py",
       "args = TrainingArguments(learning_rate=1e-5, bf16=True, max_grad_norm=0.3, "
       "optim='adafactor', report_to=['wandb'])\n"},
  };
  for (const Written& one : k_written) {
    const aplomb::record::Run run = test::read_with(one.reader, one.text, 1U << 20U, one.path);
    ASSERT_GE(run.settings.size(), 3U) << one.path;
    const std::string framework =
        run.sources[0].framework.empty() ? "hf-trainer" : run.sources[0].framework;
    EXPECT_TRUE(lost(run, framework).empty())
        << one.path << ": " << ::testing::PrintToString(lost(run, framework));
  }
}

TEST(ConfigRoundTrip, KeepsEveryRealConfiguration) {
  const std::filesystem::path corpus =
      std::filesystem::path(APLOMB_SOURCE_DIR) / "../shared/corpus/configs";
  if (!std::filesystem::exists(corpus)) GTEST_SKIP() << "no corpus beside the sources";
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(corpus)) {
    if (!entry.is_regular_file() || entry.path().extension() == ".tsv") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    const std::string path = entry.path().string();
    const std::string reader = test::chosen_reader(path, text.str());
    const aplomb::record::Run run = test::read_with(reader, text.str(), 1U << 20U, path);
    const std::string framework = run.sources[0].framework;
    if (framework.empty()) continue;
    ++files;
    EXPECT_TRUE(lost(run, framework).empty())
        << path << " (" << framework << "): " << ::testing::PrintToString(lost(run, framework));
  }
  EXPECT_GT(files, 0U);
}

}  // namespace
}  // namespace aplomb::config_text
