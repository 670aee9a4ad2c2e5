#pragma once
/// One row of a data set, and what is wrong with it by itself.
///
/// Forms that are known: `{"messages": [{"role", "content"}]}` (and `conversations` with `from`,
/// `value`), `{"prompt", "completion"}` and its spellings, `{"chosen", "rejected"}`, `{"text"}`,
/// `{"input_ids", "labels", "attention_mask"}`.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace aplomb::preflight {

/// What of the run's settings a row is held against; 0 where it is not known.
struct DataLimits {
  double vocabulary = 0;
  double max_length = 0;  ///< tokens
  double classes = 0;
};

enum class RowForm : std::uint8_t { unknown, text, pair, preference, chat, tokens };

/// What is wrong with a row; several may be.
enum RowFault : std::uint32_t {
  k_row_unreadable = 1U << 0U,
  k_row_nonfinite = 1U << 1U,
  k_row_empty = 1U << 2U,           ///< nothing in it, or no target
  k_row_masked = 1U << 3U,          ///< no part of it trains
  k_row_out_of_range = 1U << 4U,    ///< an id or label that the model has no row for
  k_row_lengths_differ = 1U << 5U,  ///< ids, labels and mask are not of one length
  k_row_chat = 1U << 6U,            ///< turns without role or content
  k_row_foreign = 1U << 7U,         ///< an object of another form than any that is known
};

struct Row {
  RowForm form = RowForm::unknown;
  std::uint32_t faults = 0;
  std::uint64_t length = 0;   ///< tokens of RowForm::tokens, else bytes of text
  std::uint64_t trained = 0;  ///< the part of them that the loss is taken on
  std::uint64_t hash = 0;     ///< of the content: rows that differ in an id only are equal
};

/// 64 bits of a text (folded 128-bit products; not for untrusted hash tables).
std::uint64_t hash_of(std::string_view text, std::uint64_t seed = 0);

/// Two words into one, each bit of both in all of it.
std::uint64_t folded(std::uint64_t a, std::uint64_t b);

/// Which part of a sample a column holds, by its name in any case.
enum class ColumnUse : std::uint8_t {
  other,
  text,
  prompt,
  target,
  rejected,
  turns,
  ids,
  labels,
  mask
};
ColumnUse column_use(std::string_view name);
/// All names that column_use() knows.
std::vector<std::string_view> used_columns();

/// How a row reads. Made only where it is quoted.
class RowQuote {
 public:
  virtual ~RowQuote() = default;
  virtual std::string text() const = 0;
};

class PlainQuote final : public RowQuote {
 public:
  explicit PlainQuote(std::string_view text) : text_(text) {}
  std::string text() const override { return std::string(text_.substr(0, k_most)); }

 private:
  static constexpr std::size_t k_most = 1024;
  std::string_view text_;
};

/// Reads rows of JSON. Not thread-safe; keeps its buffers from row to row.
class JsonRowReader {
 public:
  explicit JsonRowReader(const DataLimits& limits);
  ~JsonRowReader();
  JsonRowReader(const JsonRowReader&) = delete;
  JsonRowReader& operator=(const JsonRowReader&) = delete;

  static constexpr std::size_t k_padding = 64;
  /// `capacity` bytes from the beginning of `text` may be read: at least k_padding more than it
  /// has, or the row is copied.
  Row read(std::string_view text, std::size_t capacity);

 private:
  struct Parser;  // keeps the JSON library out of this header
  DataLimits limits_;
  std::unique_ptr<Parser> parser_;
  std::string copy_;
};

/// Whether a text of JSON holds NaN or Infinity outside its strings, as Python writes them.
bool holds_nonfinite(std::string_view json);

}  // namespace aplomb::preflight
