#include "preflight/data_row.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/text.h"
#include "preflight/row_walk.h"

namespace aplomb::preflight {
namespace {

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

}  // namespace

std::uint64_t folded(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

std::uint64_t hash_of(std::string_view text, std::uint64_t seed) {
  constexpr std::uint64_t k_first = 0x9E3779B97F4A7C15;
  constexpr std::uint64_t k_second = 0xD6E8FEB86659FD93;
  constexpr std::uint64_t k_third = 0xA0761D6478BD642F;  // not k_second: a factor must not cancel
  std::uint64_t hash = seed ^ ((text.size() + 1) * k_third);
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
    if (core::iequals(column.name, name)) return column.use;
  }
  return ColumnUse::other;
}

std::vector<std::string_view> used_columns() {
  std::vector<std::string_view> names;
  for (const Column& column : k_columns) names.push_back(column.name);
  return names;
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
    RowWalk walk(limits_, row);
    for (const auto& each : fields) {
      const ColumnUse use = column_use(each.key);
      if (use != ColumnUse::other) walk.value(use, each.value);
    }
    walk.finish();
  } else {
    row.faults = holds_nonfinite(text) ? k_row_nonfinite : k_row_unreadable;
  }
  if (row.form == RowForm::unknown) row.hash = hash_of(text);
  return row;
}

}  // namespace aplomb::preflight
