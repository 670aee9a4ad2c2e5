#pragma once
/// Learner: keys that nobody has told us of, learned from the log itself. Lines of one shape (the
/// same keys in the same order) that come again and again with other numbers are records of
/// metrics, whatever the keys are called; the first of them are held until that is clear.

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "log_text/keys.h"
#include "log_text/pairs.h"
#include "log_text/steps.h"

namespace aplomb::log_text {

class Learner {
 public:
  struct Held {
    int rank = -1;
    std::uint64_t number = 0;
    std::uint64_t offset = 0;
    Place place;
    std::vector<double> values;
  };
  struct Shape {
    std::vector<KeyId> keys;  ///< of the samples, in order; set once learned
    std::vector<Held> held;   ///< what waited, to be put first
    bool learned = false;
  };

  explicit Learner(KeyTable& keys) : keys_(keys) {}

  /// Notes the line; its shape once that is learned, null before. The caller puts and clears
  /// `held`, in which this line is the last.
  Shape* note(std::string_view line, const std::vector<Pair>& pairs, Held at);

 private:
  // Lines until a shape is believed: few where its keys are known and merely common words, more
  // where nothing is known. Banners of 8 ranks print one shape 8 times.
  static constexpr std::size_t k_known_lines = 3;
  static constexpr std::size_t k_unknown_lines = 10;
  static constexpr std::size_t k_most_shapes = 512;
  static constexpr std::size_t k_most_pairs = 32;

  bool takes(std::string_view line, const Pair& pair, std::size_t pairs) const;
  std::size_t needed(std::string_view line, const std::vector<Pair>& pairs) const;
  static bool varies(const Shape& shape, std::size_t needed, bool scale);

  KeyTable& keys_;
  std::unordered_map<std::uint64_t, Shape> shapes_;
};

}  // namespace aplomb::log_text
