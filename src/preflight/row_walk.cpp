#include "preflight/row_walk.h"

#include <simdjson.h>

#include <algorithm>

namespace aplomb::preflight {
namespace {

using simdjson::dom::element;

constexpr std::int64_t k_ignored = -100;  // torch's ignore_index

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \n\r\t") == std::string_view::npos;
}

/// All text in a value: of a list of turns or of pieces (text and images) that of its parts.
void gather(element value, std::uint64_t& size, std::uint64_t& hash, bool& blank) {
  std::string_view text;
  simdjson::dom::array list;
  simdjson::dom::object object;
  if (value.get(text) == simdjson::SUCCESS) {
    size += text.size();
    hash = hash_of(text, hash);
    blank = blank && is_blank(text);
  } else if (value.get(list) == simdjson::SUCCESS) {
    for (const element each : list) gather(each, size, hash, blank);
  } else if (value.get(object) == simdjson::SUCCESS) {
    for (const auto& field : object) gather(field.value, size, hash, blank);
  } else if (value.is_number() || value.is_bool()) {
    ++size;  // an answer may be a number
    hash = hash_of(simdjson::minify(value), hash);
    blank = false;
  }
}

bool answers(std::string_view role) {
  return role == "assistant" || role == "gpt" || role == "model" || role == "bot" ||
         role == "chatbot" || role == "ai";
}

bool is_numbers(ColumnUse use) {
  return use == ColumnUse::ids || use == ColumnUse::labels || use == ColumnUse::mask;
}

}  // namespace

void RowWalk::label(std::int64_t label) {
  if (limits_.classes > 0 && (label < 0 || static_cast<double>(label) >= limits_.classes))
    row_.faults |= k_row_out_of_range;
}

inline void RowWalk::one(ColumnUse use, std::int64_t number, Counted& counted) {
  ++counted.count;
  if (use == ColumnUse::mask) {
    counted.on += number != 0 ? 1U : 0U;
    return;
  }
  if (use == ColumnUse::ids)
    row_.hash = folded(row_.hash ^ static_cast<std::uint64_t>(number), 0x9E3779B97F4A7C15);
  if (use == ColumnUse::labels && number == k_ignored) return;
  ++counted.on;
  if (number < 0 || (limits_.vocabulary > 0 && static_cast<double>(number) >= limits_.vocabulary))
    row_.faults |= k_row_out_of_range;
}

void RowWalk::counted(ColumnUse use, const Counted& counted) {
  if (use == ColumnUse::ids) {
    seen_.ids = counted.count;
    seen_.has_ids = true;
  } else if (use == ColumnUse::labels) {
    seen_.labels = counted.count;
    seen_.labels_trained = counted.on;
    seen_.has_labels = true;
  } else {
    seen_.mask = counted.count;
    seen_.mask_on = counted.on;
    seen_.has_mask = true;
  }
}

template <class Integer>
void RowWalk::numbers(ColumnUse use, const Integer* first, std::uint64_t count) {
  Counted sum;
  for (std::uint64_t i = 0; i < count; ++i) one(use, static_cast<std::int64_t>(first[i]), sum);
  counted(use, sum);
}
template void RowWalk::numbers(ColumnUse, const std::int8_t*, std::uint64_t);
template void RowWalk::numbers(ColumnUse, const std::uint16_t*, std::uint64_t);
template void RowWalk::numbers(ColumnUse, const std::uint32_t*, std::uint64_t);
template void RowWalk::numbers(ColumnUse, const std::int32_t*, std::uint64_t);
template void RowWalk::numbers(ColumnUse, const std::int64_t*, std::uint64_t);

void RowWalk::list(ColumnUse use, element value) {
  simdjson::dom::array items;
  if (value.get(items) != simdjson::SUCCESS) {
    std::int64_t number = 0;  // one number: a class
    if (use == ColumnUse::labels && value.get(number) == simdjson::SUCCESS) label(number);
    return;
  }
  Counted sum;
  for (const element item : items) {
    std::int64_t number = 0;
    if (item.get(number) != simdjson::SUCCESS) return;  // words or fractions: not ids
    one(use, number, sum);
  }
  counted(use, sum);
}

