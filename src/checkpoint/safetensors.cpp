#include "checkpoint/safetensors.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <unordered_set>

#include "checkpoint/checkpoint_format.h"
#include "checkpoint/own_files.h"
#include "checkpoint/tensor_shard.h"
#include "core/text.h"

namespace aplomb::checkpoint {
namespace {

constexpr std::uint64_t k_prefix = 8;
constexpr std::uint64_t k_most_header = 100'000'000;  // the format's own limit
constexpr std::size_t k_most_tensors = 4'000'000;
constexpr std::size_t k_most_axes = 64;
constexpr std::size_t k_most_index_bytes = 256U << 20U;

using simdjson::ondemand::json_type;

struct Entry {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool has_dtype = false;
  bool has_shape = false;
  bool has_offsets = false;
};

bool read_numbers(simdjson::ondemand::value value, std::size_t most,
                  std::vector<std::int64_t>& out) {
  simdjson::ondemand::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) return false;
  for (auto item : array) {
    std::int64_t number = 0;
    if (item.get_int64().get(number) != simdjson::SUCCESS || number < 0 || out.size() >= most) {
      return false;
    }
    out.push_back(number);
  }
  return true;
}

/// One member of a tensor's description. False: not of the form that the format demands.
bool read_member(std::string_view key, simdjson::ondemand::value value, Entry& entry) {
  if (key == "dtype") {
    std::string_view text;
    if (value.get_string().get(text) != simdjson::SUCCESS) return false;
    entry.dtype = text;
    return entry.has_dtype = true;
  }
  if (key == "shape") {
    return entry.has_shape = read_numbers(value, k_most_axes, entry.shape);
  }
  if (key == "data_offsets") {
    std::vector<std::int64_t> both;
    if (!read_numbers(value, 2, both) || both.size() != 2) return false;
    entry.begin = static_cast<std::uint64_t>(both[0]);
    entry.end = static_cast<std::uint64_t>(both[1]);
    return entry.has_offsets = true;
  }
  return true;  // members that later versions may add
}

bool read_entry(simdjson::ondemand::value value, Entry& entry) {
  simdjson::ondemand::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return false;
  for (auto field : object) {
    std::string_view key;
    simdjson::ondemand::value inner;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) return false;
    const std::string name(key);  // the value may reuse the key's buffer
    if (field.value().get(inner) != simdjson::SUCCESS || !read_member(name, inner, entry)) {
      return false;
    }
  }
  return entry.has_dtype && entry.has_shape && entry.has_offsets;
}

/// False where it is no object of texts, as the format has it and its own reader demands.
bool read_metadata(simdjson::ondemand::value value, std::map<std::string, std::string>& out) {
  simdjson::ondemand::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return false;
  bool of_texts = true;
  for (auto field : object) {
    std::string_view key;
    std::string_view text;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) return false;
    const std::string name(key);
    const bool is_text = field.value().get_string().get(text) == simdjson::SUCCESS;
    of_texts = of_texts && is_text;
    if (is_text && out.size() < 1000) out.emplace(name, text);
  }
  return of_texts;
}

