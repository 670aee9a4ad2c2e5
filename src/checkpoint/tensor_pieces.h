#pragma once
/// A tensor whose elements lie in several places: the shards of ZeRO and of torch's distributed
/// checkpoints, put together when somebody reads them and never before.
///
/// Shapes: a piece is a box of the whole tensor, `size` elements at `offset` along every axis,
/// row-major inside. A piece of the flattened tensor is a box of a tensor with one axis.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensors/tensor.h"

namespace aplomb::checkpoint {

struct TensorPiece {
  std::vector<std::int64_t> offset;
  std::vector<std::int64_t> size;
  tensors::Tensor data;     ///< holds at least the elements of the box from `first` on
  std::uint64_t first = 0;  ///< element of `data` that the box begins with
};

class TensorPieces final : public tensors::ElementSource {
 public:
  /// `shape`: what the pieces' offsets refer to; the tensor's own, or one axis of all its elements.
  TensorPieces(std::vector<std::int64_t> shape, std::vector<TensorPiece> pieces);

  /// Why the pieces do not make up the tensor: a type that differs, a box that leaves the tensor,
  /// overlaps, holes, missing data. Empty where they do. Overlaps and holes are told by counting.
  std::string fault() const;

  bool gather(std::uint64_t from, std::uint64_t count, std::span<std::byte> out) const override;

  std::size_t count() const { return pieces_.size(); }
  const tensors::ElementType* type() const;

 private:
  struct Box {
    std::uint64_t run = 0;  ///< elements of the box that lie side by side in the tensor
    std::uint64_t runs = 0;
    std::size_t axes = 0;  ///< leading axes that choose a run
  };
  Box box_of(const TensorPiece& piece) const;
  std::uint64_t start_of(const TensorPiece& piece, const Box& box, std::uint64_t run) const;
  bool copy_from(const TensorPiece& piece, const Box& box, std::uint64_t from, std::uint64_t count,
                 std::span<std::byte> out) const;

  std::vector<std::int64_t> shape_;
  std::vector<std::uint64_t> stride_;
  std::vector<TensorPiece> pieces_;
  std::vector<Box> boxes_;
};

/// The whole tensor; without data, and with the fault in `why`, where the pieces do not fit.
tensors::Tensor join_pieces(std::string name, std::vector<std::int64_t> shape,
                            std::vector<TensorPiece> pieces, bool flat, std::string& why);

}  // namespace aplomb::checkpoint
