#pragma once
/// What a pickle's globals mean to us: `module` + `name` -> one of a closed list, and how far they
/// are to be trusted (the lists of globals.def). Nothing here imports or calls.

#include <cstdint>
#include <string>
#include <string_view>

#include "tensors/tensor.h"

namespace aplomb::pickle {

/// How the arguments of a call are read.
enum class GlobalKind : std::uint8_t {
  opaque,          ///< a class of a library or of the user: kept as it stands
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
  numpy_buffer,     ///< numpy.core.numeric._frombuffer
  encode,           ///< _codecs.encode: bytes in protocol 2
  getattr,          ///< builtins.getattr
  getitem,          ///< operator.getitem: how `typing.Dict[str, int]` is pickled
  type,             ///< builtins.type
  partial,          ///< functools.partial
  reconstructor,    ///< copyreg._reconstructor: class, base, state
  new_object,       ///< copyreg.__newobj__: class, ...
  load_from_bytes,  ///< torch.storage._load_from_bytes: a torch file inside the pickle
  array_in_stream,  ///< joblib's NumpyArrayWrapper: the array's bytes follow its BUILD
  generator,        ///< numpy.random._pickle.__generator_ctor and its like: they call an argument
  iterator,         ///< builtins.iter: with two arguments it calls the first
  lazy,             ///< builtins.range, itertools.*: as long as they are told to be
  text_maker,       ///< builtins.str
  bytes_maker,      ///< builtins.bytes, bytearray
};

/// What loading a global amounts to.
enum class Trust : std::uint8_t {
  call,        ///< may be called with anything: it makes a value
  made,        ///< a class whose instances may be made without its constructor
  value,       ///< may stand there, not be called
  suspicious,  ///< on no list
  dangerous,   ///< runs code, starts processes, writes files, opens connections
};

struct GlobalMeaning {
  GlobalKind kind = GlobalKind::opaque;
  Trust trust = Trust::suspicious;
  const tensors::ElementType* type = nullptr;  ///< of storages and dtypes
};

/// `name` may be dotted: an unpickler of protocol 4 follows the attributes.
GlobalMeaning meaning_of(std::string_view module, std::string_view name);

/// Whether a class is called after what writes, fetches or starts something (`IndexedDatasetBuilder`,
/// `CSVLogger`): its constructor is no member of an enumeration by its value.
bool makes_more_than_values(std::string_view name);

/// Whether a name is written like a class's or a constant's (`_Tree`, `STEPS`), with no dunder.
bool is_class_name(std::string_view name);

/// Whether all of what rebuilds values in this library is on the lists.
bool is_of_known_library(std::string_view module);

/// Whether a function is called like those that libraries let a pickle call (`_rebuild_tensor_v2`,
/// `__pyx_unpickle_Tree`): in other versions of a library there are others.
bool is_rebuilder(std::string_view name);

}  // namespace aplomb::pickle
