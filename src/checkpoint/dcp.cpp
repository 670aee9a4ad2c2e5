// Reads torch's distributed checkpoints (torch.distributed.checkpoint; FSDP's sharded state dicts,
// torchtitan, accelerate): `.metadata`, a pickle that says which chunk of which tensor lies where,
// and `*.distcp` files in which every chunk is an archive of torch.save.

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <unordered_map>

#include "checkpoint/checkpoint_format.h"
#include "checkpoint/named_optimizer.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/tensor_pieces.h"
#include "checkpoint/torch_file.h"
#include "core/text.h"
#include "pickle/loop_state.h"
#include "tensors/mapped_file.h"

namespace aplomb::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr const char* k_index = ".metadata";
constexpr std::size_t k_most_axes = 64;

std::vector<std::int64_t> numbers_of(const pickle::PickleDocument& document,
                                     const pickle::PickleNode* node) {
  std::vector<std::int64_t> numbers;
  if (node == nullptr || node->items.size() > k_most_axes) return numbers;
  for (const pickle::NodeId id : node->items) numbers.push_back(document.at(id).number);
  return numbers;
}

/// A place in a file, as the index states it.
struct Place {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  bool transformed = false;
};

/// A chunk of a tensor, or a value that was pickled whole.
struct Item {
  std::vector<std::int64_t> offset;
  Place place;
};

/// `optimizer.state.layers.0.weight.exp_avg`: whose, and what of it.
struct OptimizerKey {
  std::string parameter;
  std::string key;
  bool is_group = false;
};

std::optional<OptimizerKey> optimizer_key(std::string_view name) {
  const auto skip = [&](std::string_view head) {
    if (!name.starts_with(head)) return false;
    name.remove_prefix(head.size());
    return true;
  };
  const bool named = skip("optimizer.") || skip("optim.");
  OptimizerKey made;
  made.is_group = skip("param_groups.");
  if (!made.is_group && !skip("state.")) return std::nullopt;
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  made.parameter = name.substr(0, dot);
  made.key = name.substr(dot + 1);
  // A model may have a module `state` of its own.
  if (!named && !made.is_group && made.key != "step" && made.key.find("exp_") != 0 &&
      made.key != "momentum_buffer" && made.key != "max_exp_avg_sq") {
    return std::nullopt;
  }
  return made;
}

class DcpReader {
 public:
  DcpReader(Opening& opening, std::string folder)
      : opening_(opening), folder_(std::move(folder)), path_((fs::path(folder_) / k_index)) {}

  void read() {
    CheckpointFile entry{path_, FileRole::weights, "dcp", 0, false};
    auto mapped = tensors::MappedFile::open(path_);
    if (!mapped) {
      opening_.unreadable(path_, mapped.error());
      return opening_.out.files.push_back(std::move(entry));
    }
    entry.bytes = (*mapped)->size();
    document_ = pickle::read_pickle((*mapped)->text(), path_);
    opening_.join(document_.findings);
    const pickle::PickleNode* tensors = part("state_dict_metadata");
    const pickle::PickleNode* places = part("storage_data");
    entry.readable = tensors != nullptr && places != nullptr;
    opening_.out.files.push_back(entry);
    if (document_.fault || !entry.readable) {
      opening_.note("checkpoint.unreadable", core::Severity::failed, path_,
                    document_.fault ? document_.fault->text
                                    : fmt::format("[dcp] {} is no index of torch's distributed "
                                                  "checkpoints",
                                                  path_));
      if (!entry.readable) return;
    }
    take_places(*places);
    for (std::size_t i = 0; i + 1 < tensors->items.size(); i += 2) {
      take(std::string(document_.at(tensors->items[i]).text), document_.at(tensors->items[i + 1]));
    }
    if (missing_ > 1) {
      opening_.note("checkpoint.incomplete", core::Severity::failed, path_,
                    fmt::format("[dcp] {} tensors could not be put together", missing_));
    }
    if (!named_.empty() && !opening_.out.optimizer) {
      opening_.out.optimizer = named_.finish(folder_);
    }
    opening_.out.in_model_order = true;
  }

 private:
  const pickle::PickleNode* part(const char* key) const {
    const pickle::PickleNode* found = document_.find(document_.at(document_.root), key);
    return found != nullptr && found->kind == pickle::PickleKind::dict ? found : nullptr;
  }

