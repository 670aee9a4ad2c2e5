#pragma once
/// attach_python(): lets every Python that is started from here on attach aplomb's package to
/// torch's optimizers, by a `sitecustomize` that stands first on PYTHONPATH.
///
/// A program without Python, without torch or without the package runs as ever (the last is told by
/// the program's own Python). `python -I` and `-E` take no notice of it.

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace aplomb::watch {

enum class Attach {
  record,  ///< gradient norms and rates of every step, nothing changed
  guard,   ///< and steps with NaN, Inf or a leaping norm left out or clipped
};

/// Writes the file into a folder within `folder` and sets the environment of this process. Errors:
/// not_writable.
core::Result<void> attach_python(const std::string& folder, Attach how);

/// The step records that attached programs left in `folder`, sorted.
std::vector<std::string> attached_records(const std::string& folder);

/// python/aplomb/inject/sitecustomize.py.
extern const std::string_view k_attach_text;

}  // namespace aplomb::watch
