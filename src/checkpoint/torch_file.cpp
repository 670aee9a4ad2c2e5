#include "checkpoint/torch_file.h"

#include <fmt/format.h>

#include <unordered_map>

#include "checkpoint/checkpoint_format.h"
#include "checkpoint/tensor_shard.h"
#include "checkpoint/torch_state.h"
#include "core/text.h"
#include "pickle/zip_archive.h"

namespace aplomb::checkpoint {
namespace {

constexpr std::uint64_t k_most_pickle_bytes = 256U << 20U;
constexpr std::uint64_t k_most_inflated = 1U << 30U;  // of one file, all entries together
/// torch/serialization.py: MAGIC_NUMBER 0x1950a86a20f9469cfc6c, as pickle's LONG1 holds it.
constexpr std::string_view k_legacy_magic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};  // NOLINT: as text
}
std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};  // NOLINT: as bytes
}

/// The bytes of each storage, found by whoever knows the container.
struct StorageBytes {
  std::span<const std::byte> bytes;
  std::uint64_t offset = 0;  ///< in the file
  bool mapped = true;
};
using StorageMap = std::unordered_map<std::string, StorageBytes>;

/// Keeps bytes that were made (inflated entries, decoded text) alive beside the mapping.
struct Kept {
  std::shared_ptr<const void> file;
  std::deque<std::string> made;
};

void complain(TorchFile& file, const char* kind, std::uint64_t offset, const std::string& text) {
  file.findings.add(kind, core::Severity::failed, offset, text);
}

/// Views may name the same elements again and again (tied weights, expanded masks, all of [2^40] of
/// one element). `left`: how many more are read of this file. Beyond its bytes, each of which could
/// be an element, as many as 32 bits count.
constexpr std::uint64_t k_most_repeated = std::uint64_t{1} << 31;

tensors::Tensor make_tensor(const pickle::PickleTensor& from,
                            const pickle::PickleDocument& document, const StorageMap& storages,
                            TorchFile& file, std::uint64_t& left) {
  tensors::Tensor tensor;
  tensor.type = from.type;
  tensor.shape = from.shape;
  tensor.owner = file.owner;
  const auto count = tensors::count_of(from.shape);
  const auto extent = tensors::extent_of(from.shape, from.stride);
  if (!count || !extent) {
    complain(file, "checkpoint.bad-offsets", 0,
             fmt::format("[torch] shape {} with stride {} is impossible",
                         tensors::show_shape(from.shape), tensors::show_shape(from.stride)));
    return tensor;
  }
  tensor.count = *count;
  if (!tensors::is_contiguous(from.shape, from.stride)) tensor.stride = from.stride;
  if (*count == 0 || from.type == nullptr) return tensor;
  const pickle::PickleStorage& storage = document.storages[from.storage];
  StorageBytes place;
  if (storage.inside) {
    place = {as_bytes(storage.bytes), 0, false};
  } else {
    const auto found = storages.find(storage.view_of.empty() ? storage.key : storage.view_of);
    if (found == storages.end()) {
      complain(file, "checkpoint.missing-data", 0,
               fmt::format("[torch] the data of storage {} is not in the file",
                           core::shorten(core::sanitize(storage.key), 40)));
      return tensor;
    }
    place = found->second;
  }
  const std::uint64_t width = from.type->bits / 8;
  std::uint64_t first = from.offset;
  std::uint64_t last = 0;
  const bool sane = !__builtin_add_overflow(first, storage.view_offset, &first) &&
                    !__builtin_add_overflow(first, *extent, &last) &&
                    last <= place.bytes.size() / width;
  if (!sane) {
    complain(file, "checkpoint.bad-offsets", place.offset,
             fmt::format("[torch] a tensor {} at element {} of storage {} needs {} elements, the "
                         "file holds {} bytes of it",
                         tensors::show_shape(from.shape), from.offset,
                         core::shorten(core::sanitize(storage.key), 40), last, place.bytes.size()));
    return tensor;
  }
  if (*count > left) {
    complain(file, "checkpoint.bad-offsets", place.offset,
             fmt::format("[torch] a tensor {} has {} elements, made of {} that the file holds by "
                         "repeating them: whoever copies it asks for that much memory. It is not "
                         "read",
                         tensors::show_shape(from.shape), *count, *extent));
    return tensor;
  }
  left -= *count;
  tensor.bytes = place.bytes.subspan(first * width, *extent * width);
  tensor.offset = place.offset + first * width;
  tensor.mapped = place.mapped;
  return tensor;
}

