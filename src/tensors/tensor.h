#pragma once
/// Tensor: one named tensor of a checkpoint, as a view of the file's bytes.
///
/// Shapes: `shape` in elements, row-major unless `stride` says otherwise. Nothing is copied until
/// somebody asks for the elements of a tensor that does not lie in one piece.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scan/difference.h"
#include "scan/scan.h"

namespace aplomb::tensors {

/// A scalar type as checkpoints name it. One static object a type: pointers compare.
struct ElementType {
  std::string_view name;                   ///< safetensors' name: `BF16`, `F8_E4M3`, `U64`
  unsigned bits = 0;                       ///< of one element
  std::optional<scan::ScalarType> scalar;  ///< what scan() reads; nothing where it cannot
  unsigned scalars = 1;                    ///< scan elements in one element: 2 for complex numbers
  bool is_float = false;
  /// Quantised in blocks (GGUF): so many elements share so many bytes, with their scales (fp16) at
  /// these bytes of the block. `bits` is then only the size of an element rounded up.
  unsigned block = 1;
  unsigned block_bytes = 0;
  unsigned scales = 0;
  std::array<unsigned, 2> scale_at = {};
};

/// By safetensors' name; null where unknown.
const ElementType* element_type(std::string_view safetensors_name);
/// `float32`, `bfloat16`, `float8_e4m3fn` (torch's and numpy's words, without `torch.`).
const ElementType* element_type_of_torch(std::string_view torch_name);

/// Elements that are made when somebody reads them: put together from several places, or decoded.
class ElementSource {
 public:
  virtual ~ElementSource() = default;
  /// The elements [from, from + count) in row-major order, as the tensor's type. False where they
  /// cannot be had.
  virtual bool gather(std::uint64_t from, std::uint64_t count, std::span<std::byte> out) const = 0;
};

/// What a rank's part of a tensor knows of the whole (checkpoint/tensor_shard.h reads it).
struct TensorShard {
  /// One axis of the device mesh.
  struct Cut {
    int axis = -1;  ///< of the tensor; -1: every rank along this mesh axis holds the same
    /// Cut within what the later mesh axes leave (`_StridedShard`: FSDP over tensor parallelism).
    bool strided = false;
    std::int64_t coordinate = 0;  ///< of this rank
  };
  std::optional<std::vector<std::int64_t>> shape;   ///< of the whole, where the part states it
  std::optional<std::vector<std::int64_t>> offset;  ///< of this part, where it states it
  std::vector<Cut> cuts;                            ///< says the offset elsewhere
};

struct Tensor {
  std::string name;
  const ElementType* type = nullptr;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> stride;  ///< in elements; empty: contiguous
  std::uint64_t count = 0;           ///< product of the shape
  /// From the tensor's first element to behind its last. Empty where the data is missing.
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  ///< keeps `bytes` alive
  bool mapped = true;                 ///< bytes lie in a file mapping: pages may be dropped
  std::size_t file = 0;               ///< index into Checkpoint::files
  std::uint64_t offset = 0;           ///< of `bytes` in that file

  /// Set where the elements lie in several places (tensor_pieces.h) or in a code
  /// (coded_tensor.h); `bytes` is empty then.
  std::shared_ptr<const ElementSource> source;
  /// Set where other ranks hold the rest of it (tensor_shard.h).
  std::shared_ptr<const TensorShard> shard;

  bool has_data() const { return count == 0 || !bytes.empty() || source != nullptr; }
};

/// `[4096, 1024]`.
std::string show_shape(std::span<const std::int64_t> shape);

/// Product of a shape; nothing on overflow, a negative extent, or one of a tensor without elements
/// that no kernel could count ([2^40, 0]).
std::optional<std::uint64_t> count_of(std::span<const std::int64_t> shape);

/// Whether these strides are those of a contiguous row-major tensor.
bool is_contiguous(std::span<const std::int64_t> shape, std::span<const std::int64_t> stride);

/// The first element past the last that strides reach, counted from the tensor's first; nothing on
/// overflow or negative strides. 0 for empty tensors.
std::optional<std::uint64_t> extent_of(std::span<const std::int64_t> shape,
                                       std::span<const std::int64_t> stride);

/// Walks a tensor in parts that fit the cache, in row-major order, and drops the pages behind.
/// `visit(part, first)`: `part` holds whole elements (scan elements), `first` is the index of its
/// first one. Tensors without data or of a type that scan() does not read are not visited.
void for_each_part(const Tensor& tensor,
                   const std::function<void(scan::TensorView part, std::uint64_t first)>& visit);

/// The elements [from, from + out.size()) as numbers, whatever the type. False where they cannot be
/// had.
bool read_elements(const Tensor& tensor, std::uint64_t from, std::span<float> out);
bool read_elements(const Tensor& tensor, std::uint64_t from, std::span<double> out);

/// The raw elements [from, from + count) in one piece: a view of the file, or gathered into
/// `buffer`. Types narrower than a byte are refused: empty.
std::span<const std::byte> raw_elements(const Tensor& tensor, std::uint64_t from,
                                        std::uint64_t count, std::vector<std::byte>& buffer);

/// 16-bit floats whose like is fp32 afterwards: each value of before has its like there.
bool is_widened(const Tensor& before, const Tensor& after);

/// How such a pair differs in the elements [from, from + count), by their numbers; none where they
/// cannot be read.
scan::Difference widened_difference(const Tensor& before, const Tensor& after, std::uint64_t from,
                                    std::uint64_t count);

/// The bytes that the elements take; quantised blocks are counted whole.
std::uint64_t stored_bytes(const Tensor& tensor);

/// Statistics of the whole tensor, one thread, bounded memory. Of a quantised tensor: those of its
/// blocks' scales (a NaN there makes the whole block NaN). Nothing where it cannot be scanned.
std::optional<scan::TensorStats> scan_tensor(const Tensor& tensor);

}  // namespace aplomb::tensors
