#pragma once
/// diagnose(): whatever files a run left -> a Report.
///
///     aplomb::Report report = aplomb::diagnose({"out/"}, {});
///     for (const auto& cause : report.causes) ...
///
/// Reads only; never executes anything in the files (a Python of this machine parses scripts, in
/// isolation); never writes to them. A file that cannot be
/// read becomes a warning on its input, and the others are still diagnosed. Does not throw but
/// std::bad_alloc.

#include <aplomb/report.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace aplomb {

/// What a language model of the user's own said of a text (`diagnose --reader`). Of its answer counts
/// what stands on a quote of the text, and weighs as words do.
struct DeclaredText {
  std::string path;    ///< among those that are diagnosed
  std::string text;    ///< what was sent of it, from its beginning
  std::string answer;  ///< the body that came back, whatever it is
};

struct DiagnoseOptions {
  /// Called now and then from the calling thread with bytes read and bytes known of; empty: no
  /// progress.
  std::function<void(std::uint64_t done_bytes, std::uint64_t all_bytes)> progress;
  /// How many causes the report lists at most.
  std::size_t most_causes = 8;
  /// Names of files that are listed and not read; empty: none.
  std::function<bool(std::string_view name)> leaves_out;
  /// Of a text log larger than this, in bytes, every line is looked at and so much of it read: the
  /// stretches, records and messages that tell the most; the report says so. 0: all of it is read.
  std::uint64_t most_log_bytes = 0;
  /// Whether symbolic links that lead out of a folder are followed.
  bool follow_links = false;
  /// The interpreter that parses (and never runs) the scripts among the artifacts; empty: none, and
  /// they are read by patterns.
  std::string python = "python3";
  /// Empty: no model was asked, which is as it should be unless the user says otherwise.
  std::vector<DeclaredText> declared;
};

Report diagnose(const std::vector<std::string>& paths, const DiagnoseOptions& options);

}  // namespace aplomb
