// Reads the shards that DeepSpeed's ZeRO leaves, stages 1 to 3, and puts each parameter together
// again: the fp32 weights that training goes on from, and what the optimizer keeps for them.
//
//     global_step500/mp_rank_00_model_states.pt                        stages 1, 2
//     global_step500/zero_pp_rank_R_mp_rank_00_model_states.pt         stage 3
//     global_step500/[bf16_|fp16_]zero_pp_rank_R_mp_rank_00_optim_states.pt
//
// Layout, as in deepspeed/utils/zero_to_fp32.py. Stages 1 and 2: the parameters of a group lie
// end to end in one flat tensor, in the order of `param_shapes`; rank R holds the R-th of equal
// parts. Stage 3: each parameter is cut into as many equal parts as there are ranks (the last
// one padded); rank R's flat tensors hold its parts end to end.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>

#include "checkpoint/checkpoint_format.h"
#include "checkpoint/named_optimizer.h"
#include "checkpoint/optimizer_state.h"
#include "checkpoint/pickle_walk.h"
#include "checkpoint/tensor_pieces.h"
#include "checkpoint/zero_layout.h"
#include "core/text.h"

namespace aplomb::checkpoint {
namespace {

/// The number behind a word of a file's name: `zero_pp_rank_3_mp_rank_00` -> 3.
std::optional<std::size_t> number_behind(std::string_view name, std::string_view word) {
  const std::size_t at = name.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t number = 0;
  const char* begin = name.data() + at + word.size();
  const auto parsed = std::from_chars(begin, name.data() + name.size(), number);
  return parsed.ec == std::errc() ? std::optional(number) : std::nullopt;
}

bool is_optimizer_shard(std::string_view name) { return name.ends_with("_optim_states.pt"); }

/// The shards of one model-parallel rank.
class ZeroReader {
 public:
  ZeroReader(Opening& opening, std::string suffix, std::vector<Shard>& models,
             std::vector<Shard>& optimizers, NamedOptimizer& named)
      : opening_(opening),
        suffix_(std::move(suffix)),
        models_(models),
        shards_(optimizers),
        named_(named) {}

  void read() {
    if (!models_.empty()) take_progress(models_.front().torch.document);
    if (shards_.empty()) return take_module();
    const pickle::PickleDocument& document = shards_.front().torch.document;
    const pickle::PickleNode& state = optimizer_of(shards_.front());
    by_parameter_ = document.find(state, "fp32_flat_groups") != nullptr;
    take_parameters();
    check_ranks(document, state);
    if (parameters_.empty()) return take_module();
    place_parameters();
    take_weights();
    take_states();
    take_module();
  }

 private:
  void check_ranks(const pickle::PickleDocument& document, const pickle::PickleNode& state) {
    const pickle::PickleNode* stated = document.find(state, "partition_count");
    double ranks = document.number(stated).value_or(0);
    if (stated != nullptr) {
      for (const pickle::NodeId id : stated->items) {
        ranks = std::max(ranks, document.number(&document.at(id)).value_or(0));
      }
    }
    std::size_t expected =
        std::max(static_cast<std::size_t>(std::clamp(ranks, 0.0, 1e6)), shards_.back().rank + 1);
    if (expected == shards_.size()) return;
    opening_.note(
        "checkpoint.incomplete", core::Severity::failed, shards_.front().path,
        fmt::format("[zero] {} ranks wrote this checkpoint, the shards of {} are there: a "
                    "rank died while saving, or files were not copied",
                    expected, shards_.size()));
    parameters_.clear();
  }

  void take_parameters() {
    if (models_.empty()) return;
    const pickle::PickleDocument& document = models_.front().torch.document;
    const pickle::PickleNode* groups = document.find(document.at(document.root), "param_shapes");
    if (groups == nullptr) return;
    for (std::size_t group = 0; group < groups->items.size(); ++group) {
      const pickle::PickleNode& shapes = document.at(groups->items[group]);
      for (std::size_t i = 0; i + 1 < shapes.items.size(); i += 2) {
        Parameter made;
        made.name = core::sanitize(document.at(shapes.items[i]).text) + suffix_;
        for (const pickle::NodeId id : document.at(shapes.items[i + 1]).items) {
          made.shape.push_back(document.at(id).number);
        }
        const auto count = tensors::count_of(made.shape);
        if (!count) return parameters_.clear();
        made.count = *count;
        made.group = group;
        made.padding = padding_of(group, i / 2);
        parameters_.push_back(std::move(made));
      }
    }
  }

