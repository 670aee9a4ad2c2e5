#include "api/artifact_lines.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "input/byte_stream.h"

namespace aplomb::api {
namespace {

bool is_packed(std::string_view path) { return path.ends_with(".gz") || path.ends_with(".zst"); }

std::string plain_window(const std::string& path, std::uint64_t begin, std::size_t size) {
  std::error_code no_throw;
  if (!std::filesystem::is_regular_file(path, no_throw)) return {};  // never wait on a pipe
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(begin));
  std::string block(size, '\0');
  file.read(block.data(), static_cast<std::streamsize>(size));
  block.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return block;
}

std::string unpack_head(const std::string& path, std::size_t most) {
  std::string head;
  auto bytes = input::open_bytes(path);
  if (!bytes) return head;
  for (std::string_view part; head.size() < most && !(part = (*bytes)->next()).empty();) {
    head += part;
  }
  return head;
}

}  // namespace

std::string ArtifactLines::window(const std::string& path, std::uint64_t begin, std::size_t size) {
  if (!is_packed(path)) return plain_window(path, begin, size);
  if (unpacked_path_ != path) {
    unpacked_ = unpack_head(path, k_most_unpacked);
    unpacked_path_ = path;
  }
  return begin < unpacked_.size() ? unpacked_.substr(begin, size) : std::string();
}

std::string ArtifactLines::line_at(const record::Source& source, const record::Origin& origin) {
  const std::uint64_t begin = origin.offset > k_before ? origin.offset - k_before : 0;
  const std::string block = window(source.path, begin, k_before + k_after);
  const auto place = static_cast<std::size_t>(origin.offset - begin);
  if (place >= block.size() || block.find('\0') != std::string::npos) return {};
  constexpr std::string_view k_ends = "\n\r";  // progress bars rewrite their line with \r
  const std::size_t before = place == 0 ? std::string::npos : block.find_last_of(k_ends, place - 1);
  const std::size_t from = before == std::string::npos ? 0 : before + 1;
  const std::size_t end = std::min(block.find_first_of(k_ends, place), block.size());
  return block.substr(from, end - from);
}

}  // namespace aplomb::api
