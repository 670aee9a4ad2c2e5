#include "api/bundle.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace aplomb::api {
namespace {

namespace fs = std::filesystem;

class BundleTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("aplomb-bundle-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// A log of 5,000 lines whose line 3,000 is evidence of a symptom.
  report::DiagnosedRun long_log() {
    const fs::path log = folder_ / "train.log";
    std::ofstream out(log);
    for (int i = 1; i <= 5000; ++i) out << "step " << i << " | loss 2.0 | /home/ann/x\n";
    out.close();
    report::DiagnosedRun each;
    each.run.sources.push_back({log.string(), "text-log", fs::file_size(log), {}});
    detectors::Symptom symptom;
    symptom.evidence.push_back({0, 3000, 0});
    each.symptoms.push_back(symptom);
    return each;
  }
  fs::path folder_;
};

const BundleEntry* find(const Bundle& bundle, const std::string& name) {
  for (const BundleEntry& entry : bundle.entries) {
    if (entry.name == "aplomb-bundle/" + name) return &entry;
  }
  return nullptr;
}

TEST_F(BundleTest, KeepsHeadTailAndTheLinesAroundTheEvidenceAndRedactsThem) {
  BundleOptions options;
  options.whole_file_bytes = 1000;
  const Bundle bundle = make_bundle({long_log()}, {}, options);
  const BundleEntry* log = find(bundle, "train.log");
  ASSERT_NE(log, nullptr);
  EXPECT_NE(log->bytes.find("step 1 |"), std::string::npos);
  EXPECT_NE(log->bytes.find("step 3000 |"), std::string::npos);
  EXPECT_NE(log->bytes.find("step 5000 |"), std::string::npos);
  EXPECT_EQ(log->bytes.find("step 2000 |"), std::string::npos);
  EXPECT_NE(log->bytes.find("lines left out"), std::string::npos);
  EXPECT_EQ(log->bytes.find("ann"), std::string::npos);
  EXPECT_EQ(bundle.redacted.at("user"), 1U);
}

TEST_F(BundleTest, ALineThatIsCutIsRedactedBefore) {
  const std::string secret =
      "hf_U8JZpDE0iGXlD6gNCFba"
      "EPFjbD0kH8Oool";
  const std::string opening = "{\"api_key\": \"" + secret + "\", \"note\": \"";
  for (std::size_t before = 1900; before < 2010; ++before) {
    report::DiagnosedRun each = long_log();
    const fs::path log = folder_ / "train.log";
    std::ofstream out(log, std::ios::app);
    out << std::string(before, 'x') << ' ' << secret << " step 5001\n";
    // Where all before it goes as well, the end of what was read moves to the front.
    for (int i = 0; i < 140; ++i) out << opening;
    out << '\n';
    out.close();
    each.run.sources[0].bytes = fs::file_size(log);
    BundleOptions options;
    options.whole_file_bytes = 1000;
    const Bundle bundle = make_bundle({each}, {}, options);
    const BundleEntry* entry = find(bundle, "train.log");
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->bytes.find(secret.substr(0, 6)), std::string::npos) << before;
  }
}

TEST_F(BundleTest, TwoFilesOfOneNameBothStay) {
  report::DiagnosedRun each = long_log();
  fs::create_directories(folder_ / "b");
  std::ofstream(folder_ / "b" / "train.log") << "other\n";
  each.run.sources.push_back({(folder_ / "b" / "train.log").string(), "text-log", 6, {}});
  const Bundle bundle = make_bundle({each}, {}, {});
  EXPECT_NE(find(bundle, "train.log"), nullptr);
  ASSERT_NE(find(bundle, "train-2.log"), nullptr);
  EXPECT_EQ(find(bundle, "train-2.log")->bytes, "other\n");
}

TEST_F(BundleTest, WritesAnArchiveThatTarReadsAndRefusesAPlaceThatCannotBeWritten) {
  const Bundle bundle = make_bundle({long_log()}, {}, {});
  const std::string path = (folder_ / "out.tar.gz").string();
  const auto written = write_bundle(bundle, path);
  ASSERT_TRUE(written) << written.error().text;
  EXPECT_GT(*written, 100U);
  EXPECT_EQ(std::system(("tar tzf " + path + " | grep -q aplomb-bundle/train.log").c_str()), 0);
  const auto refused = write_bundle(bundle, (folder_ / "no" / "such" / "out.tar.gz").string());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, core::ErrorCode::not_writable);
}

}  // namespace
}  // namespace aplomb::api