  std::uint64_t padding_of(std::size_t group, std::size_t index) const {
    const pickle::PickleDocument& document = shards_.front().torch.document;
    const pickle::PickleNode* all =
        document.find(optimizer_of(shards_.front()), "param_alignment_paddings");
    if (all == nullptr || group >= all->items.size()) return 0;
    const pickle::PickleNode& list = document.at(all->items[group]);
    if (index >= list.items.size()) return 0;
    return static_cast<std::uint64_t>(
        std::max<std::int64_t>(document.at(list.items[index]).number, 0));
  }

  /// Where each parameter begins: in its group's line, or (stage 3) in every rank's line.
  void place_parameters() {
    std::map<std::size_t, std::uint64_t> reached;
    for (const Parameter& each : parameters_) {
      std::uint64_t& at = reached[by_parameter_ ? 0 : each.group];
      begins_.push_back(at);
      at += by_parameter_ ? part_of(each) : each.count + each.padding;
    }
  }

  std::uint64_t part_of(const Parameter& each) const {
    return (each.count + shards_.size() - 1) / shards_.size();
  }

  /// A rank's flat tensor of this group: the weights for an empty key.
  void add_flat(const Shard& shard, std::size_t group, const std::string& key, Line& line) const {
    const pickle::PickleDocument& document = shard.torch.document;
    if (!key.empty()) {
      const pickle::PickleNode* state = state_at(shard, group);
      return add_tensor(shard, state == nullptr ? nullptr : document.find(*state, key), line);
    }
    const pickle::PickleNode* flat =
        document.find(optimizer_of(shard),
                      by_parameter_ ? "fp32_flat_groups" : "single_partition_of_fp32_groups");
    add_tensor(shard, at_key(document, flat, group), line);
  }

  std::size_t flat_groups(const Shard& shard) const {
    const pickle::PickleNode* flat = shard.torch.document.find(
        optimizer_of(shard),
        by_parameter_ ? "fp32_flat_groups" : "single_partition_of_fp32_groups");
    return flat == nullptr ? 0 : flat->items.size();
  }

  /// All lines of one kind: a line a group, or (stage 3) a line a rank.
  std::vector<Line> lines_of(const std::string& key) const {
    std::vector<Line> lines;
    if (by_parameter_) {
      for (const Shard& shard : shards_) {
        Line& line = lines.emplace_back();
        for (std::size_t g = 0; g < flat_groups(shard); ++g) add_flat(shard, g, key, line);
      }
      return lines;
    }
    for (std::size_t g = 0; g < flat_groups(shards_.front()); ++g) {
      Line& line = lines.emplace_back();
      for (const Shard& shard : shards_) add_flat(shard, g, key, line);
    }
    return lines;
  }

  tensors::Tensor put_together(std::size_t index, const std::vector<Line>& lines,
                               std::string& why) const {
    const Parameter& each = parameters_[index];
    std::vector<TensorPiece> pieces;
    if (by_parameter_) {
      const std::uint64_t part = part_of(each);
      for (std::size_t rank = 0; rank < lines.size(); ++rank) {
        const std::uint64_t at = std::min<std::uint64_t>(rank * part, each.count);
        cut(lines[rank], begins_[index], std::min(part, each.count - at), at, pieces);
      }
    } else if (each.group < lines.size()) {
      cut(lines[each.group], begins_[index], each.count, 0, pieces);
    }
    return join_pieces(each.name, each.shape, std::move(pieces), true, why);
  }

  void take_weights() {
    const std::vector<Line> lines = lines_of("");
    std::size_t bad = 0;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      std::string why;
      tensors::Tensor tensor = put_together(i, lines, why);
      if (!why.empty() && ++bad == 1) {
        opening_.note("checkpoint.bad-offsets", core::Severity::failed, shards_.front().path,
                      fmt::format("[zero] {} {}: the flat partitions do not fit param_shapes",
                                  core::shorten(tensor.name, 80), why));
      }
      const std::size_t file = tensor.file;
      opening_.add_weight(std::move(tensor), file);
    }
  }

