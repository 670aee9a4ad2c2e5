#include "cli/ckpt_manifest.h"

#include "checkpoint/manifest.h"
#include "cli/output.h"
#include "core/text.h"
#include "tensors/mapped_file.h"

namespace aplomb::cli {

core::Result<void> apply_manifest(const ManifestOptions& options, int threads,
                                  checkpoint::Checkpoint& checkpoint) {
  if (options.compare.empty() && options.write.empty()) return {};
  const std::string& own = options.compare.empty() ? options.write : options.compare;
  const auto present = checkpoint::hash_files(checkpoint.path, own, threads);
  if (!options.compare.empty()) {
    const auto mapped = tensors::MappedFile::open(options.compare);
    if (!mapped) return tl::unexpected(mapped.error());
    const auto recorded = checkpoint::read_manifest((*mapped)->text(), options.compare);
    if (!recorded) return tl::unexpected(recorded.error());
    const auto found = checkpoint::compare_with_manifest(checkpoint.path, *recorded, present);
    checkpoint.findings.insert(checkpoint.findings.end(), found.begin(), found.end());
  }
  if (options.write.empty()) return {};
  for (const checkpoint::FileHash& each : present) {
    if (each.why.empty()) continue;
    return core::fail(core::ErrorCode::not_readable,
                      "no manifest is written: " + core::sanitize(each.name) + ": " + each.why);
  }
  return write_file(options.write, checkpoint::manifest_text(present));
}

}  // namespace aplomb::cli