void make_tensors(TorchFile& file, const StorageMap& storages) {
  // Arrays inside the pickle may lie in text that was decoded: it lives as long as its tensors.
  auto kept = std::make_shared<Kept>();
  kept->file = file.owner;
  kept->made = std::move(file.document.owned);
  file.owner = std::move(kept);
  file.tensors.reserve(file.document.tensors.size());
  std::uint64_t left = k_most_repeated;
  for (const auto& [key, storage] : storages) left += storage.bytes.size();
  for (const pickle::PickleStorage& each : file.document.storages)
    left += each.inside ? each.bytes.size() : 0;
  for (const pickle::PickleTensor& each : file.document.tensors) {
    file.tensors.push_back(make_tensor(each, file.document, storages, file, left));
  }
  for (auto& [index, shard] : find_shards(file.document)) {
    file.tensors[index].shard = std::make_shared<const TensorShard>(std::move(shard));
  }
}

/// A broken pickle is kept where it gave anything: Python, too, runs what stands before a fault.
core::Result<void> take_document(pickle::PickleDocument document, TorchFile& file) {
  const bool of_use = !document.tensors.empty() || !document.findings.list().empty();
  if (document.fault && !of_use) return tl::unexpected(*document.fault);
  file.document = std::move(document);
  file.findings.join(file.document.findings);
  if (file.document.fault) complain(file, "pickle.damaged", 0, file.document.fault->text);
  return {};
}

