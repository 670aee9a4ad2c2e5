// Files made to hurt: each is refused or read with a clear word, in bounded time and memory, and
// nothing in them runs.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <tuple>

#include "checkpoint/checkpoint.h"
#include "checkpoint/torch_file.h"
#include "core/folder.h"
#include "made_checkpoints.h"
#include "made_torch.h"
#include "pickle/zip_archive.h"
#include "with_python.h"

namespace aplomb::checkpoint {
namespace {

namespace fs = std::filesystem;
using test::as_bytes;
using test::little;
using test::raw;
using test::state_dict;
using test::zip;
using ::testing::Contains;
using ::testing::HasSubstr;
using namespace std::string_literals;

std::vector<std::string> kinds(const TorchFile& file) {
  std::vector<std::string> all;
  for (const tensors::Finding& each : file.findings.list()) all.push_back(each.kind);
  return all;
}

core::Result<TorchFile> read(const std::string& file, bool verify = false) {
  return read_torch(as_bytes(file), nullptr, "made", verify);
}

TEST(HostileZip, AWholeArchiveIsReadInZip64Too) {
  for (const bool wide : {false, true}) {
    const auto got = read(zip({{"a/data.pkl", state_dict(2), 0, 0, {}, wide},
                               {"a/data/0", raw<float>({1, 2}), 0, 0, {}, wide}}));
    ASSERT_TRUE(got.has_value()) << got.error().text;
    EXPECT_TRUE(got->findings.list().empty());
    ASSERT_EQ(got->tensors.size(), 1U);
    tensors::Tensor tensor = got->tensors[0];
    tensor.mapped = false;
    EXPECT_EQ(tensors::scan_tensor(tensor)->sum, 3);
  }
}

TEST(HostileZip, ABombIsNotInflated) {
  // A gigabyte of zeros in a few hundred bytes of claims, and one that lies about its size.
  std::string packed(2048, '\0');
  z_stream stream{};
  ASSERT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string zeros(1U << 20U, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(zeros.data());
  stream.avail_in = static_cast<uInt>(zeros.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  ASSERT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  for (const std::uint64_t claims : {std::uint64_t{100}, std::uint64_t{0xFFFFFFF0}}) {
    const auto got = read(zip({{"a/data.pkl", state_dict(2)}, {"a/data/0", packed, claims, 8}}));
    ASSERT_TRUE(got.has_value()) << got.error().text;
    EXPECT_THAT(kinds(*got), Contains("checkpoint.missing-data"));
    EXPECT_FALSE(got->tensors[0].has_data());
  }
}

TEST(HostileZip, EntriesThatShareTheirBytesAreNamed) {
  const std::string data = raw<float>({1, 2});
  const auto got = read(zip({{"a/data.pkl", state_dict(2)},
                             {"a/data/0", data},
                             {"a/data/1", data, 0, 0, 30 + 10 + state_dict(2).size()}}));
  ASSERT_TRUE(got.has_value()) << got.error().text;
  EXPECT_THAT(kinds(*got), Contains("checkpoint.overlap"));
}

TEST(HostileZip, ADamagedMemberIsFoundByItsChecksum) {
  const std::string big(1U << 20U, '\1');
  std::string file =
      zip({{"a/data.pkl", state_dict(1U << 18U)}, {"a/data/0", big}, {"a/version", "3\n"}});
  EXPECT_TRUE(read(file, true)->findings.list().empty());
  file[file.find(big) + 5000] = '\2';
  EXPECT_TRUE(read(file)->findings.list().empty()) << "large members are read on request only";
  const auto got = read(file, true);
  EXPECT_THAT(kinds(*got), ::testing::ElementsAre("checkpoint.bad-crc"));
  EXPECT_THAT(got->findings.list()[0].text, HasSubstr("a/data/0"));
}

TEST(HostileZip, ATensorBeyondItsStorageHasNoData) {
  const auto got =
      read(zip({{"a/data.pkl", state_dict(1U << 30U)}, {"a/data/0", raw<float>({1, 2})}}));
  ASSERT_TRUE(got.has_value());
  EXPECT_THAT(kinds(*got), Contains("checkpoint.bad-offsets"));
  EXPECT_FALSE(got->tensors[0].has_data());
}

/// A pickle of one tensor of `size` and `stride` (opcodes that push a number, of each axis) over a
/// storage of one element, named `times` times.
std::string view(const std::string& size, const std::string& stride, int times = 1) {
  std::string out = "\x80\x02](";
  for (int i = 0; i < times; ++i) {
    out +=
        "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"
        "0X\3\0\0\0cpuK\1tQK\0("s +
        size + "t(" + stride + "t\x89}tR";
  }
  return out + "e.";
}

TEST(HostilePickle, AShapeThatNoKernelCountsIsImpossibleThoughItHoldsNothing) {
  const std::string wide = "\x8a\6" + little(std::uint64_t{1} << 40U, 6);
  for (const auto& [size, stride, fine] :
       std::vector<std::tuple<std::string, std::string, bool>>{{wide + "K\0"s, "K\1K\1", false},
                                                               {"K\0"s + wide, "K\1K\1", false},
                                                               {"K\0K\3"s, "K\3K\1", true}}) {
    const auto got = read(zip({{"a/data.pkl", view(size, stride)}, {"a/data/0", raw<float>({1})}}));
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(got->findings.list().empty(), fine);
  }
}

TEST(HostilePickle, ElementsThatAreRepeatedWithoutEndAreNotRead) {
  const std::string wide = "\x8a\6" + little(std::uint64_t{1} << 40U, 6);
  const std::string long_axis = "J" + little(std::uint64_t{1} << 24U, 4);
  const auto found = [](const std::string& pickle) {
    const auto got = read(zip({{"a/data.pkl", pickle}, {"a/data/0", raw<float>({1})}}));
    return kinds(*got);
  };
  // One element that claims to be 2^40; 2^24 of them, a thousand times.
  EXPECT_THAT(found(view(wide, "K\0"s)), ::testing::ElementsAre("checkpoint.bad-offsets"));
  EXPECT_THAT(found(view(long_axis, "K\0"s, 1000)), Contains("checkpoint.bad-offsets"));
  // As masks are expanded.
  EXPECT_THAT(found(view(long_axis, "K\0"s)), ::testing::IsEmpty());
}

long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(HostilePickle, MillionsOfValuesStayWithinTheBound) {
  constexpr std::size_t k_values = 6'000'000;
  const long before = peak_kilobytes();
  for (const std::string& each :
       {"(" + std::string(k_values, 'N') + "l.", "(" + std::string(k_values, ']') + "l.",
        "]" + std::string(k_values, '2') + "."}) {
    const pickle::PickleDocument document = pickle::read_pickle("\x80\x02" + each, "made");
    EXPECT_TRUE(document.fault.has_value());
  }
  std::string memo = "\x80\4N";
  memo.append(k_values, '\x94');
  EXPECT_TRUE(pickle::read_pickle(memo + ".", "made").fault.has_value());
  std::string sparse = "\x80\2N";
  for (std::uint64_t i = 0; i < 300'000; ++i) sparse += "r" + little(i * 14'000, 4);
  EXPECT_FALSE(pickle::read_pickle(sparse + ".", "made").fault.has_value());
  EXPECT_LT(peak_kilobytes() - before, 700'000);  // two documents at a time
}

TEST(HostilePickle, AMillionSmallNumbersTakeNoNodes) {
  const pickle::PickleDocument document =
      pickle::read_pickle("\x80\2(" + std::string(1'000'000, '\x88') + "l.", "made");
  ASSERT_FALSE(document.fault) << document.fault->text;
  EXPECT_LT(document.nodes.size(), 10U);
  EXPECT_EQ(document.at(document.root).items.size(), 1'000'000U);
}

TEST(HostileFolder, LinksThatLeadInCirclesAreNotFollowed) {
  const test::Folder folder;
  fs::create_directories(folder / "run");
  fs::create_directory_symlink("..", folder / "run/global_step1");
  fs::create_symlink("loop.safetensors", folder / "run/loop.safetensors");
  folder.write("run/model.safetensors",
               test::safetensors(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                                 raw<float>({1})));
  const auto got = open_checkpoint(folder / "run");
  ASSERT_TRUE(got.has_value()) << got.error().text;
  EXPECT_EQ(got->tensors.size(), 1U);
  EXPECT_FALSE(open_checkpoint(folder / "run/loop.safetensors").has_value());
}

TEST(HostileSafetensors, AMillionTensorsAreReadInSeconds) {
  constexpr std::size_t k_count = 1'000'000;
  std::string header = "{";
  header.reserve(k_count * 64);
  for (std::size_t i = 0; i < k_count; ++i) {
    fmt::format_to(std::back_inserter(header),
                   R"({}"t{}":{{"dtype":"U8","shape":[1],"data_offsets":[{},{}]}})",
                   i == 0 ? "" : ",", i, i, i + 1);
  }
  header += "}";
  const test::Folder folder;
  const std::string file =
      folder.write("model.safetensors", test::safetensors(header, std::string(k_count, '\1')));
  const auto got = open_checkpoint(file);
  ASSERT_TRUE(got.has_value()) << got.error().text;
  EXPECT_EQ(got->tensors.size(), k_count);
  EXPECT_TRUE(got->findings.empty());
}

TEST(HostilePickle, PythonsOwnExploitsAreNamedWithTheirByteAndNeverRun) {
  const std::string python = test::python_with("torch.distributed.checkpoint");
  if (python.empty()) GTEST_SKIP() << "no Python with torch here";
  const test::Folder folder;
  ASSERT_TRUE(test::run_script(python, "make_exploits.py", folder / "evil"));
  std::size_t seen = 0;
  for (const auto& each : fs::directory_iterator(folder / "evil")) {
    if (each.path().extension() != ".pt") continue;
    SCOPED_TRACE(each.path());
    const auto got = open_checkpoint(each.path().string());
    ASSERT_TRUE(got.has_value()) << got.error().text;
    const auto found = std::find_if(
        got->findings.begin(), got->findings.end(),
        [](const tensors::Finding& finding) { return finding.kind == "pickle.dangerous"; });
    ASSERT_NE(found, got->findings.end());
    EXPECT_EQ(found->severity, core::Severity::failed);
    EXPECT_GT(found->offset, 0U);
    for (const tensors::Tensor& tensor : got->tensors) tensors::scan_tensor(tensor);
    ++seen;
  }
  EXPECT_EQ(seen, 27U);
  EXPECT_FALSE(fs::exists(folder / "evil/ran"));

  const auto outside = open_checkpoint(folder / "evil/dcp");
  ASSERT_TRUE(outside.has_value()) << outside.error().text;
  EXPECT_THAT(outside->findings.at(0).text, HasSubstr("outside its folder"));
  ASSERT_EQ(outside->tensors.size(), 1U);
  EXPECT_FALSE(outside->tensors[0].has_data());
}

}  // namespace
}  // namespace aplomb::checkpoint
