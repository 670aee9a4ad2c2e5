#pragma once
/// Archives of torch.save, made byte by byte.

#include <zlib.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "made_checkpoints.h"

namespace aplomb::test {

using namespace std::string_literals;

inline std::uint32_t crc_of(const std::string& content) {
  return static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size())));
}

/// Of a zip archive.
struct Member {
  std::string name;
  std::string content;       ///< as it stands in the file
  std::uint64_t claims = 0;  ///< bytes of content, where it is packed
  std::uint64_t method = 0;
  std::optional<std::uint64_t> local = std::nullopt;  ///< a lie about where its header is
  bool zip64 = false;
};

inline std::string zip(const std::vector<Member>& members) {
  std::string out;
  std::string directory;
  for (const Member& each : members) {
    const std::uint64_t at = each.local.value_or(out.size());
    const std::uint64_t size = each.claims > 0 ? each.claims : each.content.size();
    const std::string sums = little(crc_of(each.content), 4);
    const std::string sizes = each.zip64 ? little(0xFFFFFFFF, 4) + little(0xFFFFFFFF, 4)
                                         : little(each.content.size(), 4) + little(size, 4);
    const std::string extra = each.zip64 ? little(1, 2) + little(24, 2) + little(size, 8) +
                                               little(each.content.size(), 8) + little(at, 8)
                                         : "";
    if (!each.local) {
      out += "PK\3\4" + little(45, 2) + little(0, 2) + little(each.method, 2) + little(0, 4) +
             sums + sizes + little(each.name.size(), 2) + little(0, 2) + each.name + each.content;
    }
    directory += "PK\1\2" + little(45, 2) + little(45, 2) + little(0, 2) + little(each.method, 2) +
                 little(0, 4) + sums + sizes + little(each.name.size(), 2) +
                 little(extra.size(), 2) + little(0, 2) + little(0, 2) + little(0, 2) +
                 little(0, 4) + little(each.zip64 ? 0xFFFFFFFF : at, 4) + each.name + extra;
  }
  const std::uint64_t at = out.size();
  out += directory;
  return out + "PK\5\6" + little(0, 4) + little(members.size(), 2) + little(members.size(), 2) +
         little(directory.size(), 4) + little(at, 4) + little(0, 2);
}

/// A state dict {"w": a float32 vector of `count` elements in storage 0}.
inline std::string state_dict(std::uint64_t count) {
  return "\x80\x02}X\1\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\n"s +
         "FloatStorage\nX\1\0\0\0"
         "0X\3\0\0\0cpuJ"s +
         little(count, 4) + "tQK\0J"s + little(count, 4) + "\x85K\1\x85\x89}tRs."s;
}

}  // namespace aplomb::test
