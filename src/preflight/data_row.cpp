#include "preflight/data_row.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/text.h"

namespace aplomb {
namespace {

using simdjson::dom::element;

constexpr std::int64_t k_ignored = -100;  // torch's ignore_index

struct Column {
  std::string_view name;
  ColumnUse use;
};

constexpr std::array<Column, 33> k_columns = {
    {{"text", ColumnUse::text},           {"content", ColumnUse::text},
     {"sentence", ColumnUse::text},       {"document", ColumnUse::text},
     {"prompt", ColumnUse::prompt},       {"instruction", ColumnUse::prompt},
     {"input", ColumnUse::prompt},        {"inputs", ColumnUse::prompt},
     {"question", ColumnUse::prompt},     {"query", ColumnUse::prompt},
     {"problem", ColumnUse::prompt},      {"context", ColumnUse::prompt},
     {"system", ColumnUse::prompt},       {"completion", ColumnUse::target},
     {"response", ColumnUse::target},     {"output", ColumnUse::target},
     {"outputs", ColumnUse::target},      {"answer", ColumnUse::target},
     {"solution", ColumnUse::target},     {"target", ColumnUse::target},
     {"chosen", ColumnUse::target},       {"rejected", ColumnUse::rejected},
     {"messages", ColumnUse::turns},      {"conversations", ColumnUse::turns},
     {"conversation", ColumnUse::turns},  {"input_ids", ColumnUse::ids},
     {"tokens", ColumnUse::ids},          {"labels", ColumnUse::labels},
     {"label", ColumnUse::labels},        {"attention_mask", ColumnUse::mask},
     {"loss_mask", ColumnUse::mask},      {"assistant_masks", ColumnUse::mask},
     {"completion_mask", ColumnUse::mask}}};

std::uint64_t folded(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

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

/// What the arrays of a tokenised row held.
struct Tokens {
  std::uint64_t ids = 0;
  std::uint64_t labels = 0;
  std::uint64_t labels_trained = 0;
  std::uint64_t mask = 0;
  std::uint64_t mask_on = 0;
  bool has_ids = false, has_labels = false, has_mask = false;
  bool target = false, target_blank = true, prompt = false, rejected = false;
};

class RowWalk {
 public:
  RowWalk(const DataLimits& limits, Row& into) : limits_(limits), row_(into) {}
  void object(simdjson::dom::object fields);

 private:
  void field(ColumnUse use, element value);
  void numbers(ColumnUse use, element value);
  void turns(element value);
  void turn(simdjson::dom::object object);
  void judge_tokens();
  void judge_text();
  bool out_of_range(std::int64_t id) const;

  const DataLimits& limits_;
  Row& row_;
  Tokens tokens_;
};

bool RowWalk::out_of_range(std::int64_t id) const {
  return id < 0 || (limits_.vocabulary > 0 && static_cast<double>(id) >= limits_.vocabulary);
}

void RowWalk::numbers(ColumnUse use, element value) {
  simdjson::dom::array list;
  if (value.get(list) != simdjson::SUCCESS) {
    std::int64_t label = 0;  // one number: a class
    if (use == ColumnUse::labels && value.get(label) == simdjson::SUCCESS && limits_.classes > 0 &&
        (label < 0 || static_cast<double>(label) >= limits_.classes))
      row_.faults |= k_row_out_of_range;
    return;
  }
  std::uint64_t count = 0;
  std::uint64_t on = 0;
  for (const element item : list) {
    std::int64_t number = 0;
    if (item.get(number) != simdjson::SUCCESS) return;  // words or fractions: not ids
    ++count;
    if (use == ColumnUse::ids)
      row_.hash = folded(row_.hash ^ static_cast<std::uint64_t>(number), 0x9E3779B97F4A7C15);
    const bool ignored = use == ColumnUse::labels && number == k_ignored;
    on += use == ColumnUse::mask ? static_cast<std::uint64_t>(number != 0) : ignored ? 0U : 1U;
    if (use != ColumnUse::mask && !ignored && out_of_range(number))
      row_.faults |= k_row_out_of_range;
  }
  if (use == ColumnUse::ids) {
    tokens_.ids = count;
    tokens_.has_ids = true;
  } else if (use == ColumnUse::labels) {
    tokens_.labels = count;
    tokens_.labels_trained = on;
    tokens_.has_labels = true;
  } else {
    tokens_.mask = count;
    tokens_.mask_on = on;
    tokens_.has_mask = true;
  }
}

/// One turn of a chat: its bytes, and those of an answer.
void RowWalk::turn(simdjson::dom::object object) {
  std::string_view role;
  std::uint64_t size = 0;
  bool spoken = false;
  bool blank = true;
  for (const auto& field : object) {
    const std::string_view key = field.key;
    if (key == "role" || key == "from") {
      if (field.value.get(role) != simdjson::SUCCESS) role = {};
    } else if (key == "content" || key == "value") {
      if (field.value.is_null()) continue;
      gather(field.value, size, row_.hash, blank);
      spoken = true;
    } else if (key == "tool_calls" || key == "function_call") {
      spoken = true;
    }
  }
  if (role.empty() || !spoken) row_.faults |= k_row_chat;
  row_.length += size;
  if (answers(role)) row_.trained += size;
}

void RowWalk::turns(element value) {
  row_.form = RowForm::chat;
  simdjson::dom::array list;
  if (value.get(list) != simdjson::SUCCESS) {
    row_.faults |= k_row_chat;
    return;
  }
  for (const element item : list) {
    simdjson::dom::object object;
    if (item.get(object) == simdjson::SUCCESS) {
      turn(object);
    } else {
      row_.faults |= k_row_chat;
    }
  }
  if (list.begin() == list.end()) {
    row_.faults |= k_row_empty;
  } else if (row_.trained == 0 && (row_.faults & k_row_chat) == 0) {
    row_.faults |= k_row_masked;
  }
}

void RowWalk::field(ColumnUse use, element value) {
  if (use == ColumnUse::turns) return turns(value);
  if (use == ColumnUse::ids || use == ColumnUse::labels || use == ColumnUse::mask)
    return numbers(use, value);
  std::uint64_t size = 0;
  bool blank = true;
  row_.hash = folded(row_.hash + static_cast<std::uint64_t>(use), 0xD6E8FEB86659FD93);
  gather(value, size, row_.hash, blank);
  row_.length += size;
  if (use == ColumnUse::target) {
    tokens_.target = true;
    tokens_.target_blank = tokens_.target_blank && blank;
    row_.trained += size;
  } else if (use == ColumnUse::rejected) {
    tokens_.rejected = true;
  } else if (use == ColumnUse::prompt) {
    tokens_.prompt = true;
  } else {
    if (row_.form == RowForm::unknown) row_.form = RowForm::text;
    row_.trained += size;
    tokens_.target = true;
    tokens_.target_blank = tokens_.target_blank && blank;
  }
}

void RowWalk::object(simdjson::dom::object fields) {
  for (const auto& each : fields) {
    const ColumnUse use = column_use(each.key);
    if (use != ColumnUse::other) field(use, each.value);
  }
  if (tokens_.has_ids) {
    judge_tokens();
  } else if (row_.form != RowForm::chat) {
    judge_text();
  }
}

void RowWalk::judge_tokens() {
  row_.form = RowForm::tokens;
  row_.length = tokens_.ids;
  row_.trained = tokens_.has_labels ? tokens_.labels_trained
                 : tokens_.has_mask ? tokens_.mask_on
                                    : tokens_.ids;
  if (tokens_.ids == 0) row_.faults |= k_row_empty;
  if (tokens_.ids > 0 && row_.trained == 0) row_.faults |= k_row_masked;
  if ((tokens_.has_labels && tokens_.labels != tokens_.ids) ||
      (tokens_.has_mask && tokens_.mask != tokens_.ids))
    row_.faults |= k_row_lengths_differ;
}

void RowWalk::judge_text() {
  if (tokens_.target && tokens_.rejected) {
    row_.form = RowForm::preference;
  } else if (tokens_.prompt) {
    row_.form = RowForm::pair;
  }
  if (row_.form == RowForm::unknown) {
    row_.faults |= k_row_foreign;
  } else if (row_.length == 0 || (tokens_.target && tokens_.target_blank)) {
    row_.faults |= k_row_empty;
  }
}

}  // namespace

std::uint64_t hash_of(std::string_view text, std::uint64_t seed) {
  constexpr std::uint64_t k_first = 0x9E3779B97F4A7C15;
  constexpr std::uint64_t k_second = 0xD6E8FEB86659FD93;
  std::uint64_t hash = seed ^ (text.size() * k_second);
  while (text.size() >= 16) {
    std::array<std::uint64_t, 2> part{};
    std::memcpy(part.data(), text.data(), 16);
    hash = folded(part[0] ^ hash ^ k_first, part[1] ^ k_second);
    text.remove_prefix(16);
  }
  std::array<std::uint64_t, 2> rest{};
  std::memcpy(rest.data(), text.data(), text.size());
  return folded(rest[0] ^ hash ^ k_first, rest[1] ^ k_second ^ hash);
}

ColumnUse column_use(std::string_view name) {
  for (const Column& column : k_columns) {
    if (iequals(column.name, name)) return column.use;
  }
  return ColumnUse::other;
}

bool holds_nonfinite(std::string_view json) {
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (quoted && json[i] == '\\') {
      ++i;
    } else if (json[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && (json[i] == 'N' || json[i] == 'I')) {
      const std::string_view rest = json.substr(i);
      if (rest.starts_with("NaN") || rest.starts_with("Infinity")) return true;
    }
  }
  return false;
}

struct JsonRowReader::Parser {
  simdjson::dom::parser json;
};

JsonRowReader::JsonRowReader(const DataLimits& limits)
    : limits_(limits), parser_(std::make_unique<Parser>()) {}
JsonRowReader::~JsonRowReader() = default;

Row JsonRowReader::read(std::string_view text, std::size_t capacity) {
  static_assert(k_padding >= simdjson::SIMDJSON_PADDING);
  if (capacity < text.size() + k_padding) {
    copy_.assign(text);
    copy_.resize(text.size() + k_padding, ' ');
    return read(std::string_view(copy_).substr(0, text.size()), copy_.size());
  }
  Row row;
  simdjson::dom::object fields;
  if (parser_->json.parse(text.data(), text.size(), false).get(fields) == simdjson::SUCCESS) {
    RowWalk(limits_, row).object(fields);
  } else {
    row.faults = holds_nonfinite(text) ? k_row_nonfinite : k_row_unreadable;
  }
  if (row.form == RowForm::unknown) row.hash = hash_of(text);
  return row;
}

}  // namespace aplomb
