/// Fuzzes the parser of the knowledge base's conditions.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "diagnosis/condition.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto condition =
      aplomb::diagnosis::Condition::parse({reinterpret_cast<const char*>(data), size});
  static_cast<void>(condition);
  return 0;
}
