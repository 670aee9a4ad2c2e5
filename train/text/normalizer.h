#pragma once
/// Normalizers of tokenizer.json: each rewrites a text (UTF-8) in place.

#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"
#include "train/text/json_access.h"
#include "train/text/regex.h"

namespace aplomb::train::text {

class Normalizer {
 public:
  Normalizer() = default;
  virtual ~Normalizer() = default;
  Normalizer(const Normalizer&) = delete;
  Normalizer& operator=(const Normalizer&) = delete;
  virtual void apply(std::string& text) const = 0;
};

/// From `normalizer` of the file. Errors name the part that is not read.
core::Result<std::unique_ptr<const Normalizer>> make_normalizer(const Json& json);

/// `pattern` as Replace and Split write it: {"String": ...} or {"Regex": ...}.
core::Result<Regex> make_pattern(const Json& owner, std::string_view part);

/// Every match in `text` replaced by `content`.
void replace_all(const Regex& pattern, std::string_view content, std::string& text);

}  // namespace aplomb::train::text