  void take_states() {
    const pickle::PickleNode* first = state_at(shards_.front(), 0);
    if (first == nullptr || first->kind != pickle::PickleKind::dict) return;
    const pickle::PickleDocument& document = shards_.front().torch.document;
    for (std::size_t k = 0; k + 1 < first->items.size(); k += 2) {
      const std::string key(document.at(first->items[k]).text);
      const pickle::PickleNode& value = document.at(first->items[k + 1]);
      if (key == "step") {
        take_step(value);
      } else if (value.kind == pickle::PickleKind::tensor) {
        take_moments(key, lines_of(key));
      }
    }
    for (const Parameter& each : parameters_) named_.group_of(each.name, each.group);
    take_groups();
  }

  void take_step(const pickle::PickleNode& value) {
    const Shard& shard = shards_.front();
    std::optional<double> step = shard.torch.document.number(&value);
    double stored = 0;
    if (value.kind == pickle::PickleKind::tensor) {
      const tensors::Tensor& tensor = shard.torch.tensors[static_cast<std::size_t>(value.number)];
      if (tensor.count == 1 && tensors::read_elements(tensor, 0, std::span(&stored, 1)))
        step = stored;
    }
    if (!step) return;
    for (const Parameter& each : parameters_) named_.step(each.name, *step);
  }

  void take_moments(const std::string& key, const std::vector<Line>& lines) {
    std::uint64_t held = 0;
    for (const Line& line : lines) held += length(line);
    if (held == 0) return;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      std::string why;
      tensors::Tensor tensor = put_together(i, lines, why);
      if (why.empty()) named_.tensor(parameters_[i].name, core::sanitize(key), std::move(tensor));
    }
  }

  void take_groups() {
    const std::vector<pickle::NodeId> nodes = find_optimizers(shards_.front().torch.document);
    const auto read = read_optimizers(shards_.front().torch, nodes);
    if (!read) return;
    for (std::size_t i = 0; i < read->groups.size(); ++i) {
      named_.group(i).numbers = read->groups[i].numbers;
      named_.group(i).words = read->groups[i].words;
    }
  }

  /// What no partition holds: buffers, frozen parameters; everything where no optimizer is there.
  void take_module() {
    if (models_.empty()) return;
    const Shard& shard = models_.front();
    const pickle::PickleDocument& document = shard.torch.document;
    const pickle::PickleNode* module = document.find(document.at(document.root), "module");
    if (module == nullptr) return;
    visit_tensors(document, static_cast<pickle::NodeId>(module - document.nodes.data()),
                  [&](const std::string& name, std::size_t at) {
                    tensors::Tensor tensor = shard.torch.tensors[at];
                    tensor.name = name + suffix_;
                    const bool placeholder = tensor.count == 0 && by_parameter_;
                    if (placeholder || opening_.names.count(tensor.name) > 0) return;
                    opening_.add_weight(std::move(tensor), shard.file);
                  });
    take_frozen();
  }

  /// Stage 3 keeps frozen parameters in parts of their own, beside each rank's module.
  void take_frozen() {
    const pickle::PickleDocument& first = models_.front().torch.document;
    const pickle::PickleNode* shapes = first.find(first.at(first.root), "frozen_param_shapes");
    if (shapes == nullptr || !by_parameter_) return;
    for (std::size_t i = 0; i + 1 < shapes->items.size(); i += 2) {
      const std::string name(first.at(shapes->items[i]).text);
      std::vector<std::int64_t> shape;
      for (const pickle::NodeId id : first.at(shapes->items[i + 1]).items) {
        shape.push_back(first.at(id).number);
      }
      Line line;
      for (const Shard& shard : models_) {
        const pickle::PickleDocument& document = shard.torch.document;
        const pickle::PickleNode* parts =
            document.find(document.at(document.root), "frozen_param_fragments");
        if (parts != nullptr) add_tensor(shard, document.find(*parts, name), line);
      }
      std::vector<TensorPiece> pieces;
      cut(line, 0, tensors::count_of(shape).value_or(0), 0, pieces);
      std::string why;
      tensors::Tensor tensor =
          join_pieces(core::sanitize(name) + suffix_, shape, std::move(pieces), true, why);
      const std::size_t file = tensor.file;
      opening_.add_weight(std::move(tensor), file);
    }
  }

