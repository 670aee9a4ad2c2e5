#pragma once
/// Reads what torch.save wrote: the zip archives of torch >= 1.6 and the legacy stream of pickles
/// before it; also plain pickles with numpy arrays. Tensors are views of the mapped file.
///
///     archive/data.pkl, archive/data/0, archive/data/1 ..., archive/byteorder, archive/version

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pickle/pickle.h"
#include "tensors/finding.h"
#include "tensors/mapped_file.h"
#include "tensors/tensor.h"

namespace aplomb::checkpoint {

struct TorchFile {
  pickle::PickleDocument document;       ///< views the mapping: keep `owner`
  std::vector<tensors::Tensor> tensors;  ///< by PickleTensor's index; unnamed
  tensors::Findings findings;
  std::string format;  ///< `torch-zip`, `torch-legacy`, `pickle`
  std::shared_ptr<const void> owner;
};

/// Whether the first bytes are those of a torch file or a pickle.
bool looks_like_torch(std::span<const std::byte> bytes);

/// Errors: bad_format, too_large, unsupported (big-endian, tar of torch 0.1, TorchScript without
/// data).
/// `verify`: reads every member of an archive and holds it against its CRC-32; without it only the
/// pickle and members up to 64 KiB are.
core::Result<TorchFile> read_torch(std::span<const std::byte> bytes,
                                   std::shared_ptr<const void> owner, const std::string& path,
                                   bool verify = false);

}  // namespace aplomb::checkpoint
