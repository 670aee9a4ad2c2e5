#pragma once
/// `--alert` of the commands that watch a run.

#include <memory>
#include <string>
#include <vector>

#include "alarm/alarms.h"
#include "arguments/arguments.h"
#include "core/result.h"

namespace aplomb::cli {

class AlertOption {
 public:
  void declare(const arguments::Verb& verb);
  bool is_given() const { return !words_.empty(); }
  const std::vector<std::string>& words() const { return words_; }
  bool may_be_private() const { return may_be_private_; }
  /// Null where none is asked for. Errors: bad_usage.
  core::Result<std::unique_ptr<alarm::Alarms>> make() const;

 private:
  std::vector<std::string> words_;
  bool may_be_private_ = false;
};

}  // namespace aplomb::cli
