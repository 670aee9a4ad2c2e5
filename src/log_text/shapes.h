#pragma once
/// ShapeCache: the shapes of the lines that a log repeats. A trainer prints the same record again
/// and again with other numbers: once PairFinder has understood one, the next is read by comparing
/// the text between the numbers, which is several times faster and gives the same samples (the
/// tests hold it to that).
///
/// A shape is literal text and slots in turn. What is a slot: the numbers of pairs, other numbers,
/// and other digits (timestamps) unless they belong to a key (`Prec@5`). Blanks around a slot may
/// grow and shrink, as they do in padded columns.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "log_text/line_record.h"
#include "log_text/pairs.h"

namespace aplomb::log_text {

class ShapeCache {
 public:
  static constexpr std::size_t k_most_shapes = 24;
  static constexpr std::size_t k_most_learned = 512;  ///< attempts; a log without shapes gives up
  static constexpr std::size_t k_longest = 16384;     ///< bytes of a line that is worth a shape

  /// Fills `record` where the line has a known shape.
  bool match(std::string_view line, Record& record);
  /// Takes up the shape of a line whose pairs were found to be this record. `tokens` are those of
  /// the line.
  void learn(std::string_view line, const std::vector<Pair>& pairs,
             const std::vector<Token>& tokens, const Record& record);

 private:
  enum class Slot : std::uint8_t {
    end,           ///< of the line
    sample,        ///< a number of `key`
    epoch_sample,  ///< the epoch: a sample as well where it has a fraction
    step,
    step_total,
    epoch,
    inner,
    inner_total,
    number,  ///< any number that means nothing
    whole,   ///< a whole number that means nothing
    digits,  ///< digits of a time or a name
  };
  struct Piece {
    std::uint32_t begin = 0;  ///< literal before the slot, with the blanks at its ends
    std::uint32_t size = 0;
    std::uint32_t core_begin = 0;  ///< the same without them
    std::uint32_t core_size = 0;
    Slot slot = Slot::end;
    KeyId key = KeyTable::k_none;
    double factor = 1;
  };
  struct Shape {
    std::string literals;
    std::vector<Piece> pieces;
    bool train_loss = false;
    bool absolute = false;
    std::uint64_t hits = 0;
    std::size_t next = 0;  ///< the shape that last followed this one
  };

  /// A part of a line that is no literal.
  struct Span {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    Slot slot = Slot::end;
    KeyId key = KeyTable::k_none;
    double factor = 1;
  };

  static bool fits(const Shape& shape, std::string_view line, Record& record);
  static const char* literal(const Shape& shape, const Piece& piece, const char* p,
                             const char* end);
  static const char* take(const Piece& piece, std::string_view line, const char* p, Record& record);
  static Span span_of(const Pair& pair, Place& seen, std::vector<Sample>& left, Slot& total);
  static std::vector<Span> spans_of(const std::vector<Pair>& pairs,
                                    const std::vector<Token>& tokens, const Record& record);
  static void close(Shape& shape, std::uint32_t begin, const Span& span);
  static Shape build(std::string_view line, const std::vector<Pair>& pairs,
                     const std::vector<Token>& tokens, const Record& record);
  bool try_shape(std::size_t index, std::string_view line, Record& record);

  std::vector<Shape> shapes_;
  std::size_t last_ = 0;
  std::size_t learned_ = 0;
};

}  // namespace aplomb::log_text