  void take_places(const pickle::PickleNode& places) {
    for (std::size_t i = 0; i + 1 < places.items.size(); i += 2) {
      const pickle::PickleNode& key = document_.at(places.items[i]);
      const pickle::PickleNode& value = document_.at(places.items[i + 1]);
      const pickle::PickleNode* name = document_.find(key, "fqn");
      const pickle::PickleNode* file = document_.find(value, "relative_path");
      const auto offset = document_.number(document_.find(value, "offset"));
      const auto length = document_.number(document_.find(value, "length"));
      if (name == nullptr || file == nullptr || !offset || !length || *offset < 0 || *length < 0) {
        continue;
      }
      const pickle::PickleNode* transforms = document_.find(value, "transform_descriptors");
      Item item;
      item.offset = numbers_of(document_, document_.find(key, "offset"));
      item.place = {std::string(file->text), static_cast<std::uint64_t>(*offset),
                    static_cast<std::uint64_t>(*length),
                    transforms != nullptr && !transforms->items.empty()};
      items_[std::string(name->text)].push_back(std::move(item));
    }
  }

  const tensors::MappedFile* file_of(const std::string& name, std::size_t& index) {
    const auto known = files_.find(name);
    if (known != files_.end()) {
      index = known->second.second;
      return known->second.first.get();
    }
    std::shared_ptr<const tensors::MappedFile> mapped;
    index = opening_.out.files.size();
    const std::string path = (fs::path(folder_) / name).string();
    CheckpointFile entry{path, FileRole::weights, "dcp", 0, false};
    if (leaves_folder(name)) {
      opening_.note("checkpoint.bad-header", core::Severity::failed, path_,
                    fmt::format("[dcp] the index names {} outside its folder; not opened",
                                core::shorten(core::sanitize(name), 120)));
    } else if (auto opened = tensors::MappedFile::open(path)) {
      mapped = *opened;
      entry.bytes = mapped->size();
      entry.readable = true;
    } else {
      opening_.note("checkpoint.incomplete", core::Severity::failed, path, opened.error().text);
    }
    opening_.out.files.push_back(std::move(entry));
    files_.emplace(name, std::pair(mapped, index));
    return mapped.get();
  }

  /// The archive at a place; nothing, and why, where it is not to be had.
  std::optional<TorchFile> archive_at(const Place& place, std::size_t& index, std::string& why) {
    const tensors::MappedFile* file = file_of(place.file, index);
    if (file == nullptr) {
      why = "its file is not there";
    } else if (place.transformed) {
      why = "it is compressed by an extension, which is not read";
    } else if (place.offset > file->size() || place.length > file->size() - place.offset) {
      why = fmt::format("bytes [{}, {}) lie beyond the {} of {}", place.offset,
                        place.offset + place.length, file->size(), core::shorten(place.file, 60));
    }
    if (!why.empty()) return std::nullopt;
    const auto bytes = file->bytes().subspan(place.offset, place.length);
    auto read = read_torch(bytes, files_.at(place.file).first, file->path(), opening_.verify);
    if (!read) {
      why = read.error().text;
      return std::nullopt;
    }
    opening_.join(read->findings);
    return std::move(*read);
  }

  std::optional<tensors::Tensor> chunk_at(const Place& place, std::string& why) {
    std::size_t index = 0;
    const auto archive = archive_at(place, index, why);
    if (!archive) return std::nullopt;
    const pickle::PickleNode& root = archive->document.at(archive->document.root);
    if (root.kind != pickle::PickleKind::tensor) {
      why = "a chunk is no tensor";
      return std::nullopt;
    }
    tensors::Tensor tensor = archive->tensors[static_cast<std::size_t>(root.number)];
    tensor.file = index;
    tensor.offset += place.offset;
    return tensor;
  }

  void take(const std::string& name, const pickle::PickleNode& meta) {
    const pickle::PickleNode* chunks = document_.find(meta, "chunks");
    if (chunks == nullptr) return take_value(name);
    std::vector<TensorPiece> pieces;
    std::string why;
    std::map<std::vector<std::int64_t>, const Item*> by_offset;
    for (const Item& item : items_[name]) by_offset.emplace(item.offset, &item);
    for (const pickle::NodeId id : chunks->items) {
      const pickle::PickleNode& chunk = document_.at(id);
      TensorPiece piece;
      piece.offset = numbers_of(document_, document_.find(chunk, "offsets"));
      piece.size = numbers_of(document_, document_.find(chunk, "sizes"));
      const auto found = by_offset.find(piece.offset);
      if (found == by_offset.end()) continue;  // told by the count of elements below
      auto data = chunk_at(found->second->place, why);
      if (!data) break;
      piece.data = std::move(*data);
      pieces.push_back(std::move(piece));
    }
    auto shape = numbers_of(document_, document_.find(meta, "size"));
    std::string fault;
    tensors::Tensor tensor =
        join_pieces(core::sanitize(name), std::move(shape), std::move(pieces), false, fault);
    if (why.empty()) why = fault;
    if (!why.empty() && ++missing_ == 1) {
      opening_.note("checkpoint.incomplete", core::Severity::failed, path_,
                    fmt::format("[dcp] {}: {}", core::shorten(tensor.name, 80), why));
    }
    place(name, std::move(tensor));
  }

