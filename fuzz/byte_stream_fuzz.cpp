/// Fuzzes the decompressors: any bytes, in parts of any size; at most 16 MiB are taken out of them.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "input/byte_stream.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto stream =
      aplomb::input::unpacked(aplomb::input::bytes_of(input, std::size_t{1} << (data[0] % 13U)));
  constexpr std::size_t k_most = 16U << 20U;
  std::size_t total = 0;
  for (std::string_view part; total < k_most && !(part = stream->next()).empty();)
    total += part.size();
  return 0;
}
