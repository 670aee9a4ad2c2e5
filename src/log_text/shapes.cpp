#include "log_text/shapes.h"

#include <algorithm>
#include <cmath>

#include "core/bytes.h"
#include "core/decimal.h"
#include "core/letters.h"
#include "core/text.h"
#include "log_text/number.h"

namespace aplomb::log_text {
namespace {

using core::is_digit;
using core::is_name_start;

const char* skip_blanks(const char* p, const char* end) {
  while (p < end && core::is_blank(*p)) ++p;
  return p;
}

/// Where numbers are read from: a piece of a line.
struct Text {
  const char* first = nullptr;
  const char* end = nullptr;
};

/// Digits alone at p, as counts are written; the end of them, p where there are none.
inline const char* read_whole(const Text& text, const char* p, double& value) {
  constexpr std::ptrdiff_t k_most_digits = 16;
  std::uint64_t number = 0;
  const char* const q = core::decimal::read_digits(text.first, p, text.end, number);
  if (q - p > k_most_digits || (q < text.end && *q == '.')) return p;
  value = static_cast<double>(number);
  return q;
}

/// A number of a pair; the end of it, p where it cannot stand for itself.
inline const char* read_number(const Text& text, const char* p, double& value) {
  const Scanned found = scan_number(text.first, p, text.end);
  const char* q = p + found.size;
  // `nanms`: the finder takes no unit behind NaN.
  if (!std::isfinite(found.value) && found.size > 0 && q < text.end && is_name_start(*q)) return p;
  value = found.value;
  return q;
}

}  // namespace

/// A slot that is no sample, at p: its end; null where the text does not fit it.
const char* ShapeCache::take(const Piece& piece, std::string_view line, const char* p,
                             Record& record) {
  const Text text{line.data(), line.data() + line.size()};
  double ignored = 0;
  const char* after = p;
  switch (piece.slot) {
    case Slot::sample:
    case Slot::number:
      after = read_number(text, p, ignored);
      break;
    case Slot::epoch_sample:
      after = read_number(text, p, record.place.epoch);
      if (!std::all_of(p, after, is_digit))
        record.samples.push_back({piece.key, record.place.epoch});
      break;
    case Slot::digits:
      while (after < text.end && is_digit(*after)) ++after;
      break;
    case Slot::step:
      after = read_whole(text, p, record.place.step);
      break;
    case Slot::step_total:
      after = read_whole(text, p, record.place.step_total);
      break;
    case Slot::epoch:
      after = read_whole(text, p, record.place.epoch);
      break;
    case Slot::inner:
      after = read_whole(text, p, record.place.inner);
      break;
    case Slot::inner_total:
      after = read_whole(text, p, record.place.inner_total);
      break;
    case Slot::whole:
      after = read_whole(text, p, ignored);
      break;
    case Slot::end:
      return p == text.end ? p : nullptr;
  }
  return after == p ? nullptr : after;
}

/// Behind the literal of a piece that stands at p, and the blanks around it; null where it does
/// not. Mostly it stands there as it was learned, blanks and all.
inline const char* ShapeCache::literal(const Shape& shape, const Piece& piece, const char* p,
                                       const char* end) {
  const char* const text = shape.literals.data();
  const auto left = static_cast<std::size_t>(end - p);
  const bool as_learned = left >= piece.size &&
                          core::same_bytes(p, text + piece.begin, piece.size) &&
                          (left == piece.size || !core::is_blank(p[piece.size]));
  if (as_learned) return p + piece.size;
  p = skip_blanks(p, end);
  if (static_cast<std::size_t>(end - p) < piece.core_size ||
      !core::same_bytes(p, text + piece.core_begin, piece.core_size)) {
    return nullptr;
  }
  return skip_blanks(p + piece.core_size, end);
}

bool ShapeCache::fits(const Shape& shape, std::string_view line, Record& record) {
  const Text text{line.data(), line.data() + line.size()};
  const char* p = text.first;
  record.place = Place{};
  record.place.absolute = shape.absolute;
  record.samples.clear();
  record.train_loss = shape.train_loss;
  for (const Piece& piece : shape.pieces) {
    p = literal(shape, piece, p, text.end);
    if (p == nullptr) return false;
    if (piece.slot != Slot::sample) {
      p = take(piece, line, p, record);
      if (p == nullptr) return false;
      continue;
    }
    double value = 0;
    const char* const after = read_number(text, p, value);
    if (after == p) return false;
    record.samples.push_back({piece.key, value * piece.factor});
    p = after;
  }
  return true;
}

bool ShapeCache::try_shape(std::size_t index, std::string_view line, Record& record) {
  if (!fits(shapes_[index], line, record)) return false;
  ++shapes_[index].hits;
  shapes_[last_].next = index;
  last_ = index;
  return true;
}

bool ShapeCache::match(std::string_view line, Record& record) {
  if (shapes_.empty()) return false;
  const std::size_t guess = shapes_[last_].next;
  if (try_shape(guess, line, record)) return true;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    if (i != guess && try_shape(i, line, record)) return true;
  }
  return false;
}