  void take_progress(const pickle::PickleDocument& document) {
    Checkpoint& out = opening_.out;
    const pickle::PickleNode& root = document.at(document.root);
    const auto number = [&](const char* key) { return document.number(document.find(root, key)); };
    if (const auto steps = number("global_steps")) out.trainer_state.emplace("global_step", *steps);
    if (const auto ranks = number("dp_world_size")) {
      out.trainer_state.emplace("dp_world_size", *ranks);
    }
    const pickle::PickleNode* schedule = document.find(root, "lr_scheduler");
    if (schedule == nullptr) return;
    for (const char* key : {"last_epoch", "last_batch_iteration"}) {
      if (const auto at = document.number(document.find(*schedule, key))) {
        out.scheduler.emplace("last_epoch", *at);
      }
    }
  }

  Opening& opening_;
  std::string suffix_;
  std::vector<Shard>& models_;
  std::vector<Shard>& shards_;
  NamedOptimizer& named_;
  bool by_parameter_ = false;  ///< stage 3
  std::vector<Parameter> parameters_;
  std::vector<std::uint64_t> begins_;
};

std::optional<Shard> open_shard(Opening& opening, const std::string& path, std::size_t rank) {
  Shard shard;
  shard.rank = rank;
  shard.path = path;
  shard.file = opening.out.files.size();
  CheckpointFile entry{
      path, is_optimizer_shard(path) ? FileRole::optimizer : FileRole::weights, {}, 0, false};
  auto mapped = tensors::MappedFile::open(path);
  core::Result<TorchFile> read = tl::unexpected(mapped ? core::Error() : mapped.error());
  if (mapped) {
    entry.bytes = (*mapped)->size();
    read = read_torch((*mapped)->bytes(), *mapped, path, opening.verify);
  }
  if (read) {
    opening.join(read->findings);
    shard.torch = std::move(*read);
    entry.format = shard.torch.format;
    entry.readable = true;
  } else {
    opening.unreadable(path, read.error());
  }
  opening.out.files.push_back(std::move(entry));
  return read ? std::optional(std::move(shard)) : std::nullopt;
}

bool is_zero_shard(std::string_view name) {
  const bool states = is_optimizer_shard(name) || name.ends_with("_model_states.pt");
  return states &&
         (name.find("zero_pp_rank_") != std::string_view::npos || name.starts_with("mp_rank_"));
}

void open_zero_shards(Opening& opening, const std::string& folder,
                      const std::vector<std::string>& names) {
  struct Part {
    std::vector<Shard> models;
    std::vector<Shard> optimizers;
  };
  std::map<std::size_t, Part> parts;  // by model-parallel rank
  for (const std::string& name : names) {
    if (!is_zero_shard(name)) continue;
    const std::size_t rank = number_behind(name, "pp_rank_").value_or(0);
    Part& part = parts[number_behind(name, "mp_rank_").value_or(0)];
    auto shard = open_shard(opening, (std::filesystem::path(folder) / name).string(), rank);
    if (!shard) continue;
    (is_optimizer_shard(name) ? part.optimizers : part.models).push_back(std::move(*shard));
  }
  NamedOptimizer named;
  const auto by_rank = [](const Shard& a, const Shard& b) { return a.rank < b.rank; };
  for (auto& [rank, part] : parts) {
    std::sort(part.models.begin(), part.models.end(), by_rank);
    std::sort(part.optimizers.begin(), part.optimizers.end(), by_rank);
    // Tensor-parallel ranks hold other parts of tensors of the same name.
    const std::string suffix = parts.size() > 1 ? fmt::format("@mp{}", rank) : std::string();
    ZeroReader(opening, suffix, part.models, part.optimizers, named).read();
  }
  if (!named.empty() && !opening.out.optimizer) opening.out.optimizer = named.finish(folder);
  opening.out.in_model_order = true;
}

class ZeroShards final : public CheckpointFormat {
 public:
  bool is_shard(std::string_view name) const override { return is_zero_shard(name); }
  void read_shards(Opening& opening, const std::string& folder,
                   const std::vector<std::string>& names) const override {
    open_zero_shards(opening, folder, names);
  }
};

}  // namespace

std::unique_ptr<CheckpointFormat> make_zero_shards_format() {
  return std::make_unique<ZeroShards>();
}

}  // namespace aplomb::checkpoint