const pickle::ZipEntry* find_entry(const pickle::ZipDirectory& zip, std::string_view name) {
  for (const pickle::ZipEntry& entry : zip.entries) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

/// The folder inside the archive: `archive/` of `archive/data.pkl`.
std::optional<std::string> root_of(const pickle::ZipDirectory& zip) {
  for (const pickle::ZipEntry& entry : zip.entries) {
    const std::size_t slash = entry.name.rfind('/');
    const std::string_view last =
        std::string_view(entry.name).substr(slash == std::string::npos ? 0 : slash + 1);
    if (last == "data.pkl") return entry.name.substr(0, entry.name.size() - last.size());
  }
  return std::nullopt;
}

class ZipReader {
 public:
  ZipReader(std::span<const std::byte> bytes, const pickle::ZipDirectory& zip, TorchFile& file,
            Kept& kept)
      : bytes_(bytes), zip_(zip), file_(file), kept_(kept) {}

  core::Result<StorageBytes> content(const pickle::ZipEntry& entry) {
    if (entry.stored) return StorageBytes{bytes_.subspan(entry.offset, entry.size), entry.offset};
    auto text = pickle::inflate_entry(bytes_, entry, k_most_inflated - inflated_);
    if (!text) return tl::unexpected(text.error());
    inflated_ += text->size();
    const std::string& held = kept_.made.emplace_back(std::move(*text));
    return StorageBytes{as_bytes(held), entry.offset, false};
  }

  /// torch.save can leave the checksums out (set_crc32_options): then none of them fits, which is
  /// no damage.
  void check_members(bool all) {
    constexpr std::uint64_t k_small = 64U << 10U;
    std::vector<const pickle::ZipEntry*> bad;
    std::size_t checked = 0;
    for (const pickle::ZipEntry& entry : zip_.entries) {
      const bool pickle = entry.name.ends_with(".pkl") && entry.size <= k_most_pickle_bytes;
      if (!entry.stored || (!all && !pickle && entry.size > k_small)) continue;
      const auto content = bytes_.subspan(entry.offset, entry.size);
      ++checked;
      if (!pickle::crc_fits(entry, content)) bad.push_back(&entry);
      if (all) tensors::drop_pages(content);
    }
    if (bad.empty() || bad.size() == checked) return;
    for (const pickle::ZipEntry* entry : bad) {
      complain(
          file_, "checkpoint.bad-crc", entry->offset,
          fmt::format("[zip] the {} bytes of {} do not fit their checksum: damaged on the disk "
                      "or on the way",
                      entry->size, core::shorten(core::sanitize(entry->name), 80)));
    }
  }

  StorageMap storages(const std::string& root) {
    StorageMap found;
    for (const std::string& folder : {root + "data/", root + "tensors/"}) {
      for (const pickle::ZipEntry& entry : zip_.entries) {
        if (!entry.name.starts_with(folder)) continue;
        auto place = content(entry);
        if (place) {
          found.emplace(entry.name.substr(folder.size()), *place);
        } else {
          complain(file_, "checkpoint.missing-data", entry.offset, place.error().text);
        }
      }
    }
    return found;
  }

 private:
  std::span<const std::byte> bytes_;
  const pickle::ZipDirectory& zip_;
  TorchFile& file_;
  Kept& kept_;
  std::uint64_t inflated_ = 0;
};

core::Result<TorchFile> read_zip(std::span<const std::byte> bytes,
                                 std::shared_ptr<const void> owner, const std::string& path,
                                 bool verify) {
  auto zip = pickle::read_zip_directory(bytes, path);
  if (!zip) return tl::unexpected(zip.error());
  const auto root = root_of(*zip);
  if (!root) {
    return core::fail(
        core::ErrorCode::bad_format,
        fmt::format("[torch] {} is a zip archive of {} entries without a data.pkl: not of "
                    "torch.save",
                    path, zip->entries.size()));
  }
  TorchFile file;
  file.format = "torch-zip";
  file.findings.of(path);
  file.findings.join(zip->findings);
  const auto kept = std::make_shared<Kept>();
  kept->file = std::move(owner);
  file.owner = kept;
  ZipReader reader(bytes, *zip, file, *kept);
  reader.check_members(verify);
  if (const pickle::ZipEntry* order = find_entry(*zip, *root + "byteorder")) {
    const auto text = reader.content(*order);
    if (text && as_text(text->bytes) == "big") {
      return core::fail(core::ErrorCode::unsupported,
                        fmt::format("[torch] {} was written on a big-endian machine", path));
    }
  }
  const pickle::ZipEntry* entry = find_entry(*zip, *root + "data.pkl");
  auto pickle = reader.content(*entry);
  if (!pickle) return tl::unexpected(pickle.error());
  if (pickle->bytes.size() > k_most_pickle_bytes) {
    return core::fail(
        core::ErrorCode::too_large,
        fmt::format("[torch] the data.pkl of {} has {} bytes", path, pickle->bytes.size()));
  }
  if (auto taken = take_document(pickle::read_pickle(as_text(pickle->bytes), path), file); !taken) {
    return tl::unexpected(taken.error());
  }
  make_tensors(file, reader.storages(*root));
  return file;
}

/// One pickle after the other: magic, protocol, system, object, list of storage keys, then each
/// storage as a 64-bit element count and its bytes.
class LegacyReader {
 public:
  LegacyReader(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  core::Result<TorchFile> read(std::shared_ptr<const void> owner) {
    TorchFile file;
    file.format = "torch-legacy";
    file.findings.of(path_);
    file.owner = std::move(owner);
    for (int skipped = 0; skipped < 2; ++skipped) {
      if (auto head = next(); head.fault) return tl::unexpected(*head.fault);
    }
    const pickle::PickleDocument system = next();
    if (system.fault) return tl::unexpected(*system.fault);
    const pickle::PickleNode* little = system.find(system.at(system.root), "little_endian");
    if (little != nullptr && little->number == 0) {
      return core::fail(core::ErrorCode::unsupported,
                        fmt::format("[torch] {} was written on a big-endian machine", path_));
    }
    if (auto taken = take_document(next(), file); !taken) return tl::unexpected(taken.error());
    StorageMap storages;
    if (!file.document.fault) {
      const pickle::PickleDocument keys = next();
      take_storages(keys, file, storages);
      if (keys.fault) complain(file, "checkpoint.truncated", at_, keys.fault->text);
    }
    make_tensors(file, storages);
    return file;
  }

 private:
  pickle::PickleDocument next() {
    pickle::PickleDocument document = pickle::read_pickle(text_.substr(at_), path_, at_);
    at_ += document.end;
    return document;
  }

  void take_storages(const pickle::PickleDocument& keys, TorchFile& file, StorageMap& out) {
    std::unordered_map<std::string_view, std::uint64_t> widths;
    for (const pickle::PickleStorage& each : file.document.storages) {
      if (each.type != nullptr) {
        widths.emplace(each.view_of.empty() ? each.key : each.view_of, each.type->bits / 8);
      }
    }
    for (const pickle::NodeId id : keys.at(keys.root).items) {
      const std::string key(keys.at(id).text);
      const auto width = widths.find(key);
      std::uint64_t bytes = 0;
      const bool fits = width != widths.end() && text_.size() - at_ >= 8 &&
                        !__builtin_mul_overflow(count_at(at_), width->second, &bytes) &&
                        bytes <= text_.size() - at_ - 8;
      if (!fits) {
        return complain(file, "checkpoint.truncated", at_,
                        fmt::format("[torch] the data of storage {} does not fit the file's {} "
                                    "bytes; it and those behind it are not read",
                                    core::shorten(core::sanitize(key), 40), text_.size()));
      }
      out.emplace(key, StorageBytes{as_bytes(text_.substr(at_ + 8, bytes)), at_ + 8});
      at_ += 8 + bytes;
    }
  }

  std::uint64_t count_at(std::uint64_t at) const {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(text_[at + i])) << (8U * i);
    }
    return value;
  }

  std::string_view text_;
  std::string path_;
  std::uint64_t at_ = 0;
};

