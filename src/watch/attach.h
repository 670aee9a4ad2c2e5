#pragma once
/// attach_python(): what every Python that is started from here on does first, by a `sitecustomize`
/// that stands first on PYTHONPATH: it attaches aplomb's package to torch's optimizers, or seeds the
/// random generators and asks for deterministic kernels.
///
/// A program without Python, without torch or without the package runs as ever (the last is told by
/// the program's own Python). `python -I` and `-E` take no notice of it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace aplomb::watch {

enum class Attach {
  record,  ///< gradient norms and rates of every step, nothing changed
  guard,   ///< and steps with NaN, Inf or a leaping norm left out or clipped
};

struct Attachment {
  std::optional<Attach> steps;        ///< what is done at each optimizer step
  std::optional<std::uint32_t> seed;  ///< of Python, NumPy and torch, with deterministic kernels

  bool any() const { return steps || seed; }
};

/// Writes the file into a folder within `folder` and sets the environment of this process. With a
/// seed PYTHONHASHSEED and CUBLAS_WORKSPACE_CONFIG are set too where they are not, and what is asked
/// for is logged as `folder`/determinism.json. Errors: not_writable.
core::Result<void> attach_python(const std::string& folder, const Attachment& what);

/// The step records that attached programs left in `folder`, sorted.
std::vector<std::string> attached_records(const std::string& folder);

/// python/aplomb/inject/sitecustomize.py.
extern const std::string_view k_attach_text;

}  // namespace aplomb::watch
