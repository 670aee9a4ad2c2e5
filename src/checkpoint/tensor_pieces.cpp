#include "checkpoint/tensor_pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tensors/mapped_file.h"

namespace aplomb::checkpoint {
namespace {

constexpr std::uint64_t k_drop_bytes = 1U << 20U;  // shorter runs share their pages with others

std::uint64_t extent(std::int64_t number) { return static_cast<std::uint64_t>(number); }

}  // namespace

TensorPieces::TensorPieces(std::vector<std::int64_t> shape, std::vector<TensorPiece> pieces)
    : shape_(std::move(shape)), stride_(shape_.size(), 1), pieces_(std::move(pieces)) {
  for (std::size_t axis = shape_.size(); axis-- > 1;) {
    stride_[axis - 1] = stride_[axis] * std::max<std::uint64_t>(extent(shape_[axis]), 1);
  }
  boxes_.reserve(pieces_.size());
  for (const TensorPiece& piece : pieces_) boxes_.push_back(box_of(piece));
}

const tensors::ElementType* TensorPieces::type() const {
  return pieces_.empty() ? nullptr : pieces_.front().data.type;
}

TensorPieces::Box TensorPieces::box_of(const TensorPiece& piece) const {
  Box box;
  if (piece.size.size() != shape_.size()) return box;
  box.run = 1;
  box.runs = 1;
  std::size_t axis = shape_.size();
  while (axis > 0 && piece.size[axis - 1] == shape_[axis - 1]) {
    box.run *= extent(piece.size[--axis]);
  }
  if (axis > 0) box.run *= extent(piece.size[--axis]);
  box.axes = axis;
  for (std::size_t i = 0; i < axis; ++i) box.runs *= extent(piece.size[i]);
  return box;
}

std::uint64_t TensorPieces::start_of(const TensorPiece& piece, const Box& box,
                                     std::uint64_t run) const {
  std::uint64_t start = 0;
  for (std::size_t axis = shape_.size(); axis-- > 0;) {
    start += extent(piece.offset[axis]) * stride_[axis];
  }
  for (std::size_t axis = box.axes; axis-- > 0;) {
    const std::uint64_t side = extent(piece.size[axis]);
    start += run % side * stride_[axis];
    run /= side;
  }
  return start;
}

std::string TensorPieces::fault() const {
  const auto whole = tensors::count_of(shape_);
  if (!whole) return "its shape is impossible";
  std::uint64_t covered = 0;
  for (const TensorPiece& piece : pieces_) {
    const auto count = tensors::count_of(piece.size);
    if (!count || piece.size.size() != shape_.size() || piece.offset.size() != shape_.size()) {
      return "a piece has another number of axes";
    }
    for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
      if (piece.offset[axis] < 0 || piece.offset[axis] > shape_[axis] ||
          piece.size[axis] > shape_[axis] - piece.offset[axis]) {
        return fmt::format("a piece {} at {} leaves {}", tensors::show_shape(piece.size),
                           tensors::show_shape(piece.offset), tensors::show_shape(shape_));
      }
    }
    if (*count == 0) continue;
    if (piece.data.type == nullptr || piece.data.type != type() || piece.data.type->bits % 8 != 0) {
      return "its pieces have different types";
    }
    if (!piece.data.has_data() || piece.first > piece.data.count ||
        *count > piece.data.count - piece.first) {
      return "the data of a piece is missing";
    }
    covered += *count;
  }
  if (covered == *whole) return {};
  return fmt::format("its pieces hold {} of {} elements", covered, *whole);
}

bool TensorPieces::copy_from(const TensorPiece& piece, const Box& box, std::uint64_t from,
                             std::uint64_t count, std::span<std::byte> out) const {
  const std::uint64_t width = piece.data.type->bits / 8;
  const std::uint64_t end = from + count;
  // Runs start in the order of their numbers: the first that reaches beyond `from`.
  std::uint64_t low = 0;
  std::uint64_t high = box.runs;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (start_of(piece, box, middle) + box.run <= from) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  std::vector<std::byte> buffer;
  for (std::uint64_t run = low; run < box.runs; ++run) {
    const std::uint64_t start = start_of(piece, box, run);
    if (start >= end) break;
    const std::uint64_t begin = std::max(start, from);
    const std::uint64_t stop = std::min(start + box.run, end);
    const std::uint64_t at = piece.first + run * box.run + (begin - start);
    const auto raw = tensors::raw_elements(piece.data, at, stop - begin, buffer);
    if (raw.size() != (stop - begin) * width) return false;
    std::memcpy(out.data() + (begin - from) * width, raw.data(), raw.size());
    if (piece.data.mapped && piece.data.stride.empty() && raw.size() >= k_drop_bytes) {
      tensors::drop_pages(raw);
    }
  }
  return true;
}

bool TensorPieces::gather(std::uint64_t from, std::uint64_t count, std::span<std::byte> out) const {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Box& box = boxes_[i];
    if (box.run == 0 || box.runs == 0) continue;
    if (!copy_from(pieces_[i], box, from, count, out)) return false;
  }
  return true;
}

tensors::Tensor join_pieces(std::string name, std::vector<std::int64_t> shape,
                            std::vector<TensorPiece> pieces, bool flat, std::string& why) {
  tensors::Tensor tensor;
  tensor.name = std::move(name);
  tensor.count = tensors::count_of(shape).value_or(0);
  tensor.mapped = false;  // what is read of it is a copy
  std::vector<std::int64_t> of = shape;
  if (flat) of = {static_cast<std::int64_t>(tensor.count)};
  tensor.shape = std::move(shape);
  if (!pieces.empty()) {
    tensor.type = pieces.front().data.type;
    tensor.file = pieces.front().data.file;
    tensor.offset = pieces.front().data.offset;
  }
  auto joined = std::make_shared<const TensorPieces>(std::move(of), std::move(pieces));
  why = joined->fault();
  if (why.empty()) tensor.source = std::move(joined);
  return tensor;
}

}  // namespace aplomb::checkpoint
