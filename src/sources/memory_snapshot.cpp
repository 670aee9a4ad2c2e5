/// Reader of PyTorch's memory snapshots (torch.cuda.memory._dump_snapshot, a pickle): the segments
/// that the caching allocator holds, and, where recording was on, every allocation and free with
/// its stack. The trace is replayed from the segments backwards in bytes: its end is what they
/// hold, so its start, its peak and what was alive there are known, although it began in mid-run.
///
///     {'segments': [{'device': 0, 'total_size': 2097152, 'allocated_size': 1536, 'blocks':
///     [...]}],
///      'device_traces': [[{'action': 'alloc', 'addr': 1, 'size': 512, 'frames': [...]}]]}
///
/// Oddities: a ring buffer cuts the trace's beginning off, so blocks are freed that nobody
/// allocated; `free_requested` comes before `free_completed`; a trace without stacks; Python and
/// C++ frames in one stack; several devices, of which most hold nothing.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/text.h"
#include "log_errors/signatures.h"
#include "pickle/pickle.h"
#include "sources/reader.h"

namespace aplomb::sources {
namespace {

constexpr std::uint64_t k_most_bytes = 512U << 20U;
constexpr std::size_t k_most_devices = 64;
constexpr std::size_t k_most_frames = 256;
constexpr double k_most_share = 0.5;      // of the tensors at the peak: one line holds most
constexpr std::size_t k_many_blocks = 8;  // judgement: as many steps
constexpr double k_worth_telling = 0.01;  // of the peak

/// What a tensor is for, as its stack tells.
enum class Use : std::uint8_t { forward, gradient, optimizer, other };
constexpr std::array<const char*, 4> k_use_names = {"forward", "gradient", "optimizer", "other"};

struct Held {
  double reserved = 0;
  double allocated = 0;
  double largest_gap = 0;  ///< the largest free block inside the segments
};

struct Alive {
  double bytes = 0;
  const pickle::PickleNode* frames = nullptr;
};

struct Peak {
  double bytes = 0;
  double before = 0;               ///< allocated before the trace began
  std::array<double, 4> by_use{};  ///< of what the trace allocated
  double largest = 0;
  std::string place;  ///< the line that allocated most: `model.py:101 forward`
  double place_bytes = 0;
  std::size_t place_blocks = 0;  ///< tensors that it allocated and that were alive
  bool has_stacks = false;
};

/// The allocation that failed.
struct Refused {
  double bytes = 0;
  double free = 0;
  std::string place;                ///< the user's line that asked for it
  std::vector<std::string> places;  ///< what its stack tells: `in_logits`, `in_backward` ...
};

class Snapshot {
 public:
  explicit Snapshot(const pickle::PickleDocument& document) : document_(document) {}

  std::map<int, Held> held() const {
    std::map<int, Held> devices;
    const pickle::PickleNode* segments = document_.find(document_.at(document_.root), "segments");
    if (segments == nullptr) return devices;
    for (const pickle::NodeId id : segments->items) {
      const pickle::PickleNode& segment = document_.at(id);
      const int device = static_cast<int>(number(segment, "device"));
      if (device < 0 || device >= static_cast<int>(k_most_devices)) continue;
      Held& held = devices[device];
      held.reserved += number(segment, "total_size");
      held.allocated += number(segment, "allocated_size");
      const pickle::PickleNode* blocks = document_.find(segment, "blocks");
      if (blocks == nullptr) continue;
      for (const pickle::NodeId block : blocks->items) {
        if (text(document_.at(block), "state") == "inactive")
          held.largest_gap = std::max(held.largest_gap, number(document_.at(block), "size"));
      }
    }
    return devices;
  }

  const pickle::PickleNode* trace(int device) const {
    const pickle::PickleNode* traces =
        document_.find(document_.at(document_.root), "device_traces");
    const auto at = static_cast<std::size_t>(device);
    if (traces == nullptr || at >= traces->items.size()) return nullptr;
    const pickle::PickleNode& trace = document_.at(traces->items[at]);
    return trace.items.empty() ? nullptr : &trace;
  }

