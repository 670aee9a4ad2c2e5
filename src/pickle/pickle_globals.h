#pragma once
/// What a pickle's globals mean to us: `module` + `name` -> one of a closed list. Nothing here
/// imports or calls; the list decides only how the arguments are read.

#include <string_view>

#include "tensors/tensor.h"

namespace aplomb::pickle {

enum class GlobalKind {
  opaque,          ///< a class of a library or of the user: kept as it stands
  unknown,         ///< the same, of a module that checkpoints seldom name: mentioned
  suspicious,      ///< runs code, files, processes or the network
  mapping,         ///< OrderedDict, defaultdict, dict
  sequence,        ///< list, tuple, torch.Size
  collection,      ///< set, frozenset
  rebuild_tensor,  ///< torch._utils._rebuild_tensor, _v2, _v3: storage, offset, size, stride, ...
  rebuild_parameter,
  rebuild_from_type,  ///< func, type, args, state
  rebuild_wrapper,    ///< torch._utils._rebuild_wrapper_subclass: class, dtype, size, ...
  storage,            ///< torch.FloatStorage ...
  dtype,              ///< torch.float32 ...
  numpy_array,        ///< numpy.core.multiarray._reconstruct
  numpy_scalar,
  numpy_dtype,
  numpy_buffer,  ///< numpy.core.numeric._frombuffer
  encode,        ///< _codecs.encode: bytes in protocol 2
};

struct GlobalMeaning {
  GlobalKind kind = GlobalKind::unknown;
  const tensors::ElementType* type = nullptr;  ///< of storages and dtypes
};

GlobalMeaning meaning_of(std::string_view module, std::string_view name);

}  // namespace aplomb::pickle
