/// Reader of NCCL flight-recorder dumps: what PyTorch's ProcessGroupNCCL writes of the collectives
/// that a rank had enqueued and not retired when a watchdog fired (a pickle a rank,
/// TORCH_NCCL_DEBUG_INFO_TEMP_FILE, or the JSON of _dump_nccl_trace_json). A dump becomes an Event
/// `flight-recorder`, and one `flight-group` for each process group of the rank: its members, and
/// the first and last collective that are pending there. diagnosis/flight_facts.cpp compares the
/// ranks.

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/text.h"
#include "pickle/pickle.h"
#include "sources/reader.h"

namespace aplomb::sources {
namespace {

constexpr std::uint64_t k_most_bytes = 256U << 20U;  // 2000 entries with stacks take some MB
constexpr std::size_t k_most_members = 4096;

struct Pending {
  std::int64_t first = -1;
  std::int64_t last = -1;
  std::string op;  // of the first
  double numel = -1;
  std::string state;
  std::size_t count = 0;
};

struct Group {
  std::string name;
  std::string what;     // `EXPERT_MODEL_PARALLEL_GROUP`
  std::string members;  // `0,4,8`
  Pending pending;
};

struct Entry {
  std::string group;
  std::int64_t seq = -1;
  bool p2p = false;
  bool retired = false;
  std::string op;
  std::string state;
  double numel = -1;
};

struct Dump {
  std::optional<int> rank;
  std::map<std::string, Group> groups;

  void take(const Entry& entry) {
    // Sends and receives of a pipeline wait for whoever is stuck elsewhere; they name nobody.
    if (entry.p2p || entry.seq < 0 || entry.retired || entry.state == "completed") return;
    Group& group = groups[entry.group];
    group.name = entry.group;
    Pending& pending = group.pending;
    ++pending.count;
    pending.last = std::max(pending.last, entry.seq);
    if (pending.first >= 0 && pending.first <= entry.seq) return;
    pending.first = entry.seq;
    pending.op = entry.op;
    pending.numel = entry.numel;
    pending.state = entry.state;
  }
};

/// `[0, 4, 8]`, as text or joined from numbers, to `0,4,8`.
std::string members_of(std::string_view text) {
  std::string members;
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size() && count < k_most_members;) {
    const std::size_t digit = text.find_first_of("0123456789", at);
    if (digit == std::string_view::npos) break;
    at = std::min(text.find_first_not_of("0123456789", digit), text.size());
    if (count++ > 0) members += ',';
    members += text.substr(digit, at - digit);
  }
  return members;
}

/// Of `_dump_12`, `nccl_trace_rank_3`, `rank5.json`: the number that stands last in the name.
std::optional<int> rank_in(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  const std::size_t last = name.find_last_of("0123456789");
  if (last == std::string_view::npos) return std::nullopt;
  const std::size_t before = name.find_last_not_of("0123456789", last);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const auto number = core::parse_number(name.substr(begin, last + 1 - begin));
  if (!number || *number > 1e6) return std::nullopt;
  return static_cast<int>(*number);
}

// --- the pickle

class PickledDump {
 public:
  explicit PickledDump(const pickle::PickleDocument& document) : document_(document) {}

  Dump read() const {
    Dump dump;
    const pickle::PickleNode& root = document_.at(document_.root);
    if (const auto rank = document_.number(document_.find(root, "rank")))
      dump.rank = static_cast<int>(*rank);
    if (const pickle::PickleNode* groups = document_.find(root, "pg_config"))
      read_groups(*groups, dump);
    if (const pickle::PickleNode* entries = document_.find(root, "entries")) {
      for (const pickle::NodeId id : entries->items) dump.take(entry_of(document_.at(id)));
    }
    return dump;
  }

 private:
  std::string text(const pickle::PickleNode& node, std::string_view key) const {
    const pickle::PickleNode* found = document_.find(node, key);
    return found != nullptr && found->kind == pickle::PickleKind::text ? std::string(found->text)
                                                                       : "";
  }