  /// What was alive where the trace stood highest; `at_end` is allocated behind its last entry.
  Peak peak(const pickle::PickleNode& trace, double at_end) const {
    double running = 0;
    double highest = 0;
    std::size_t highest_at = 0;
    for (std::size_t i = 0; i < trace.items.size(); ++i) {
      running += change(document_.at(trace.items[i]));
      if (running <= highest) continue;
      highest = running;
      highest_at = i + 1;
    }
    Peak peak;
    struct Place {
      double bytes = 0;
      std::size_t blocks = 0;
    };
    std::map<std::string, Place> places;
    peak.before = std::max(0.0, at_end - running);
    peak.bytes = peak.before + highest;
    for (const auto& [address, alive] : alive_at(trace, highest_at)) {
      peak.by_use[static_cast<std::size_t>(use_of(alive.frames))] += alive.bytes;
      peak.has_stacks =
          peak.has_stacks || (alive.frames != nullptr && !alive.frames->items.empty());
      peak.largest = std::max(peak.largest, alive.bytes);
      if (const std::string place = place_of(alive.frames); !place.empty()) {
        places[place].bytes += alive.bytes;
        ++places[place].blocks;
      }
    }
    for (const auto& [place, held] : places) {
      if (held.bytes <= peak.place_bytes) continue;
      peak.place = place;
      peak.place_bytes = held.bytes;
      peak.place_blocks = held.blocks;
    }
    return peak;
  }

  /// The last `oom` of the trace: what was asked for, and from where.
  std::optional<Refused> out_of_memory(const pickle::PickleNode& trace) const {
    for (std::size_t i = trace.items.size(); i-- > 0;) {
      const pickle::PickleNode& entry = document_.at(trace.items[i]);
      if (text(entry, "action") != "oom") continue;
      const pickle::PickleNode* frames = document_.find(entry, "frames");
      return Refused{number(entry, "size"), number(entry, "device_free"), place_of(frames),
                     places_of(frames)};
    }
    return std::nullopt;
  }

 private:
  double number(const pickle::PickleNode& node, std::string_view key) const {
    return document_.number(document_.find(node, key)).value_or(0);
  }

  std::string_view text(const pickle::PickleNode& node, std::string_view key) const {
    const pickle::PickleNode* found = document_.find(node, key);
    return found != nullptr && found->kind == pickle::PickleKind::text ? found->text
                                                                       : std::string_view();
  }

  double change(const pickle::PickleNode& entry) const {
    const std::string_view action = text(entry, "action");
    if (action == "alloc") return number(entry, "size");
    return action == "free_completed" ? -number(entry, "size") : 0;
  }

  std::unordered_map<std::int64_t, Alive> alive_at(const pickle::PickleNode& trace,
                                                   std::size_t end) const {
    std::unordered_map<std::int64_t, Alive> alive;
    for (std::size_t i = 0; i < end; ++i) {
      const pickle::PickleNode& entry = document_.at(trace.items[i]);
      const double bytes = change(entry);
      if (bytes == 0) continue;
      const pickle::PickleNode* address = document_.find(entry, "addr");
      if (address == nullptr || address->kind != pickle::PickleKind::integer) continue;
      if (bytes < 0) {
        alive.erase(address->number);
      } else {
        alive[address->number] = {bytes, document_.find(entry, "frames")};
      }
    }
    return alive;
  }

  template <typename Each>
  void each_frame(const pickle::PickleNode* frames, Each each) const {
    if (frames == nullptr) return;
    const std::size_t most = std::min(frames->items.size(), k_most_frames);
    for (std::size_t i = 0; i < most; ++i) {
      const pickle::PickleNode& frame = document_.at(frames->items[i]);
      if (each(frame, text(frame, "name"), text(frame, "filename"))) return;
    }
  }

  /// The innermost of these in the stack decides: optimizer code, the autograd engine, a forward.
  Use use_of(const pickle::PickleNode* frames) const {
    Use use = Use::other;
    each_frame(frames,
               [&](const pickle::PickleNode&, std::string_view name, std::string_view file) {
                 if (file.find("torch/optim/") != std::string_view::npos) use = Use::optimizer;
                 if (name.find("autograd::Engine") != std::string_view::npos || name == "backward")
                   use = Use::gradient;
                 if (name == "forward" || name == "_call_impl") use = Use::forward;
                 return use != Use::other;
               });
    return use;
  }

