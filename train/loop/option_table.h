#pragma once
/// The options one by one, in the order of --help: where a name, its place in TrainOptions and its
/// meaning stand together. Parsing, --help and the YAML that a run leaves all walk over it.

#include <string>
#include <vector>

#include "train/loop/options.h"

namespace aplomb::train::loop {

/// What is done with each option.
class OptionVisitor {
 public:
  virtual ~OptionVisitor() = default;
  virtual void group(const char* title) = 0;
  virtual void visit(const char* name, std::string& value, const char* meaning) = 0;
  virtual void visit(const char* name, bool& value, const char* meaning) = 0;
  virtual void visit(const char* name, std::int64_t& value, const char* meaning) = 0;
  virtual void visit(const char* name, std::uint64_t& value, const char* meaning) = 0;
  virtual void visit(const char* name, double& value, const char* meaning) = 0;
  virtual void visit(const char* name, std::vector<std::string>& value, const char* meaning) = 0;
  /// The option visited last takes one of these words.
  virtual void words(const std::vector<std::string>&) {}
  /// The option visited last lies in this range.
  virtual void range(double, double) {}
  /// The option visited last has a second name.
  virtual void also(const char*) {}
};

void walk_options(TrainOptions& options, OptionVisitor& visitor);

}  // namespace aplomb::train::loop
