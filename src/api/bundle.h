#pragma once
/// Bundle: what somebody else needs to understand a broken run, in one redacted archive: the
/// report, the head of the logs, the first steps, the lines around everything that was found, the
/// end; small configuration files whole; the settings and versions that were read. Never weights,
/// data or whole logs.

#include <map>
#include <string>
#include <vector>

#include "core/result.h"
#include "report/build.h"
#include "report/redact.h"

namespace aplomb::api {

struct BundleEntry {
  std::string name;   ///< path inside the archive
  std::string bytes;  ///< redacted
  std::string what;   ///< for people: `lines 1-80, 412-460 of 51230`
};

struct Bundle {
  std::vector<BundleEntry> entries;
  std::map<std::string, std::size_t>
      redacted;                            ///< how many different names of each kind were taken out
  std::vector<report::Replaced> replaced;  ///< each of them, for the eyes of who has the originals
  std::vector<std::string> refused;        ///< files that hold secrets by their name or content
};

struct BundleOptions {
  std::size_t first_steps = 20;                      ///< training records kept from the start
  std::size_t around = 25;                           ///< lines kept on both sides of evidence
  std::size_t most_bytes = std::size_t{256} * 1024;  ///< of one log's excerpt
  std::size_t whole_file_bytes =
      std::size_t{64} * 1024;  ///< configuration files up to this size go in whole
  report::RedactNames names;
};

Bundle make_bundle(const std::vector<report::DiagnosedRun>& runs, const Report& report,
                   const BundleOptions& options);

/// Writes a .tar.gz (through a temporary name: a full disk leaves nothing half-written at `path`).
/// Errors: not_writable, with the system's reason.
core::Result<std::uint64_t> write_bundle(const Bundle& bundle, const std::string& path);

}  // namespace aplomb::api
