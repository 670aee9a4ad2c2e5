#pragma once

namespace aplomb::cli {

/// `aplomb` without a word: what of a training run lies in this folder, and which command would do what with it.
/// Looks at names and first bytes only. 0, or 2 where nothing can be written.
int look_around();

}  // namespace aplomb::cli
