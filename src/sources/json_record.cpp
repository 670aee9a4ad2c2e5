#include "sources/json_record.h"

#include <algorithm>
#include <array>

#include "core/text.h"

namespace aplomb::sources {
namespace {

template <std::size_t N>
bool among(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool says_phase(std::string_view key) {
  static constexpr std::array<std::string_view, 5> k_keys = {"mode", "split", "phase", "stage",
                                                             "subset"};
  return among(key, k_keys);
}

bool says_held_out(std::string_view text) {
  static constexpr std::array<std::string_view, 7> k_words = {"val",  "valid", "validation", "eval",
                                                              "test", "dev",   "evaluation"};
  return among(core::lower(text), k_words);
}

}  // namespace

bool JsonRecordReader::read(input::JsonCursor& json, std::uint64_t line, std::uint64_t offset) {
  at_ = 0;
  offset_ = offset;
  sink_.begin(line, offset);
  members(json, -1, 0);
  sink_.end();
  return !json.bad();
}

void JsonRecordReader::members(input::JsonCursor& json, std::int32_t parent, int depth) {
  if (!json.enter_object()) return;
  for (;;) {
    const bool expected =
        at_ < shape_.size() && shape_[at_].parent == parent && json.try_literal(shape_[at_].lead);
    if (!expected) {
      const std::size_t begin = json.at();
      std::string_view key;
      if (!json.next_member(key)) return;
      if (at_ >= k_most_members) {
        json.skip();
        continue;
      }
      learn(key, parent);
      json.peek();  // past the blanks before the value
      shape_[at_].lead = json.since(begin);
    }
    value(json, at_++, depth);
    if (json.bad()) return;
  }
}

void JsonRecordReader::learn(std::string_view key, std::int32_t parent) {
  Member member;
  member.name = parent < 0 ? std::string(key)
                           : shape_[static_cast<std::size_t>(parent)].name + "/" + std::string(key);
  member.parent = parent;
  if (says_phase(key)) {
    member.use = Use::phase;
  } else if (key == "total_steps" || key == "max_steps") {
    member.use = Use::planned_steps;
  }
  member.column = sink_.column(member.name);
  if (at_ == shape_.size()) shape_.emplace_back();
  shape_[at_] = std::move(member);
}

void JsonRecordReader::value(input::JsonCursor& json, std::size_t index, int depth) {
  double quick = 0;
  if (shape_[index].use == Use::metric && json.try_number(quick)) {
    sink_.put(shape_[index].column, quick);
    return;
  }
  switch (json.peek()) {
    case input::JsonCursor::Kind::number:
      if (const auto number = json.number()) {
        if (shape_[index].use == Use::planned_steps) {
          if (!planned_ && *number > 0) {
            planned_ = true;
            build_.setting(
                {"train.max_steps", *number, shape_[index].name, {}, {source_, 0, offset_}});
          }
          return;
        }
        sink_.put(shape_[index].column, *number);
      }
      return;
    case input::JsonCursor::Kind::object:
      if (depth < k_most_depth) {
        members(json, static_cast<std::int32_t>(index), depth + 1);
        return;
      }
      break;
    case input::JsonCursor::Kind::text:
      text(json, index);
      return;
    default:
      break;
  }
  json.skip();
}

void JsonRecordReader::text(input::JsonCursor& json, std::size_t index) {
  constexpr std::size_t k_longest_number = 40;
  const auto words = json.text();
  if (!words) return;
  if (shape_[index].use == Use::phase) {
    if (says_held_out(*words)) sink_.held_out();
  } else if (words->size() <= k_longest_number) {
    if (const auto number = core::parse_number(core::trim(*words)))
      sink_.put(shape_[index].column, *number);
  }
}

}  // namespace aplomb::sources
