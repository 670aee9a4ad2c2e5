#include "input/byte_stream.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/folder.h"

namespace aplomb::input {
namespace {

std::string gzip(std::string_view text) {
  z_stream state{};
  EXPECT_EQ(deflateInit2(&state, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&state, text.size()), '\0');
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  state.avail_in = static_cast<uInt>(text.size());
  state.next_out = reinterpret_cast<Bytef*>(out.data());
  state.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&state, Z_FINISH), Z_STREAM_END);
  out.resize(state.total_out);
  deflateEnd(&state);
  return out;
}

std::string zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::string sample_text() {
  std::string text;
  for (int i = 0; i < 200000; ++i)
    text += "step " + std::to_string(i * 7919 % 100003) + " loss 2.5\n";
  return text;
}

/// All that comes out, with the packed bytes handed in in parts of `part`.
std::string unpack(std::string_view packed, std::size_t part, std::string& broken) {
  const auto stream = unpacked(bytes_of(packed, part));
  std::string all;
  for (std::string_view piece; !(piece = stream->next()).empty();) all += piece;
  broken = stream->broken();
  return all;
}

TEST(ByteStream, UnpacksGzipOfSeveralMembersWhateverThePartSize) {
  const std::string text = sample_text();
  const std::string packed =
      gzip(text.substr(0, 1000)) + gzip(text.substr(1000)) + std::string(512, '\0');
  for (const std::size_t part : {3UL, 4097UL, 1UL << 20U}) {
    std::string broken;
    EXPECT_EQ(unpack(packed, part, broken), text) << part;
    EXPECT_EQ(broken, "") << part;
  }
}

TEST(ByteStream, UnpacksZstdOfSeveralFrames) {
  const std::string text = sample_text();
  const std::string packed = zstd(text.substr(0, 5000)) + zstd(text.substr(5000));
  for (const std::size_t part : {4UL, 4097UL, 1UL << 20U}) {
    std::string broken;
    EXPECT_EQ(unpack(packed, part, broken), text) << part;
    EXPECT_EQ(broken, "");
  }
}

TEST(ByteStream, GivesWhatStandsBeforeATearAndSaysThatItIsTorn) {
  const std::string text = sample_text();
  for (const std::string& packed : {gzip(text), zstd(text)}) {
    std::string broken;
    const std::string got =
        unpack(std::string_view(packed).substr(0, packed.size() / 2), 1000, broken);
    EXPECT_FALSE(got.empty());
    EXPECT_EQ(text.compare(0, got.size(), got), 0);
    EXPECT_NE(broken.find("cut in the middle"), std::string::npos) << broken;
  }
}

TEST(ByteStream, SaysThatCorruptGzipIsInvalid) {
  std::string packed = gzip(sample_text());
  packed[packed.size() / 2] = static_cast<char>(packed[packed.size() / 2] ^ 0x55);
  packed[packed.size() / 2 + 1] = static_cast<char>(packed[packed.size() / 2 + 1] ^ 0x55);
  std::string broken;
  unpack(packed, 4096, broken);
  EXPECT_NE(broken, "");
}

TEST(ByteStream, TurnsUtf16WithAMarkIntoUtf8) {
  const std::string little("\xff\xfel\0\xf6\0=\xd8\x00\xde", 10);  // l, o umlaut, a grinning face
  const std::string big("\xfe\xff\0l\0\xf6\xd8=\xde\x00", 10);
  for (const std::size_t part : {4UL, 5UL, 100UL}) {
    std::string broken;
    EXPECT_EQ(unpack(little, part, broken), "l\xc3\xb6\xf0\x9f\x98\x80");
    EXPECT_EQ(unpack(big, part, broken), "l\xc3\xb6\xf0\x9f\x98\x80");
  }
}

TEST(ByteStream, RefusesFoldersPipesAndMissingFiles) {
  const std::string folder =
      std::filesystem::temp_directory_path() / ("aplomb_bytes_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string pipe = folder + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(open_bytes(folder).error().code, core::ErrorCode::not_readable);
  EXPECT_EQ(open_bytes(pipe).error().code, core::ErrorCode::not_readable);
  EXPECT_EQ(open_bytes(folder + "/none").error().code, core::ErrorCode::not_found);
  std::filesystem::remove_all(folder);
}

TEST(ByteStream, ReadsAllOrSaysThatItIsTooMuch) {
  const std::string text(5000, 'x');
  EXPECT_EQ(read_all(*bytes_of(text, 999), 5000).value(), text);
  EXPECT_EQ(read_all(*bytes_of(text, 999), 4999).error().code, core::ErrorCode::too_large);
  bool cut = false;
  EXPECT_EQ(read_at_most(*bytes_of(text, 999), 4000, cut).size(), 4000U);
  EXPECT_TRUE(cut);
  EXPECT_EQ(read_at_most(*bytes_of(text, 999), 5000, cut).size(), 5000U);
  EXPECT_FALSE(cut);
}

TEST(ByteStream, AFileThatIsCutWhileItIsReadSaysSo) {
  const test::Folder folder;
  const std::string path = folder.write("train.log", std::string(3U << 20U, 'x'));
  auto bytes = open_bytes(path);
  ASSERT_TRUE(bytes);
  ASSERT_FALSE((*bytes)->next().empty());
  std::filesystem::resize_file(path, 1U << 20U);
  std::uint64_t all = 0;
  while (!(*bytes)->next().empty()) all = (*bytes)->consumed();
  EXPECT_EQ(all, 1U << 20U);
  EXPECT_NE((*bytes)->broken().find("3145728 bytes that it had"), std::string::npos);
  EXPECT_NE((*bytes)->broken().find("rotated"), std::string::npos);
}

TEST(ByteStream, AFileThatGrowsIsReadToItsNewEndAndOneThatIsReplacedToItsOldOne) {
  const test::Folder folder;
  const std::string path = folder.write("train.log", std::string(1U << 20U, 'x'));
  auto bytes = open_bytes(path);
  ASSERT_TRUE(bytes);
  ASSERT_FALSE((*bytes)->next().empty());
  std::ofstream(path, std::ios::app) << std::string(1000, 'y');
  std::filesystem::rename(path, path + ".1");  // as logrotate does
  folder.write("train.log", "new");
  std::string last;
  for (std::string_view part; !(part = (*bytes)->next()).empty();) last = part;
  EXPECT_EQ((*bytes)->consumed(), (1U << 20U) + 1000U);
  EXPECT_EQ(last.back(), 'y');
  EXPECT_EQ((*bytes)->broken(), "");
}

}  // namespace
}  // namespace aplomb::input
