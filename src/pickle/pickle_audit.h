#pragma once
/// What loading a file with Python would run, as far as pickles in it can tell. Every pickle is
/// read: several in a row (torch before 1.6, pickle.dump called again), every member of an archive
/// (zip, npz, tar, gzip, nested), what torch.storage._load_from_bytes would load, what hides behind
/// junk. Nothing is executed.
///
/// Three words, none of which is "nothing wrong":
///   pickle.dangerous     (failed)   it names or does what runs code, writes files, opens connections
///   pickle.suspicious    (warning)  it names or does what is on no list of what checkpoints hold
///   pickle.inconclusive  (warning)  it cannot be followed to its end: cut, damaged, encrypted
///
/// What stands before a break is judged all the same: an unpickler runs it before it fails.
///
///     Findings findings = audit_pickles(bytes, "model.pt");
///
/// Not thread-safe on one object; costs a walk over the pickles, not over the tensors' bytes.

#include <cstddef>
#include <span>
#include <string>

#include "tensors/finding.h"

namespace aplomb::pickle {

/// `path`: for messages; its ending says whether the file has to be a pickle, so that one which is
/// none is `inconclusive`. Files of another kind (safetensors, GGUF, HDF5, JSON, text) give nothing.
tensors::Findings audit_pickles(std::span<const std::byte> bytes, const std::string& path);

}  // namespace aplomb::pickle