/// The slot of a pair, and of its total. `left`: the samples of the record not yet met, last first;
/// `seen`: the counts met.
ShapeCache::Span ShapeCache::span_of(const Pair& pair, Place& seen, std::vector<Sample>& left,
                                     Slot& total) {
  Span span{pair.begin, pair.end, pair.integer ? Slot::whole : Slot::number, pair.key, pair.factor};
  total = Slot::whole;
  if (pair.meaning == Meaning::step && std::isnan(seen.step)) {
    span.slot = Slot::step;
    total = Slot::step_total;
    seen.step = pair.value;
  } else if (pair.meaning == Meaning::inner && std::isnan(seen.inner)) {
    span.slot = Slot::inner;
    total = Slot::inner_total;
    seen.inner = pair.value;
  } else if (pair.meaning == Meaning::epoch && std::isnan(seen.epoch)) {
    const bool sampled = !left.empty() && left.back().key == pair.key;
    span.slot = sampled ? Slot::epoch_sample : Slot::epoch;
    if (sampled) left.pop_back();
    seen.epoch = pair.value;
  } else if ((pair.meaning == Meaning::metric || pair.meaning == Meaning::unknown) &&
             !left.empty() && (pair.key == left.back().key || pair.key == KeyTable::k_none) &&
             (left.back().value == pair.value || std::isnan(pair.value))) {
    span.slot = Slot::sample;
    span.key = left.back().key;
    left.pop_back();
  }
  return span;
}

/// What of the line is no literal, in its order; keys stand in it as spans of Slot::end. Empty
/// where the record holds samples that no pair explains.
std::vector<ShapeCache::Span> ShapeCache::spans_of(const std::vector<Pair>& pairs,
                                                   const std::vector<Token>& tokens,
                                                   const Record& record) {
  std::vector<Span> spans;
  std::vector<Sample> left(record.samples.rbegin(), record.samples.rend());
  Place seen;
  for (const Pair& pair : pairs) {
    Slot total = Slot::whole;
    spans.push_back(span_of(pair, seen, left, total));
    if (!std::isnan(pair.total)) spans.push_back({pair.total_begin, pair.total_end, total, 0, 1});
    if (pair.key_end > pair.key_begin)  // digits of a key are no slots
      spans.push_back({pair.key_begin, pair.key_end, Slot::end, 0, 1});
  }
  if (!left.empty()) return {};
  const auto covered = [&spans](std::uint32_t at) {
    return std::any_of(spans.begin(), spans.end(),
                       [at](const Span& span) { return at >= span.begin && at < span.end; });
  };
  for (const Token& token : tokens) {
    if (token.type == TokenType::number && !covered(token.begin))
      spans.push_back({token.begin, token.end, token.integer ? Slot::whole : Slot::number, 0, 1});
  }
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.begin < b.begin; });
  return spans;
}

/// Ends the piece whose literal has been written from `begin` on.
void ShapeCache::close(Shape& shape, std::uint32_t begin, const Span& span) {
  const std::string_view text = std::string_view(shape.literals).substr(begin);
  const std::size_t last = text.find_last_not_of(" \t");  // npos + 1: none
  const std::size_t lead = last == std::string_view::npos ? 0 : text.find_first_not_of(" \t");
  shape.pieces.push_back(
      {begin, static_cast<std::uint32_t>(text.size()), begin + static_cast<std::uint32_t>(lead),
       static_cast<std::uint32_t>(last + 1 - lead), span.slot, span.key, span.factor});
}

ShapeCache::Shape ShapeCache::build(std::string_view line, const std::vector<Pair>& pairs,
                                    const std::vector<Token>& tokens, const Record& record) {
  Shape shape;
  const std::vector<Span> spans = spans_of(pairs, tokens, record);
  if (spans.empty()) return shape;  // not understood: no shape
  std::uint32_t literal = 0;        // where that of the piece begins
  const auto end_piece = [&shape, &literal](const Span& span) {
    close(shape, literal, span);
    literal = static_cast<std::uint32_t>(shape.literals.size());
  };
  std::size_t span = 0;
  for (std::uint32_t at = 0; at < line.size();) {
    while (span < spans.size() && spans[span].begin < at) ++span;
    if (span < spans.size() && spans[span].begin == at) {
      const Span& now = spans[span++];
      if (now.slot == Slot::end) {
        shape.literals.append(line.substr(at, now.end - at));
      } else {
        end_piece(now);
      }
      at = now.end;
    } else if (is_digit(line[at])) {
      end_piece({at, at, Slot::digits, KeyTable::k_none, 1});
      while (at < line.size() && is_digit(line[at])) ++at;
    } else {
      shape.literals.push_back(line[at++]);
    }
  }
  end_piece({});
  shape.train_loss = record.train_loss;
  shape.absolute = record.place.absolute;
  return shape;
}

void ShapeCache::learn(std::string_view line, const std::vector<Pair>& pairs,
                       const std::vector<Token>& tokens, const Record& record) {
  if (line.size() > k_longest || learned_ >= k_most_learned) return;
  for (const Pair& pair : pairs) {
    if (pair.factor == 0) return;  // a rate turned into a time: not linear
  }
  ++learned_;
  Shape shape = build(line, pairs, tokens, record);
  Record check;
  // A shape must read its own line as the finder did, or it is none.
  if (shape.pieces.empty() || !fits(shape, line, check)) return;
  const bool same =
      check.samples.size() == record.samples.size() &&
      std::equal(check.samples.begin(), check.samples.end(), record.samples.begin(),
                 [](const Sample& a, const Sample& b) {
                   return a.key == b.key && (a.value == b.value || std::isnan(a.value));
                 });
  if (!same) return;
  std::size_t place = shapes_.size();
  if (place < k_most_shapes) {
    shapes_.push_back(std::move(shape));
  } else {
    const auto least =
        std::min_element(shapes_.begin(), shapes_.end(),
                         [](const Shape& a, const Shape& b) { return a.hits < b.hits; });
    place = static_cast<std::size_t>(least - shapes_.begin());
    *least = std::move(shape);
  }
  shapes_[last_].next = place;
  last_ = place;
}

}  // namespace aplomb::log_text
