#pragma once
/// Reads Python pickles (protocols 0 to 5) without executing anything: the opcodes build a tree of
/// plain nodes, and what a real unpickler would call becomes a node that says so.
///
/// A short list of constructors is understood (torch tensors, storages and dtypes, OrderedDict,
/// numpy scalars and arrays, ...: pickle_globals.h); every other class gives an opaque `object`
/// with its arguments and state. What an unpickler would run (`os.system`, `builtins.eval`,
/// `subprocess.Popen` ...) is a Finding `pickle.dangerous` with the opcode's offset, what is on no
/// list of globals.def `pickle.suspicious`, and reading goes on. pickle_audit.h reads whole files.
///
///     PickleDocument document = read_pickle(bytes, path);
///     const PickleNode& root = document.at(document.root);
///
/// Memory grows linearly with the bytes read, up to k_most_nodes nodes of 56 bytes and k_most_items
/// places in containers (some 350 MB, where a hostile file uses all of it); None, booleans and
/// small integers take no node of their own. The nodes form a graph: a hostile or merely odd pickle
/// may share nodes a million times or hold itself, so whoever walks it must not recurse without a
/// bound (visit_tensors in torch_file.h shows how).

#include <bit>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "tensors/finding.h"
#include "tensors/tensor.h"

namespace aplomb::pickle {

using NodeId = std::uint32_t;

enum class PickleKind : std::uint8_t {
  none,
  boolean,
  integer,  ///< fits 64 bits; larger ones are `bytes` (little-endian two's complement) or `text`
  real,
  text,
  bytes,
  list,
  tuple,
  set,
  dict,     ///< items: key, value, key, value ...; text: the class, where it is none of the plain
  global,   ///< text: `module.name`
  object,   ///< items: class, arguments, state, then what was appended to it
  storage,  ///< number: index into PickleDocument::storages
  tensor,   ///< number: index into PickleDocument::tensors
};

struct PickleNode {
  PickleKind kind = PickleKind::none;
  std::int64_t number = 0;  ///< boolean, integer, storage, tensor; of `real`: its bits
  std::string_view text;    ///< of the pickle's own bytes, or of PickleDocument::owned
  std::vector<NodeId> items;

  double real() const { return std::bit_cast<double>(number); }
  void set_real(double value) {
    kind = PickleKind::real;
    number = std::bit_cast<std::int64_t>(value);
  }
};

/// What a persistent id of torch.save names: bytes that lie outside the pickle.
struct PickleStorage {
  const tensors::ElementType* type = nullptr;
  std::string key;
  std::string location;     ///< `cpu`, `cuda:0`
  std::uint64_t count = 0;  ///< elements of `type`
  std::string_view bytes;   ///< numpy arrays hold theirs in the pickle
  bool inside = false;      ///< `bytes` is meant
  std::string view_of;      ///< legacy files: key of the storage that this one is a part of
  std::uint64_t view_offset = 0;
};

struct PickleTensor {
  std::size_t storage = 0;
  const tensors::ElementType* type = nullptr;
  std::uint64_t offset = 0;  ///< elements
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> stride;  ///< elements
  bool is_parameter = false;
};

struct PickleDocument {
  std::vector<PickleNode> nodes;
  NodeId root = 0;
  std::vector<PickleStorage> storages;
  std::vector<PickleTensor> tensors;
  std::deque<std::string> owned;
  tensors::Findings findings;
  std::vector<std::string_view>
      inside;             ///< bytes that the pickle would load as a file of their own
  std::uint64_t end = 0;  ///< bytes read: where the next pickle of the file begins
  /// Why it could not be read to its end; empty where it was. What stood before the fault is there:
  /// a real unpickler would have run that part too.
  std::optional<core::Error> fault;

  const PickleNode& at(NodeId id) const { return nodes[id]; }
  /// The value of a text key of a dict, or of an opaque object's state where that is a dict; null
  /// where it has none. Linear in the dict.
  const PickleNode* find(const PickleNode& node, std::string_view key) const;
  std::optional<double> number(const PickleNode* node) const;
};

/// Of numpy's word for a type (`<f4`, `bool`, `bfloat16`); null where it is none of numbers in this
/// machine's order.
const tensors::ElementType* numpy_element_type(std::string_view word);

constexpr std::size_t k_most_nodes = 4'000'000;
constexpr std::size_t k_most_items = 16'000'000;

/// `bytes` must outlive the document. Faults: bad_format (no STOP, stack underflow, unknown opcode,
/// a length beyond the end, values without end). `path` is for messages; `origin` is added to the
/// offsets of findings.
PickleDocument read_pickle(std::string_view bytes, const std::string& path,
                           std::uint64_t origin = 0);

}  // namespace aplomb::pickle