  void read_groups(const pickle::PickleNode& groups, Dump& dump) const {
    for (std::size_t i = 1; i < groups.items.size(); i += 2) {
      const pickle::PickleNode& each = document_.at(groups.items[i]);
      Group group{text(each, "name"), text(each, "desc"), members_of(text(each, "ranks")), {}};
      if (const pickle::PickleNode* ranks = document_.find(each, "ranks");
          ranks != nullptr && ranks->kind != pickle::PickleKind::text) {
        std::string joined;
        for (const pickle::NodeId id : ranks->items)
          joined += fmt::format("{} ", document_.at(id).number);
        group.members = members_of(joined);
      }
      if (!group.name.empty()) dump.groups.insert_or_assign(group.name, group);
    }
  }

  Entry entry_of(const pickle::PickleNode& node) const {
    Entry entry;
    if (const pickle::PickleNode* group = document_.find(node, "process_group");
        group != nullptr && !group->items.empty()) {
      entry.group = std::string(document_.at(group->items.front()).text);
    }
    const auto whole = [&](std::string_view key) {
      return static_cast<std::int64_t>(document_.number(document_.find(node, key)).value_or(-1));
    };
    const auto truth = [&](std::string_view key) {
      const pickle::PickleNode* found = document_.find(node, key);
      return found != nullptr && found->number != 0;
    };
    entry.seq = whole("collective_seq_id");
    entry.p2p = truth("is_p2p");
    entry.retired = truth("retired");
    entry.op = text(node, "profiling_name");
    entry.state = text(node, "state");
    if (const pickle::PickleNode* sizes = document_.find(node, "input_sizes");
        sizes != nullptr && !sizes->items.empty()) {
      entry.numel = 1;
      for (const pickle::NodeId id : document_.at(sizes->items.front()).items)
        entry.numel *= static_cast<double>(document_.at(id).number);
    }
    return entry;
  }

  const pickle::PickleDocument& document_;
};

// --- the JSON

using simdjson::dom::element;

std::string json_text(element object, const char* key) {
  std::string_view text;
  return object.at_key(key).get(text) == simdjson::SUCCESS ? std::string(text) : "";
}

Entry json_entry(element each) {
  Entry entry;
  std::string_view group;
  if (each.at_key("process_group").at(0).get(group) == simdjson::SUCCESS) entry.group = group;
  std::int64_t seq = -1;
  if (each.at_key("collective_seq_id").get(seq) == simdjson::SUCCESS) entry.seq = seq;
  bool truth = false;
  if (each.at_key("is_p2p").get(truth) == simdjson::SUCCESS) entry.p2p = truth;
  if (each.at_key("retired").get(truth) == simdjson::SUCCESS) entry.retired = truth;
  entry.op = json_text(each, "profiling_name");
  entry.state = json_text(each, "state");
  simdjson::dom::array sizes;
  if (each.at_key("input_sizes").at(0).get(sizes) == simdjson::SUCCESS) {
    entry.numel = 1;
    for (const element size : sizes) {
      double length = 0;
      if (size.get(length) == simdjson::SUCCESS) entry.numel *= length;
    }
  }
  return entry;
}

Dump json_dump(element root) {
  Dump dump;
  std::int64_t rank = 0;
  if (root.at_key("rank").get(rank) == simdjson::SUCCESS) dump.rank = static_cast<int>(rank);
  simdjson::dom::object groups;
  if (root.at_key("pg_config").get(groups) == simdjson::SUCCESS) {
    for (const auto& [key, each] : groups) {
      element ranks;
      const bool any = each.at_key("ranks").get(ranks) == simdjson::SUCCESS;
      Group group{json_text(each, "name"),
                  json_text(each, "desc"),
                  any ? members_of(simdjson::minify(ranks)) : "",
                  {}};
      if (group.name.empty()) group.name = key;
      dump.groups.insert_or_assign(group.name, group);
    }
  }
  simdjson::dom::array entries;
  if (root.at_key("entries").get(entries) == simdjson::SUCCESS) {
    for (const element each : entries) dump.take(json_entry(each));
  }
  return dump;
}

/// Places in a dump are counted in groups: neither a pickle nor minified JSON has lines to show.
void tell(const Dump& dump, int rank, record::RunBuilder& build, record::SourceId source) {
  std::uint64_t place = 0;
  record::Event dumped;
  dumped.kind = "flight-recorder";
  dumped.severity = core::Severity::warning;
  dumped.rank = rank;
  dumped.origin = {source, 0, 0};
  dumped.text = fmt::format("rank {} dumped its flight recorder", rank);
  build.event(std::move(dumped));
  for (const auto& [name, group] : dump.groups) {
    // A group of one waits for nobody.
    if (group.members.find(',') == std::string::npos) continue;
    record::Event event;
    event.kind = "flight-group";
    event.severity = core::Severity::note;
    event.rank = rank;
    ++place;
    event.origin = {source, place, place};
    event.caught["group"] = name;
    event.caught["members"] = group.members;
    if (!group.what.empty()) event.caught["what"] = group.what;
    const Pending& pending = group.pending;
    if (pending.count > 0) {
      event.caught["first"] = static_cast<double>(pending.first);
      event.caught["last"] = static_cast<double>(pending.last);
      event.caught["op"] = pending.op;
      if (pending.numel >= 0) event.caught["numel"] = pending.numel;
    }
    event.text =
        pending.count == 0
            ? fmt::format("rank {}: nothing pending in group {} {}", rank, name, group.what)
            : fmt::format("rank {}: {} number {} to {} pending in group {} {}", rank, pending.op,
                          pending.first, pending.last, name, group.what);
    build.event(std::move(event));
  }
}

class FlightRecorderReader final : public Reader {
 public:
  const ReaderSpec& spec() const override {
    static const ReaderSpec flight_recorder_spec = {
        "flight-recorder",
        "NCCL flight-recorder dumps of PyTorch, one a rank (pickle or JSON)",
        R"({"version": "2.9", "pg_config": {"0": {"ranks": "[0, 1]"}}, "entries": [{"collective_seq_id": 12, "profiling_name": "nccl:all_reduce"}]})",
        {"the rank stands in the file's name only", "members of a group as text",
         "entries hold what was not retired", "groups of one name that differ between ranks"}};
    return flight_recorder_spec;
  }