  /// The innermost line of Python that is neither PyTorch's nor another package's.
  std::string place_of(const pickle::PickleNode* frames) const {
    std::string place;
    each_frame(frames,
               [&](const pickle::PickleNode& frame, std::string_view name, std::string_view file) {
                 const auto inside = [&](std::string_view folder) {
                   return file.find(folder) != std::string_view::npos;
                 };
                 if (!file.ends_with(".py") || inside("/torch/") || inside("-packages/"))
                   return false;
                 place = fmt::format("{}:{:.0f} {}", file.substr(file.rfind('/') + 1),
                                     number(frame, "line"), name);
                 return true;
               });
    return place;
  }

  /// What the frames tell of the place, as those of a printed traceback do.
  std::vector<std::string> places_of(const pickle::PickleNode* frames) const {
    std::vector<std::string> places;
    each_frame(
        frames, [&](const pickle::PickleNode& frame, std::string_view name, std::string_view file) {
          const std::string line =
              fmt::format("File \"{}\", line {:.0f}, in {}", file, number(frame, "line"), name);
          for (std::string& place : log_errors::places_of_frame(line)) {
            if (std::find(places.begin(), places.end(), place) == places.end())
              places.push_back(std::move(place));
          }
          return false;
        });
    return places;
  }

  const pickle::PickleDocument& document_;
};

class Teller {
 public:
  Teller(record::RunBuilder& build, record::SourceId source) : build_(build), source_(source) {}

  void tell(const Snapshot& snapshot, int device, const Held& held) {
    const pickle::PickleNode* trace = snapshot.trace(device);
    const Peak peak = trace != nullptr ? snapshot.peak(*trace, held.allocated) : Peak{};
    record::Event event;
    event.kind = "memory-snapshot";
    event.severity = core::Severity::note;
    event.rank = -1;
    event.origin = {source_, 0, static_cast<std::uint64_t>(device)};
    event.caught["device"] = static_cast<double>(device);
    event.text =
        fmt::format("device {}: {} held by PyTorch, {} of it in tensors at the end", device,
                    core::show_bytes(held.reserved), core::show_bytes(held.allocated));
    if (trace != nullptr) event.text += "; " + words_of(peak);
    if (const bool first = !told_; first && held.reserved > 0) {
      told_ = true;
      facts(held, peak, trace != nullptr, event.text);
    }
    build_.event(std::move(event));
    if (trace == nullptr) return;
    if (const auto failed = snapshot.out_of_memory(*trace)) tell_oom(device, held, peak, *failed);
  }

 private:
  static std::string words_of(const Peak& peak) {
    std::string words = fmt::format("peak {} in tensors", core::show_bytes(peak.bytes));
    if (peak.before > 0) words += fmt::format(", {} from before", core::show_bytes(peak.before));
    for (std::size_t use = 0; use < k_use_names.size() && peak.has_stacks; ++use) {
      if (peak.by_use[use] > k_worth_telling * peak.bytes)
        words += fmt::format(", {} {}", k_use_names[use], core::show_bytes(peak.by_use[use]));
    }
    if (peak.largest > 0)
      words += fmt::format(", largest tensor {}", core::show_bytes(peak.largest));
    if (!peak.place.empty())
      words += fmt::format(", most at {} ({})", core::sanitize(peak.place),
                           core::show_bytes(peak.place_bytes));
    return words;
  }

  /// One line of the user's own holds most of what is in tensors, in many of them, and neither a
  /// forward pass nor the optimizer asked for it: what steps made and something keeps.
  static bool keeps_steps(const Peak& peak) {
    return !peak.place.empty() && peak.place_bytes > k_most_share * peak.bytes &&
           peak.place_blocks >= k_many_blocks && peak.by_use[3] > k_most_share * peak.bytes;
  }

