#pragma once
/// `aplomb ckpt scan --write-manifest FILE` and `--manifest FILE`.

#include <string>

#include "checkpoint/checkpoint.h"

namespace aplomb::cli {

struct ManifestOptions {
  std::string compare;  ///< a manifest to hold the files against; empty: none
  std::string write;    ///< where one is to be written; empty: nowhere
};

/// Compares first: what differs joins the checkpoint's findings (checkpoint.altered). Errors: what
/// cannot be read of the manifest, or written; a file that cannot be hashed for a new one.
core::Result<void> apply_manifest(const ManifestOptions& options, int threads,
                                  checkpoint::Checkpoint& checkpoint);

}  // namespace aplomb::cli