class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> data, SafetensorsFile& out) : data_(data), out_(out) {}

  /// False: the JSON broke off; what stood before it has been taken.
  bool read(std::string_view header) {
    simdjson::ondemand::parser parser;
    const simdjson::padded_string padded(header);
    if (padded.size() != header.size()) throw std::bad_alloc();
    simdjson::ondemand::document document;
    simdjson::ondemand::object object;
    const simdjson::error_code begun = parser.iterate(padded).get(document);
    if (begun == simdjson::MEMALLOC) throw std::bad_alloc();
    if (begun != simdjson::SUCCESS || document.get_object().get(object) != simdjson::SUCCESS) {
      return false;
    }
    for (auto field : object) {
      std::string_view key;
      simdjson::ondemand::value value;
      if (field.unescaped_key().get(key) != simdjson::SUCCESS) return false;
      const std::string name(key);
      if (field.value().get(value) != simdjson::SUCCESS) return false;
      if (name == "__metadata__") {
        if (!read_metadata(value, out_.metadata)) {
          out_.findings.add("checkpoint.bad-header", core::Severity::failed, 0,
                            "[safetensors] its __metadata__ holds something else than texts: no "
                            "writer makes that, and readers refuse it or run out of stack");
        }
      } else if (!take(name, value)) {
        return false;
      }
    }
    // Nothing but blanks may follow the object.
    return document.current_location().error() == simdjson::OUT_OF_BOUNDS;
  }

  void finish(const std::shared_ptr<const void>& owner, std::uint64_t data_at) {
    std::sort(entries_.begin(), entries_.end(),
              [](const Entry& a, const Entry& b) { return a.begin < b.begin; });
    std::uint64_t reached = 0;
    for (Entry& entry : entries_) {
      check_place(entry, data_at, reached);
      reached = std::max(reached, entry.end);
      tensors::Tensor tensor;
      if (make(entry, data_at, tensor)) {
        tensor.owner = owner;
        out_.tensors.push_back(std::move(tensor));
      }
    }
    if (reached < data_.size()) {
      out_.findings.add("checkpoint.gap", core::Severity::warning, data_at + reached,
                        fmt::format("[safetensors] {} bytes behind the last tensor belong to none",
                                    data_.size() - reached));
    }
  }

 private:
  bool take(const std::string& name, simdjson::ondemand::value value) {
    Entry entry;
    entry.name = name;
    if (entries_.size() >= k_most_tensors) return false;
    if (!read_entry(value, entry)) {
      out_.findings.add("checkpoint.bad-header", core::Severity::failed, 0,
                        fmt::format("[safetensors] the description of {} lacks dtype, shape or "
                                    "data_offsets in the form of the format",
                                    core::shorten(core::sanitize(name), 80)));
      return false;
    }
    if (!names_.insert(name).second) {
      out_.findings.add("checkpoint.duplicate-name", core::Severity::failed, 0,
                        fmt::format("[safetensors] {} stands twice; the first is read",
                                    core::shorten(core::sanitize(name), 80)));
      return true;
    }
    entries_.push_back(std::move(entry));
    return true;
  }

  void check_place(const Entry& entry, std::uint64_t data_at, std::uint64_t reached) {
    if (entry.begin == entry.end) return;
    const std::string name = core::shorten(core::sanitize(entry.name), 80);
    if (entry.begin < reached) {
      out_.findings.add("checkpoint.overlap", core::Severity::failed, data_at + entry.begin,
                        fmt::format("[safetensors] {} starts at {} inside the tensor before it, "
                                    "which ends at {}",
                                    name, entry.begin, reached));
    } else if (entry.begin > reached && reached <= data_.size()) {
      out_.findings.add(
          "checkpoint.gap", core::Severity::warning, data_at + reached,
          fmt::format("[safetensors] a hole of {} bytes before {}", entry.begin - reached, name));
    }
  }

  bool make(const Entry& entry, std::uint64_t data_at, tensors::Tensor& tensor) {
    const auto bad = [&](const char* kind, const std::string& what) {
      out_.findings.add(
          kind, core::Severity::failed, data_at + entry.begin,
          fmt::format("[safetensors] {}: {}", core::shorten(core::sanitize(entry.name), 80), what));
      return false;
    };
    tensor.type = tensors::element_type(entry.dtype);
    if (tensor.type == nullptr) {
      return bad(
          "checkpoint.unsupported",
          fmt::format("dtype {} is not known", core::shorten(core::sanitize(entry.dtype), 20)));
    }
    const auto count = tensors::count_of(entry.shape);
    std::uint64_t bits = 0;
    if (!count || __builtin_mul_overflow(*count, tensor.type->bits, &bits) || bits % 8 != 0) {
      return bad("checkpoint.bad-offsets",
                 fmt::format("shape {} is impossible", tensors::show_shape(entry.shape)));
    }
    if (entry.end < entry.begin || entry.end - entry.begin != bits / 8) {
      return bad(
          "checkpoint.bad-offsets",
          fmt::format("bytes [{}, {}) do not fit {} {}, which take {} bytes", entry.begin,
                      entry.end, tensor.type->name, tensors::show_shape(entry.shape), bits / 8));
    }
    tensor.name = entry.name;
    tensor.shape = entry.shape;
    tensor.count = *count;
    if (entry.end > data_.size()) {
      return bad("checkpoint.truncated",
                 fmt::format("bytes [{}, {}) lie beyond the file's {} bytes of data; the file was "
                             "cut or is still being written",
                             entry.begin, entry.end, data_.size()));
    }
    tensor.bytes = data_.subspan(entry.begin, bits / 8);
    tensor.offset = data_at + entry.begin;
    return true;
  }

  std::span<const std::byte> data_;
  SafetensorsFile& out_;
  std::vector<Entry> entries_;
  std::unordered_set<std::string> names_;
};

std::uint64_t header_length(std::span<const std::byte> bytes) {
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < k_prefix; ++i) {
    length |= std::to_integer<std::uint64_t>(bytes[i]) << (8U * i);
  }
  return length;
}

}  // namespace

namespace {

/// Of torch's distributed checkpoints in this format each file holds a rank's parts.
void take_shards(const std::string& json, std::vector<tensors::Tensor>& tensors) {
  const auto shards = read_sharding_info(json);
  for (tensors::Tensor& each : tensors) {
    const auto found = shards.find(each.name);
    if (found == shards.end() || found->second.offset->size() != each.shape.size()) continue;
    each.shard = std::make_shared<const TensorShard>(found->second);
  }
}

}  // namespace