  void facts(const Held& held, const Peak& peak, bool traced, const std::string& because) {
    const auto fact = [&](const char* name, double value) {
      build_.fact({name, value, because, {{source_, 0, 0}}});
    };
    fact("snapshot.reserved_bytes", held.reserved);
    fact("snapshot.allocated_bytes", held.allocated);
    fact("snapshot.slack_share", (held.reserved - held.allocated) / held.reserved);
    fact("snapshot.largest_gap_bytes", held.largest_gap);
    if (!traced || peak.bytes <= 0) return;
    fact("snapshot.peak_bytes", peak.bytes);
    fact("snapshot.largest_share", peak.largest / peak.bytes);
    if (!peak.has_stacks) return;
    fact("snapshot.forward_share", peak.by_use[0] / peak.bytes);
    fact("snapshot.gradient_share", peak.by_use[1] / peak.bytes);
    fact("snapshot.optimizer_share", peak.by_use[2] / peak.bytes);
    if (!keeps_steps(peak)) return;
    build_.fact({"snapshot.kept_text",
                 fmt::format("{} ({} in {} tensors)", core::sanitize(peak.place),
                             core::show_bytes(peak.place_bytes), peak.place_blocks),
                 because,
                 {{source_, 0, 0}}});
  }

  void tell_oom(int device, const Held& held, const Peak& peak, const Refused& refused) {
    record::Event event;
    event.kind = "cuda-oom";
    event.severity = core::Severity::failed;
    event.rank = -1;
    event.origin = {source_, 0, static_cast<std::uint64_t>(device) + 1};
    event.caught["requested"] = refused.bytes;
    event.caught["free"] = refused.free;
    event.caught["allocated"] = held.allocated;
    event.caught["reserved"] = held.reserved;
    for (const std::string& place : refused.places) event.caught[place] = true;
    event.text = fmt::format("device {}: out of memory, {} asked for", device,
                             core::show_bytes(refused.bytes));
    if (!refused.place.empty()) event.text += fmt::format(" at {}", core::sanitize(refused.place));
    event.text += fmt::format(" and {} free", core::show_bytes(refused.free));
    if (!peak.place.empty() && peak.place_bytes > k_most_share * peak.bytes) {
      event.text += fmt::format("; {} of the {} in tensors come from {}, in {} blocks",
                                core::show_bytes(peak.place_bytes), core::show_bytes(peak.bytes),
                                core::sanitize(peak.place), peak.place_blocks);
    }
    build_.event(std::move(event));
  }

  record::RunBuilder& build_;
  record::SourceId source_;
  bool told_ = false;  ///< facts are those of the first device that holds memory
};

class MemorySnapshotReader final : public Reader {
 public:
  const ReaderSpec& spec() const override {
    static const ReaderSpec memory_snapshot_spec = {
        "memory-snapshot",
        "CUDA memory snapshots of torch.cuda.memory._dump_snapshot (pickle)",
        R"({'segments': [{'device': 0, 'total_size': 2097152, 'allocated_size': 1536}], 'device_traces': [[{'action': 'alloc', 'addr': 1, 'size': 512}]]})",
        {"a trace that begins in mid-run", "blocks freed that nobody allocated",
         "allocations without a stack", "devices that hold nothing"}};
    return memory_snapshot_spec;
  }

  double sniff(const Sniff& artifact) const override {
    const auto has = [&](std::string_view part) {
      return artifact.head.find(part) != std::string_view::npos;
    };
    const bool pickled = artifact.head.starts_with('\x80');
    return pickled && has("segments") && has("total_size") && has("allocated_size") ? 0.97 : 0;
  }

  void read(input::ByteStream& bytes, record::RunBuilder& build,
            record::SourceId source) const override {
    bool cut = false;
    const std::string content = input::read_at_most(bytes, k_most_bytes, cut);
    const std::string path = build.source(source).path;
    build.source(source).framework = "pytorch";
    const pickle::PickleDocument document = pickle::read_pickle(content, path);
    if (cut || document.fault) {
      build.defect({source, 0, "truncated", core::Severity::warning,
                    fmt::format("[memory-snapshot] {}: {}", path,
                                cut ? "larger than is read" : document.fault->text)});
    }
    if (document.nodes.empty()) return;
    const Snapshot snapshot(document);
    Teller teller(build, source);
    for (const auto& [device, held] : snapshot.held()) teller.tell(snapshot, device, held);
  }
};

}  // namespace

std::unique_ptr<Reader> make_memory_snapshot_reader() {
  return std::make_unique<MemorySnapshotReader>();
}

}  // namespace aplomb::sources
