#pragma once
/// What a walk through a folder may enter: nothing that a symbolic link leads to outside of it, and
/// never the kernel's own trees.

#include <string>

namespace aplomb::core {

/// Whether a symbolic link somewhere in `path` leads out of `root` (or nowhere). The files of a
/// Hugging Face cache are links into the same repository's `blobs`, which count as inside.
bool leads_outside(const std::string& root, const std::string& path);

/// Whether it lies in /proc, /sys or /dev, whose files are no files.
bool is_kernel_tree(const std::string& path);

}  // namespace aplomb::core
