#pragma once
/// Decoders of tokenizer.json: each rewrites the list of tokens; joined, the list is the text.

#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "train/text/json_access.h"

namespace aplomb::train::text {

class Decoder {
 public:
  Decoder() = default;
  virtual ~Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  virtual void apply(std::vector<std::string>& tokens) const = 0;
};

/// Errors name the part that is not read.
core::Result<std::unique_ptr<const Decoder>> make_decoder(const Json& json);

}  // namespace aplomb::train::text
