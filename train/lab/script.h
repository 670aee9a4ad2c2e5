#pragma once
/// Script: the training program that a user with a loop of his own has, in PyTorch. A fault that
/// lies in code changes the lines that it is about, and what the run does accordingly.

#include <map>
#include <string>
#include <string_view>

namespace aplomb::train::lab {

class Script {
 public:
  /// Slots, in their order in the file: data, model, optimizer, schedule, start, batch, loss,
  /// backward, step, log. Each has the lines of a healthy loop.
  Script();
  /// Lines without indentation; more than one by '\n'. An unknown slot is a fault of the caller
  /// (std::out_of_range).
  void set(std::string_view slot, std::string lines);
  const std::string& lines(std::string_view slot) const { return slots_.find(slot)->second; }
  std::string text() const;
  bool changed() const { return changed_; }

 private:
  std::map<std::string, std::string, std::less<>> slots_;
  bool changed_ = false;
};

}  // namespace aplomb::train::lab