bool leaves_folder(std::string_view name) {
  return name.empty() || name.find('/') != std::string_view::npos ||
         name.find('\\') != std::string_view::npos || name.find('\0') != std::string_view::npos ||
         name == "." || name == "..";
}

bool looks_like_safetensors(std::span<const std::byte> bytes) {
  return bytes.size() > k_prefix && bytes[k_prefix] == std::byte{'{'} &&
         header_length(bytes) <= k_most_header;
}

core::Result<SafetensorsFile> read_safetensors(std::span<const std::byte> bytes,
                                               const std::shared_ptr<const void>& owner,
                                               const std::string& path) {
  if (bytes.size() < k_prefix) {
    return core::fail(
        core::ErrorCode::bad_format,
        fmt::format("[safetensors] {} has {} bytes, fewer than the 8 of a header length", path,
                    bytes.size()));
  }
  const std::uint64_t length = header_length(bytes);
  if (length > k_most_header) {
    return core::fail(core::ErrorCode::too_large,
                      fmt::format("[safetensors] {} states a header of {} bytes; the format allows "
                                  "{}: not safetensors, or damaged",
                                  path, length, k_most_header));
  }
  if (length > bytes.size() - k_prefix) {
    return core::fail(
        core::ErrorCode::bad_format,
        fmt::format("[safetensors] {} states a header of {} bytes but has {}; the file was "
                    "cut or is still being written",
                    path, length, bytes.size() - k_prefix));
  }
  SafetensorsFile file;
  file.findings.of(path);
  const auto head = bytes.subspan(k_prefix, length);
  HeaderReader reader(bytes.subspan(k_prefix + length), file);
  const bool whole =
      reader.read({reinterpret_cast<const char*>(head.data()), head.size()});  // NOLINT: as text
  reader.finish(owner, k_prefix + length);
  const auto sharding = file.metadata.find("DCP_SHARDING_INFO");
  if (sharding != file.metadata.end()) take_shards(sharding->second, file.tensors);
  if (!whole && file.tensors.empty()) {
    return core::fail(core::ErrorCode::bad_format,
                      fmt::format("[safetensors] the header of {} is not JSON of tensors", path));
  }
  if (!whole) {
    file.findings.add("checkpoint.bad-header", core::Severity::failed, k_prefix,
                      "[safetensors] the header is broken; the tensors before the fault were read");
  }
  return file;
}

core::Result<ShardIndex> read_shard_index(std::string_view json, const std::string& path) {
  const auto bad = [&](const char* what) {
    return core::fail(core::ErrorCode::bad_format, fmt::format("[checkpoint] {} {}", path, what));
  };
  if (json.size() > k_most_index_bytes) return bad("is too large for an index of shards");
  ShardIndex index;
  index.findings.of(path);
  simdjson::ondemand::parser parser;
  const simdjson::padded_string padded(json);
  simdjson::ondemand::document document;
  simdjson::ondemand::object map;
  if (parser.iterate(padded).get(document) != simdjson::SUCCESS ||
      document["weight_map"].get_object().get(map) != simdjson::SUCCESS) {
    return bad("holds no weight_map");
  }
  std::unordered_set<std::string> files;
  for (auto field : map) {
    std::string_view key;
    std::string_view value;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) return bad("is broken JSON");
    std::string name(key);
    if (field.value().get_string().get(value) != simdjson::SUCCESS) return bad("is broken JSON");
    const std::string file(value);
    if (files.insert(file).second) {
      if (leaves_folder(file)) {
        index.findings.add("checkpoint.bad-header", core::Severity::failed, 0,
                           fmt::format("[checkpoint] the index names {} outside its folder; not "
                                       "opened",
                                       core::shorten(core::sanitize(file), 120)));
      } else {
        index.files.push_back(file);
      }
    }
    if (!leaves_folder(file)) index.places.emplace(std::move(name), file);
  }
  std::sort(index.files.begin(), index.files.end());
  return index;
}

namespace {

class SafetensorsFormat final : public CheckpointFormat {
 public:
  bool takes(const StoredFile& file) const override {
    return looks_like_safetensors(file.bytes()) || file.path.ends_with(".safetensors");
  }
  std::string read(const StoredFile& file, Opening& opening) const override {
    auto read = read_safetensors(file.bytes(), file.mapped, file.path);
    if (!read) {
      opening.unreadable(file.path, read.error());
      return {};
    }
    opening.join(read->findings);
    if (file.role == FileRole::optimizer || is_optimizer_file(*read)) {
      if (auto state = optimizer_of(std::move(*read), file.path))
        opening.add_optimizer(std::move(*state), false);
      return "safetensors";
    }
    for (tensors::Tensor& tensor : read->tensors) opening.add_weight(std::move(tensor), file.index);
    return "safetensors";
  }
};

}  // namespace

std::unique_ptr<CheckpointFormat> make_safetensors_format() {
  return std::make_unique<SafetensorsFormat>();
}

}  // namespace aplomb::checkpoint
