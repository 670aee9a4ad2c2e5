#pragma once
/// Puts the content of single files into a Checkpoint: weights, optimizer, scheduler, what the
/// trainer says of itself. Which files of a folder are read is checkpoint.cpp's part.

#include <string>
#include <string_view>
#include <unordered_set>

#include "checkpoint/checkpoint.h"

namespace aplomb {

/// Told from a file's name: weights | adapter | optimizer | scheduler | scaler | rng |
/// trainer-state | arguments | config | index | other.
std::string role_of_file(std::string_view name);

/// What reading adds to while it goes from file to file.
struct Opening {
  Checkpoint& out;
  std::unordered_set<std::string> names;  ///< of weights
  bool verify = false;                    ///< checksums of everything

  void note(std::string kind, Severity severity, const std::string& path, std::string text);
  void join(const Findings& findings);
  /// A second weight of the same name becomes a Finding.
  void add_weight(Tensor tensor, std::size_t file);
};

/// Reads one file as what its role says. What cannot be read becomes a Finding.
void open_file(Opening& opening, const std::string& path, const std::string& role);

}  // namespace aplomb
