#pragma once
/// `aplomb ckpt latest RUN`: which checkpoint to resume from, why each newer one is left, and which
/// are worth keeping.

#include <string>

#include "arguments/arguments.h"
#include "cli/confine.h"

namespace aplomb::cli {

class CkptLatest {
 public:
  void declare(const arguments::Verb& ckpt);
  bool is_wanted() const { return verb_.is_wanted(); }
  /// 0: there is one to resume from; 1: none; 2: no checkpoint at all.
  int run();

 private:
  arguments::Verb verb_;
  Confinement confinement_;
  std::string path_;
  bool json_ = false;
  bool accept_suspicious_ = false;
  int threads_ = 0;
};

}  // namespace aplomb::cli
