#pragma once
/// `aplomb ckpt convert IN OUT --dtype float32`: the weights in another number format.

#include <string>

#include "arguments/arguments.h"
#include "cli/confine.h"

namespace aplomb::cli {

class CkptConvert {
 public:
  void declare(const arguments::Verb& ckpt);
  bool is_wanted() const { return verb_.is_wanted(); }
  int run();

 private:
  arguments::Verb verb_;
  Confinement confinement_;
  std::string in_;
  std::string out_;
  std::string dtype_ = "float32";
  bool json_ = false;
};

}  // namespace aplomb::cli