  void place(const std::string& name, tensors::Tensor tensor) {
    if (const auto key = optimizer_key(name); key && !key->is_group) {
      double step = 0;
      if (key->key != "step") {
        named_.tensor(core::sanitize(key->parameter), core::sanitize(key->key), std::move(tensor));
      } else if (tensor.count == 1 && tensors::read_elements(tensor, 0, std::span(&step, 1))) {
        named_.step(core::sanitize(key->parameter), step);
      }
      return;
    }
    for (const std::string_view head : {"model.", "app.model."}) {
      if (!name.starts_with(head) || !model_is_a_part()) continue;
      tensor.name = tensor.name.substr(head.size());
      break;
    }
    const std::size_t file = tensor.file;
    opening_.add_weight(std::move(tensor), file);
  }

  /// Whether `model.` is the model's place in the index and no module of it: where the index holds
  /// more than the model, and in accelerate's folder, which holds {"model": ...} alone.
  bool model_is_a_part() {
    if (!model_is_a_part_) {
      model_is_a_part_ = fs::path(folder_).filename().string().starts_with("pytorch_model_fsdp");
      for (const auto& [name, items] : items_) {
        if (name.starts_with("optim") || name == "step" || name.starts_with("app.optim")) {
          model_is_a_part_ = true;
        }
      }
    }
    return *model_is_a_part_;
  }

  void take_value(const std::string& name) {
    const auto key = optimizer_key(name);
    if (!key && pickle::names_data_position(name.substr(0, name.find('.'))))
      opening_.out.data_position.push_back(name);
    const bool progress = name == "step" || name == "global_step" || name == "train_state.step";
    if (!progress && (!key || !key->is_group)) return;
    const auto found = items_.find(name);
    if (found == items_.end() || found->second.empty()) return;
    std::size_t index = 0;
    std::string why;
    const auto archive = archive_at(found->second.front().place, index, why);
    if (!archive) return;
    const pickle::PickleDocument& document = archive->document;
    const pickle::PickleNode& root = document.at(document.root);
    if (progress) {
      if (const auto step = document.number(&root)) {
        opening_.out.trainer_state.emplace("global_step", *step);
      }
      return;
    }
    take_group_value(*key, document, root);
  }

  /// `param_groups.0.lr`, or `param_groups.layers.0.weight.lr` of a flattened state dict.
  void take_group_value(const OptimizerKey& key, const pickle::PickleDocument& document,
                        const pickle::PickleNode& value) {
    std::size_t number = 0;
    const char* end = key.parameter.data() + key.parameter.size();
    const bool numbered = std::from_chars(key.parameter.data(), end, number).ptr == end;
    if (!numbered) {
      const auto fresh = static_cast<std::size_t>(own_groups_.size());
      number = own_groups_.emplace(key.parameter, fresh).first->second;
      named_.group_of(core::sanitize(key.parameter), number);
    }
    OptimizerGroup& group = named_.group(number);
    if (key.key == "params") {
      for (const pickle::NodeId id : value.items)
        named_.group_of(core::sanitize(document.at(id).text), number);
    } else if (key.key == "betas" && value.items.size() == 2) {
      group.numbers["beta1"] = document.number(&document.at(value.items[0])).value_or(0.9);
      group.numbers["beta2"] = document.number(&document.at(value.items[1])).value_or(0.999);
    } else if (const auto plain = document.number(&value)) {
      group.numbers[key.key] = *plain;
    }
  }

  Opening& opening_;
  std::string folder_;
  std::string path_;
  pickle::PickleDocument document_;
  std::unordered_map<std::string, std::vector<Item>> items_;
  std::unordered_map<std::string,
                     std::pair<std::shared_ptr<const tensors::MappedFile>, std::size_t>>
      files_;
  std::unordered_map<std::string, std::size_t> own_groups_;
  std::optional<bool> model_is_a_part_;
  NamedOptimizer named_;
  std::size_t missing_ = 0;
};

class Dcp final : public CheckpointFormat {
 public:
  bool is_shard(std::string_view name) const override { return name == k_index; }
  void read_shards(Opening& opening, const std::string& folder,
                   const std::vector<std::string>&) const override {
    DcpReader(opening, folder).read();
  }
};

}  // namespace

std::unique_ptr<CheckpointFormat> make_dcp_format() { return std::make_unique<Dcp>(); }

}  // namespace aplomb::checkpoint
