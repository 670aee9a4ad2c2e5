#pragma once
/// Finding: what a checkpoint reader has to say beside the tensors: damage, lies of a header, code
/// hidden in a pickle. Reading goes on after it wherever it can.
///
/// Kinds: `pickle.dangerous`, `pickle.suspicious`, `pickle.inconclusive`, `pickle.damaged`,
/// `checkpoint.truncated`, `checkpoint.bad-header`, `checkpoint.bad-offsets`,
/// `checkpoint.overlap`, `checkpoint.gap`, `checkpoint.duplicate-name`, `checkpoint.missing-data`,
/// `checkpoint.incomplete`, `checkpoint.partial`, `checkpoint.bad-crc`, `checkpoint.unsupported`,
/// `checkpoint.unreadable`, `checkpoint.changed`, `checkpoint.lost`, `checkpoint.altered`.

#include <cstdint>
#include <string>
#include <vector>

#include "core/severity.h"

namespace aplomb::tensors {

struct Finding {
  std::string kind;
  core::Severity severity = core::Severity::warning;
  std::string path;
  std::uint64_t offset = 0;  ///< byte in the file; inside data.pkl for a zip's pickle
  std::string text;
};

/// Findings of one file: bounded, so that a hostile file cannot fill the memory with complaints.
class Findings {
 public:
  static constexpr std::size_t k_most = 200;

  void add(std::string kind, core::Severity severity, std::uint64_t offset, std::string text) {
    if (list_.size() < k_most) {
      list_.push_back({std::move(kind), severity, path_, offset, std::move(text)});
      return;
    }
    ++dropped_;
    // The worst is never what falls off the end.
    for (std::size_t i = list_.size(); i-- > 0;) {
      if (list_[i].severity >= severity) continue;
      list_[i] = {std::move(kind), severity, path_, offset, std::move(text)};
      return;
    }
  }
  void of(std::string path) { path_ = std::move(path); }
  /// Takes over what another reader said about a part of this file.
  void join(const Findings& other) {
    for (const Finding& each : other.list_) add(each.kind, each.severity, each.offset, each.text);
    dropped_ += other.dropped_;
  }
  const std::vector<Finding>& list() const { return list_; }
  std::size_t dropped() const { return dropped_; }

 private:
  std::string path_;
  std::vector<Finding> list_;
  std::size_t dropped_ = 0;
};

}  // namespace aplomb::tensors
