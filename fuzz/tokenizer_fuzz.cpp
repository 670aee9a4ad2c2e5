/// Fuzzes the trainer's tokenizer: any bytes as tokenizer.json, behind them (after a zero byte) a
/// text to encode. Ids stay inside the vocabulary, and each is written back.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "train/text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = input.find('\0');
  const std::string_view text = end == std::string_view::npos ? "a b" : input.substr(end + 1);
  auto tokenizer = aplomb::train::text::Tokenizer::parse(input.substr(0, end), "fuzz");
  if (!tokenizer) return 0;
  (void)tokenizer->add_special_token("<|pad|>");
  aplomb::train::text::Encoder encoder(*tokenizer);
  std::vector<std::int32_t> ids;
  for (const bool special : {true, false}) {  // the second time through the cache of words
    ids.clear();
    encoder.encode(text, special, ids);
    for (const std::int32_t id : ids) {
      if (id < 0 || id >= tokenizer->vocabulary()) std::abort();
    }
    (void)tokenizer->decode(ids, special);
  }
  return 0;
}