bool is_tar(std::string_view text) { return text.size() > 262 && text.substr(257, 5) == "ustar"; }

}  // namespace

bool looks_like_torch(std::span<const std::byte> bytes) {
  if (pickle::looks_like_zip(bytes)) return true;
  const std::string_view text = as_text(bytes);
  return text.size() > 2 && text[0] == '\x80' && text[1] >= 1 && text[1] <= 5;
}

core::Result<TorchFile> read_torch(std::span<const std::byte> bytes,
                                   std::shared_ptr<const void> owner, const std::string& path,
                                   bool verify) {
  if (pickle::looks_like_zip(bytes)) return read_zip(bytes, std::move(owner), path, verify);
  const std::string_view text = as_text(bytes);
  if (is_tar(text)) {
    return core::fail(
        core::ErrorCode::unsupported,
        fmt::format("[torch] {} is a tar archive of torch 0.1; load and save it again", path));
  }
  // 0x80 protocol, LONG1 with 10 bytes: the magic number comes first in every legacy file.
  if (text.substr(0, 16).find(k_legacy_magic) != std::string_view::npos) {
    return LegacyReader(text, path).read(std::move(owner));
  }
  TorchFile file;
  file.format = "pickle";
  file.findings.of(path);
  if (auto taken = take_document(pickle::read_pickle(text, path), file); !taken) {
    return tl::unexpected(taken.error());
  }
  file.owner = std::move(owner);
  make_tensors(file, {});
  return file;
}

namespace {

class TorchFormat final : public CheckpointFormat {
 public:
  bool takes(const StoredFile& file) const override {
    return looks_like_torch(file.bytes()) && !file.path.ends_with(".safetensors");
  }
  std::string read(const StoredFile& file, Opening& opening) const override {
    return read_torch_state(file, opening);
  }
};

}  // namespace

std::unique_ptr<CheckpointFormat> make_torch_file_format() {
  return std::make_unique<TorchFormat>();
}

}  // namespace aplomb::checkpoint
