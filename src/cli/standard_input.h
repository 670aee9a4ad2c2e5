#pragma once
/// Standard input as an artifact: `kubectl logs pod | aplomb diagnose -`.

#include <aplomb/report.h>

#include <string>
#include <vector>

#include "core/result.h"

namespace aplomb::cli {

/// Keeps what comes in as a temporary file, so that evidence lines can be read back from it;
/// removed with the object. A pipe may be endless: beyond k_most_bytes the rest is left unread and
/// the report says so.
class StandardInput {
 public:
  static constexpr std::uint64_t k_most_bytes = std::uint64_t{4} << 30U;

  StandardInput() = default;
  ~StandardInput();
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;

  /// Reads to the end of standard input and gives the file's path; the same one when asked again.
  core::Result<std::string> keep();

  /// The temporary file, if there is one.
  std::vector<std::string> paths() const {
    return path_.empty() ? std::vector<std::string>() : std::vector<std::string>{path_};
  }

  /// Calls the temporary file `standard input` wherever the report names it.
  void rename_in(Report& report) const;

 private:
  std::string path_;
  bool cut_ = false;
};

}  // namespace aplomb::cli