void RowWalk::add_turn(std::string_view role, std::uint64_t size, bool spoken) {
  if (role.empty() || !spoken) row_.faults |= k_row_chat;
  row_.length += size;
  if (answers(role)) row_.trained += size;
}

void RowWalk::turn(std::string_view role, std::string_view content) {
  row_.hash = hash_of(content, row_.hash);
  add_turn(role, content.size(), true);
}

/// One turn of a chat: its bytes, and those of an answer.
void RowWalk::turn_object(simdjson::dom::object object) {
  std::string_view role;
  std::uint64_t size = 0;
  bool spoken = false;
  bool blank = true;
  for (const auto& field : object) {
    const std::string_view key = field.key;
    if (key == "role" || key == "from") {
      if (field.value.get(role) != simdjson::SUCCESS) role = {};
    } else if (key == "content" || key == "value" || key == "tool_calls" ||
               key == "function_call") {
      if (field.value.is_null()) continue;  // column files hold null where JSON has no key
      gather(field.value, size, row_.hash, blank);
      spoken = true;
    }
  }
  add_turn(role, size, spoken);
}

void RowWalk::end_turns(bool any) {
  if (!any) {
    row_.faults |= k_row_empty;
  } else if (row_.trained == 0 && (row_.faults & k_row_chat) == 0) {
    row_.faults |= k_row_masked;
  }
}

void RowWalk::turns(element value) {
  begin_turns();
  simdjson::dom::array list;
  if (value.get(list) != simdjson::SUCCESS) {
    row_.faults |= k_row_chat;
    return;
  }
  for (const element item : list) {
    simdjson::dom::object object;
    if (item.get(object) == simdjson::SUCCESS) {
      turn_object(object);
    } else {
      row_.faults |= k_row_chat;
    }
  }
  end_turns(list.begin() != list.end());
}

void RowWalk::begin_text(ColumnUse use) {
  row_.hash = folded(row_.hash + static_cast<std::uint64_t>(use), 0xD6E8FEB86659FD93);
}

void RowWalk::end_text(ColumnUse use, std::uint64_t size, bool blank) {
  row_.length += size;
  if (use == ColumnUse::rejected) {
    seen_.rejected = true;
  } else if (use == ColumnUse::prompt) {
    seen_.prompt = true;
  } else {
    if (use != ColumnUse::target && row_.form == RowForm::unknown) row_.form = RowForm::text;
    row_.trained += size;
    seen_.target = true;
    seen_.target_blank = seen_.target_blank && blank;
  }
}

void RowWalk::text(ColumnUse use, std::string_view text) {
  begin_text(use);
  row_.hash = hash_of(text, row_.hash);
  end_text(use, text.size(), is_blank(text));
}

void RowWalk::value(ColumnUse use, element value) {
  if (use == ColumnUse::turns) return turns(value);
  if (is_numbers(use)) return list(use, value);
  std::uint64_t size = 0;
  bool blank = true;
  begin_text(use);
  gather(value, size, row_.hash, blank);
  end_text(use, size, blank);
}

void RowWalk::finish() {
  if (seen_.has_ids) {
    judge_tokens();
  } else if (row_.form != RowForm::chat) {
    judge_text();
  }
}

void RowWalk::judge_tokens() {
  row_.form = RowForm::tokens;
  row_.length = seen_.ids;
  row_.trained = seen_.has_labels ? seen_.labels_trained
                 : seen_.has_mask ? seen_.mask_on
                                  : seen_.ids;
  if (seen_.ids == 0) row_.faults |= k_row_empty;
  if (seen_.ids > 0 && row_.trained == 0) row_.faults |= k_row_masked;
  if ((seen_.has_labels && seen_.labels != seen_.ids) ||
      (seen_.has_mask && seen_.mask != seen_.ids))
    row_.faults |= k_row_lengths_differ;
}

void RowWalk::judge_text() {
  if (seen_.target && seen_.rejected) {
    row_.form = RowForm::preference;
  } else if (seen_.prompt) {
    row_.form = RowForm::pair;
  }
  if (row_.form == RowForm::unknown) {
    row_.faults |= k_row_foreign;
  } else if (row_.length == 0 || (seen_.target && seen_.target_blank)) {
    row_.faults |= k_row_empty;
  }
}

}  // namespace aplomb::preflight
