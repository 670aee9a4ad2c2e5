#pragma once
/// Sequence of tokenizer.json: parts of one kind (normalizers, decoders) applied one after the
/// other.

#include <fmt/format.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "train/text/json_access.h"

namespace aplomb::train::text {

/// `Part::apply` rewrites a Subject in place.
template <class Part, class Subject>
class Sequence : public Part {
 public:
  explicit Sequence(std::vector<std::unique_ptr<const Part>> parts) : parts_(std::move(parts)) {}
  void apply(Subject& subject) const override {
    for (const auto& part : parts_) part->apply(subject);
  }

 private:
  std::vector<std::unique_ptr<const Part>> parts_;
};

/// `kind` is `decoder`; its member `decoders` lists the parts, and `make` reads one.
template <class Part, class Subject, class Make>
core::Result<std::unique_ptr<const Part>> make_sequence(const Json& json, std::string_view kind,
                                                        Make make) {
  const std::string list_name = fmt::format("{}s", kind);
  const auto list = array_member(json, list_name);
  if (!list)
    return core::fail(core::ErrorCode::bad_format,
                      fmt::format("{} Sequence has no list `{}`", kind, list_name));
  std::vector<std::unique_ptr<const Part>> parts;
  for (const Json each : *list) {
    core::Result<std::unique_ptr<const Part>> part = make(each);
    if (!part) return part;
    parts.push_back(std::move(*part));
  }
  return std::make_unique<const Sequence<Part, Subject>>(std::move(parts));
}

}  // namespace aplomb::train::text