  double sniff(const Sniff& artifact) const override {
    const auto has = [&](std::string_view part) {
      return artifact.head.find(part) != std::string_view::npos;
    };
    if (!has("pg_config") || !(has("pg_status") || has("collective_seq_id") || has("entries")))
      return 0;
    const bool pickled = artifact.head.starts_with('\x80');
    const std::size_t start = artifact.head.find_first_not_of(" \t\r\n");
    const bool json = start != std::string_view::npos && artifact.head[start] == '{';
    return pickled || json ? 0.97 : 0;
  }

  void read(input::ByteStream& bytes, record::RunBuilder& build,
            record::SourceId source) const override {
    bool cut = false;
    const std::string text = input::read_at_most(bytes, k_most_bytes, cut);
    const std::string path = build.source(source).path;
    build.source(source).framework = "pytorch";
    std::optional<Dump> dump;
    std::string fault;
    if (text.starts_with('\x80')) {
      const pickle::PickleDocument document = pickle::read_pickle(text, path);
      if (document.fault) fault = document.fault->text;
      if (!document.nodes.empty()) dump = PickledDump(document).read();
    } else {
      simdjson::dom::parser parser;
      element root;
      const auto error = parser.parse(text).get(root);
      if (error == simdjson::SUCCESS) dump = json_dump(root);
      if (error != simdjson::SUCCESS) fault = simdjson::error_message(error);
    }
    if (!fault.empty() || cut) {
      build.defect(
          {source, 0, "truncated", core::Severity::warning,
           fmt::format("[flight-recorder] {}: {}", path, cut ? "larger than is read" : fault)});
    }
    if (!dump) return;
    const std::optional<int> rank = dump->rank ? dump->rank : rank_in(path);
    if (rank) build.speak_for_rank(source, *rank);
    tell(*dump, rank.value_or(-1), build, source);
  }
};

}  // namespace

std::unique_ptr<Reader> make_flight_recorder_reader() {
  return std::make_unique<FlightRecorderReader>();
}

}  // namespace aplomb::sources
