#include "preflight/token_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>

#include "preflight/row_walk.h"
#include "tensors/mapped_file.h"

namespace aplomb::preflight {
namespace {

constexpr std::string_view k_megatron_magic("MMIDIDX\0\0", 9);  // indexed_dataset.py
constexpr std::size_t k_llmc_header_bytes = 1024;               // 256 int32
constexpr std::int32_t k_llmc_gpt2 = 20240520;                  // train_gpt2.cu: 16-bit ids
constexpr std::int32_t k_llmc_llama3 = 20240801;                // dev/data/data_common.py: 32-bit
constexpr std::uint32_t k_gpt2_end = 50256;
constexpr std::uint32_t k_llama3_begin = 128000;
constexpr std::uint64_t k_usual_block = 1024;  // nanoGPT's block_size
constexpr std::uint64_t k_longest_document = 1U << 20U;
constexpr std::size_t k_dropped_bytes = 8U << 20U;

template <class T>
T load(std::string_view bytes, std::size_t at) {
  T value{};
  if (at + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

std::string index_path(const std::string& path) {
  return path.substr(0, path.size() - std::string_view(".bin").size()) + ".idx";
}

bool is_megatron(const std::string& path) {
  const auto index = tensors::MappedFile::open(index_path(path));
  return index && (*index)->text().starts_with(k_megatron_magic);
}

std::int32_t llmc_magic(std::string_view text) {
  const auto magic = load<std::int32_t>(text, 0);
  const bool known = magic == k_llmc_gpt2 || magic == k_llmc_llama3;
  return known && text.size() >= k_llmc_header_bytes ? magic : 0;
}

/// `train.bin`, `val.bin`: what nanoGPT's prepare.py writes. Not weights: neither a zip nor a
/// pickle.
bool is_plain_stream(std::string_view path, std::string_view text) {
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  static constexpr std::array<std::string_view, 5> k_names = {"train.bin", "val.bin", "valid.bin",
                                                              "test.bin", "eval.bin"};
  return std::find(k_names.begin(), k_names.end(), name) != k_names.end() && !text.empty() &&
         text.size() % 2 == 0 && !text.starts_with("PK") && !text.starts_with('\x80');
}

/// `sequence 17: 464 3290 318 ... (212)`
template <class T>
class TokenQuote final : public RowQuote {
 public:
  TokenQuote(std::string_view what, std::uint64_t index, std::span<const T> ids)
      : what_(what), index_(index), ids_(ids) {}
  std::string text() const override {
    constexpr std::size_t k_shown = 12;
    std::string told = fmt::format("{} {}:", what_, index_);
    for (const T id : ids_.first(std::min(ids_.size(), k_shown)))
      told += fmt::format(" {}", static_cast<std::int64_t>(id));
    if (ids_.size() > k_shown) told += fmt::format(" ... ({})", ids_.size());
    return told;
  }

 private:
  std::string_view what_;
  std::uint64_t index_;
  std::span<const T> ids_;
};

template <class T>
Row row_of(std::span<const T> ids, const DataLimits& limits) {
  Row row;
  RowWalk walk(limits, row);
  walk.numbers(ColumnUse::ids, ids.data(), ids.size());
  walk.finish();
  return row;
}

/// Copies a sequence that may lie at any byte.
template <class T>
std::span<const T> ids_at(std::string_view bytes, std::size_t at, std::size_t count,
                          std::vector<T>& room) {
  room.resize(count);
  if (count > 0) std::memcpy(room.data(), bytes.data() + at, count * sizeof(T));
  return room;
}

/// The index of Megatron's indexed_dataset.py: magic, version (u64), type (u8), sequences (u64),
/// documents (u64), then the sizes (i32) and the places (i64) of all sequences.
struct MegatronIndex {
  std::uint64_t sequences = 0;
  std::uint8_t type = 0;
  std::string_view sizes;
  std::string_view places;

  static std::optional<MegatronIndex> of(std::string_view text) {
    constexpr std::size_t k_header = 9 + 8 + 1 + 8 + 8;
    if (text.size() < k_header) return std::nullopt;
    MegatronIndex index;
    index.type = load<std::uint8_t>(text, 17);
    index.sequences = load<std::uint64_t>(text, 18);
    if (index.sequences > (text.size() - k_header) / 12) return std::nullopt;
    index.sizes = text.substr(k_header, index.sequences * 4);
    index.places = text.substr(k_header + index.sizes.size(), index.sequences * 8);
    return index;
  }
};

template <class T>
core::Result<void> megatron_rows(const MegatronIndex& index, std::string_view bytes,
                                 const DataLimits& limits, std::uint64_t most,
                                 const RowSink& sink) {
  std::vector<T> room;
  for (std::uint64_t i = 0; i < std::min(index.sequences, most); ++i) {
    const auto size = load<std::int32_t>(index.sizes, i * 4);
    const auto place = load<std::int64_t>(index.places, i * 8);
    if (size < 0 || place < 0 || static_cast<std::uint64_t>(place) > bytes.size() ||
        static_cast<std::uint64_t>(size) >
            (bytes.size() - static_cast<std::uint64_t>(place)) / sizeof(T))
      return core::fail(
          core::ErrorCode::bad_format,
          fmt::format("[data] sequence {} lies outside of the file: index and tokens are "
                      "not of one run, or the file is torn",
                      i));
    const auto ids =
        ids_at(bytes, static_cast<std::size_t>(place), static_cast<std::size_t>(size), room);
    sink(row_of(ids, limits), 0, TokenQuote<T>("sequence", i, ids));
  }
  return {};
}

core::Result<void> read_megatron(const std::string& path, std::string_view bytes,
                                 const DataLimits& limits, std::uint64_t most,
                                 const RowSink& sink) {
  auto file = tensors::MappedFile::open(index_path(path));
  if (!file) return tl::unexpected(file.error());
  const auto index = MegatronIndex::of((*file)->text());
  if (!index) return core::fail(core::ErrorCode::bad_format, "[data] the .idx file is torn");
  switch (index->type) {  // the codes of indexed_dataset.py
    case 4:
      return megatron_rows<std::int32_t>(*index, bytes, limits, most, sink);
    case 5:
      return megatron_rows<std::int64_t>(*index, bytes, limits, most, sink);
    case 8:
      return megatron_rows<std::uint16_t>(*index, bytes, limits, most, sink);
    default:
      return core::fail(
          core::ErrorCode::bad_format,
          fmt::format("[data] type {} in the .idx file holds no token ids", index->type));
  }
}

/// Documents of a stream, ended (GPT-2) or begun (Llama 3) by a token; blocks where that is not
/// seen.
template <class T>
class Stream {
 public:
  Stream(std::string_view bytes, std::uint32_t mark, const DataLimits& limits, const RowSink& sink)
      : bytes_(bytes), mark_(mark), limits_(limits), sink_(sink) {
    block_ = limits.max_length >= 1 ? static_cast<std::uint64_t>(limits.max_length) : k_usual_block;
    limits_.max_length = 0;  // a stream is cut into blocks, so no document is too long
    documents_ = holds_mark();
  }

  void rows(std::uint64_t most) {
    const std::uint64_t count = bytes_.size() / sizeof(T);
    for (std::uint64_t at = 0, row = 0; at < count && row < most; ++row) {
      const std::uint64_t end = documents_ ? document_end(at, count) : std::min(at + block_, count);
      const auto ids = ids_at(bytes_, at * sizeof(T), end - at, room_);
      sink_(row_of(ids, limits_), 0, TokenQuote<T>("from token", at, ids));
      at = end + (documents_ && end < count && token(end) == mark_ ? 1 : 0);
      drop(at * sizeof(T));
    }
  }

 private:
  std::uint32_t token(std::uint64_t at) const {
    return static_cast<std::uint32_t>(load<T>(bytes_, at * sizeof(T)));
  }
  bool holds_mark() const {
    const std::uint64_t most = std::min<std::uint64_t>(bytes_.size() / sizeof(T), 1U << 20U);
    for (std::uint64_t at = 0; at < most; ++at) {
      if (token(at) == mark_) return true;
    }
    return false;
  }
  std::uint64_t document_end(std::uint64_t at, std::uint64_t count) const {
    if (at == 0 && token(0) == mark_) ++at;  // the mark that begins the first one
    const std::uint64_t most = std::min(at + k_longest_document, count);
    while (at < most && token(at) != mark_) ++at;
    return at;
  }
  void drop(std::size_t read) {
    if (read < dropped_ + k_dropped_bytes) return;
    const auto part = bytes_.substr(dropped_, k_dropped_bytes);
    tensors::drop_pages(std::as_bytes(std::span<const char>(part.data(), part.size())));
    dropped_ += k_dropped_bytes;
  }

  std::string_view bytes_;
  std::uint32_t mark_;
  DataLimits limits_;
  const RowSink& sink_;
  std::uint64_t block_ = 0;
  bool documents_ = false;
  std::size_t dropped_ = 0;
  std::vector<T> room_;
};

}  // namespace

bool is_token_file(const std::string& path) {
  if (!path.ends_with(".bin")) return false;
  if (is_megatron(path)) return true;
  const auto file = tensors::MappedFile::open(path);
  return file && (llmc_magic((*file)->text()) != 0 || is_plain_stream(path, (*file)->text()));
}

core::Result<void> read_tokens(const std::string& path, const DataLimits& limits,
                               std::uint64_t most, const RowSink& sink) {
  auto file = tensors::MappedFile::open(path);
  if (!file) return tl::unexpected(file.error());
  const std::string_view text = (*file)->text();
  if (is_megatron(path)) return read_megatron(path, text, limits, most, sink);
  switch (llmc_magic(text)) {
    case k_llmc_llama3:
      Stream<std::uint32_t>(text.substr(k_llmc_header_bytes), k_llama3_begin, limits, sink)
          .rows(most);
      break;
    case k_llmc_gpt2:
      Stream<std::uint16_t>(text.substr(k_llmc_header_bytes), k_gpt2_end, limits, sink).rows(most);
      break;
    default:
      Stream<std::uint16_t>(text, k_gpt2_end, limits, sink).rows(most);
  }
  return {};
}

}  // namespace aplomb::preflight
