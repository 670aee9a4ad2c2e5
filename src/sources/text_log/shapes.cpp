#include "sources/text_log/shapes.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sources/text_log/number.h"

namespace aplomb::text_log {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }
bool is_letter(char c) { return static_cast<unsigned char>((c | 0x20) - 'a') < 26 || c == '_'; }

/// memcmp for the short pieces between numbers, without the call.
inline bool same_bytes(const char* a, const char* b, std::size_t size) {
  if (size < 8) {
    for (std::size_t i = 0; i < size; ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }
  const auto differ = [a, b](std::size_t at) {
    std::uint64_t x = 0;
    std::uint64_t y = 0;
    std::memcpy(&x, a + at, 8);
    std::memcpy(&y, b + at, 8);
    return x != y;
  };
  for (std::size_t at = 0; at + 8 < size; at += 8) {
    if (differ(at)) return false;
  }
  return !differ(size - 8);
}

const char* skip_blanks(const char* p, const char* end) {
  while (p < end && is_blank(*p)) ++p;
  return p;
}

/// Digits alone at p, as counts are written; the end of them, p where there are none.
const char* read_whole(const char* p, const char* end, double& value) {
  std::uint64_t number = 0;
  const char* q = p;
  while (q < end && is_digit(*q) && q - p < 16) {
    number = number * 10 + static_cast<std::uint64_t>(*q - '0');
    ++q;
  }
  if (q < end && (*q == '.' || is_digit(*q))) return p;
  value = static_cast<double>(number);
  return q;
}

/// A number of a pair; the end of it, p where it cannot stand for itself.
const char* read_number(const char* p, const char* end, double& value) {
  const Scanned found = scan_number(p, end);
  const char* q = p + found.size;
  // `nanms`: the finder takes no unit behind NaN.
  if (found.size > 0 && q < end && is_letter(*q) && !std::isfinite(found.value)) return p;
  value = found.value;
  return q;
}

}  // namespace

bool ShapeCache::take(const Piece& piece, const char*& p, const char* end, Record& record) {
  double value = 0;
  const char* after = p;
  switch (piece.slot) {
    case Slot::sample:
      after = read_number(p, end, value);
      record.samples.push_back({piece.key, value * piece.factor});
      break;
    case Slot::epoch_sample:
      after = read_whole(p, end, value);
      if (after == p) {
        after = read_number(p, end, value);
        record.samples.push_back({piece.key, value});
      }
      record.place.epoch = value;
      break;
    case Slot::number:
      after = read_number(p, end, value);
      break;
    case Slot::digits:
      while (after < end && is_digit(*after)) ++after;
      break;
    case Slot::step:
      after = read_whole(p, end, record.place.step);
      break;
    case Slot::step_total:
      after = read_whole(p, end, record.place.step_total);
      break;
    case Slot::epoch:
      after = read_whole(p, end, record.place.epoch);
      break;
    case Slot::inner:
      after = read_whole(p, end, record.place.inner);
      break;
    case Slot::inner_total:
      after = read_whole(p, end, record.place.inner_total);
      break;
    case Slot::whole:
      after = read_whole(p, end, value);
      break;
    case Slot::end:
      return p == end;
  }
  const bool taken = after != p;
  p = after;
  return taken;
}

bool ShapeCache::fits(const Shape& shape, std::string_view line, Record& record) {
  const char* p = line.data();
  const char* end = p + line.size();
  record.place = Place{};
  record.place.absolute = shape.absolute;
  record.samples.clear();
  record.train_loss = shape.train_loss;
  for (const Piece& piece : shape.pieces) {
    p = skip_blanks(p, end);
    if (static_cast<std::size_t>(end - p) < piece.size ||
        !same_bytes(p, shape.literals.data() + piece.begin, piece.size)) {
      return false;
    }
    p = skip_blanks(p + piece.size, end);
    if (!take(piece, p, end, record)) return false;
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

ShapeCache::Shape ShapeCache::build(std::string_view line, const std::vector<Pair>& pairs,
                                    const std::vector<Token>& tokens, const Record& record) {
  struct Span {
    std::uint32_t begin;
    std::uint32_t end;
    Slot slot;
    KeyId key;
    double factor;
  };
  std::vector<Span> spans;
  std::vector<Sample> left(record.samples.rbegin(), record.samples.rend());
  Place seen;
  for (const Pair& pair : pairs) {
    Span span{pair.begin, pair.end, pair.integer ? Slot::whole : Slot::number, pair.key,
              pair.factor};
    Slot total = Slot::whole;
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
    spans.push_back(span);
    if (!std::isnan(pair.total)) spans.push_back({pair.total_begin, pair.total_end, total, 0, 1});
    if (pair.key_end > pair.key_begin)  // digits of a key are no slots
      spans.push_back({pair.key_begin, pair.key_end, Slot::end, 0, 1});
  }
  Shape shape;
  if (!left.empty()) return shape;  // not understood: no shape
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
  Piece piece;
  const auto close = [&](Slot slot, KeyId key, double factor) {
    std::string& text = shape.literals;
    while (text.size() > piece.begin && is_blank(text.back())) text.pop_back();
    const std::size_t lead = text.find_first_not_of(" \t", piece.begin);
    if (lead != std::string::npos) piece.begin = static_cast<std::uint32_t>(lead);
    piece.size =
        static_cast<std::uint32_t>(text.size() - std::min<std::size_t>(piece.begin, text.size()));
    piece.slot = slot;
    piece.key = key;
    piece.factor = factor;
    shape.pieces.push_back(piece);
    piece = Piece{};
    piece.begin = static_cast<std::uint32_t>(text.size());
  };
  std::size_t span = 0;
  for (std::uint32_t at = 0; at < line.size();) {
    while (span < spans.size() && spans[span].begin < at) ++span;
    if (span < spans.size() && spans[span].begin == at) {
      const Span& now = spans[span++];
      if (now.slot == Slot::end) {
        shape.literals.append(line.substr(at, now.end - at));
      } else {
        close(now.slot, now.key, now.factor);
      }
      at = now.end;
    } else if (is_digit(line[at])) {
      close(Slot::digits, KeyTable::k_none, 1);
      while (at < line.size() && is_digit(line[at])) ++at;
    } else {
      shape.literals.push_back(line[at++]);
    }
  }
  close(Slot::end, KeyTable::k_none, 1);
  shape.samples = record.samples.size();
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

}  // namespace aplomb::text_log
