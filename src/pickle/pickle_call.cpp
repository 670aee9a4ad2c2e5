// The opcodes that name classes and call them: GLOBAL, REDUCE, BUILD, NEWOBJ, persistent ids. None
// of them calls anything here.

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "pickle/pickle_machine.h"

namespace aplomb::pickle {

void Machine::push_global(std::string_view module, std::string_view name, std::uint64_t at) {
  const std::string full = std::string(module) + "." + std::string(name);
  const auto known = global_ids_.find(full);
  if (known != global_ids_.end()) return push_id(known->second);
  PickleNode made;
  made.kind = PickleKind::global;
  made.text = document_.owned.emplace_back(full);
  const NodeId id = push(std::move(made));
  global_ids_.emplace(full, id);
  const GlobalMeaning meaning = meaning_of(module, name);
  globals_[id] = meaning;
  if (full == "builtins.getattr" || full == "__builtin__.getattr") {
    getattr_.emplace(id, at);  // judged when its calls are known
  } else if (meaning.kind == GlobalKind::suspicious) {
    accuse(id, at);
  } else if (meaning.kind == GlobalKind::unknown) {
    document_.findings.add("pickle.unknown-global", core::Severity::note, origin_ + at,
                           fmt::format("[pickle] it needs the class {} to be loaded with Python",
                                       core::shorten(core::sanitize(full), 120)));
  }
}

void Machine::accuse(NodeId global, std::uint64_t at) {
  document_.findings.add(
      "pickle.suspicious-global", core::Severity::failed, origin_ + at,
      fmt::format("[pickle] it names {}, which a checkpoint has no use for: loading this file "
                  "with pickle or torch.load(weights_only=False) would run it",
                  core::shorten(core::sanitize(node(global).text), 120)));
}

/// `getattr(torch...ShardedTensor, "ProcessGroupState")`: how protocol 2 names the class inside the
/// class, in every checkpoint of FSDP 1 that holds ShardedTensors.
bool Machine::is_usual_getattr(NodeId callable, NodeId arguments) const {
  const PickleNode& tuple = document_.at(arguments);
  if (getattr_.count(callable) == 0 || tuple.items.size() != 2) return false;
  const PickleNode& of = document_.at(tuple.items[0]);
  const PickleNode& attribute = document_.at(tuple.items[1]);
  return of.kind == PickleKind::global &&
         of.text == "torch.distributed._shard.sharded_tensor.api.ShardedTensor" &&
         attribute.kind == PickleKind::text && attribute.text == "ProcessGroupState";
}

/// Accuses getattr where anything but the usual calls holds it.
void Machine::judge_getattr() {
  if (getattr_.empty()) return;
  std::size_t held = getattr_.count(document_.root);
  for (const PickleNode& each : document_.nodes) {
    for (const NodeId item : each.items) held += getattr_.count(item);
  }
  const bool called = usual_getattrs_ > 0 && fault_.empty();
  if (called && held == usual_getattrs_) return;
  for (const auto& [id, at] : getattr_) accuse(id, at);
}

GlobalKind Machine::kind_of(NodeId callable) const {
  const auto found = globals_.find(callable);
  return found == globals_.end() ? GlobalKind::opaque : found->second.kind;
}

NodeId Machine::make_object(NodeId callable, NodeId arguments) {
  PickleNode made;
  made.kind = PickleKind::object;
  made.text = node(callable).text;
  made.items = {callable, arguments, 0};
  push(std::move(made));
  return pop();
}

/// func, type, args, state: a tensor subclass.
std::optional<NodeId> Machine::rebuilt_from_type(const std::vector<NodeId>& arguments) {
  const GlobalKind kind = arguments.empty() ? GlobalKind::opaque : kind_of(arguments[0]);
  if (arguments.size() < 3 || kind == GlobalKind::rebuild_from_type) {
    return std::nullopt;  // nesting them would recurse without end
  }
  if (kind == GlobalKind::rebuild_wrapper && arguments.size() > 3) {
    const NodeId wrapper = make_object(arguments[1], arguments[2]);
    node(wrapper).items[2] = arguments[3];
    return wrapper;
  }
  return known_call(kind, arguments[0], arguments_of(arguments[2]));
}

/// OrderedDict([[k, v], ...]) of protocols 0 and 1.
bool Machine::take_pairs(const PickleNode* list, std::vector<NodeId>& items) {
  if (list == nullptr || list->kind != PickleKind::list) return true;
  if (!charge(list->items.size())) return false;
  for (const NodeId pair : list->items) {
    const PickleNode& both = node(pair);
    if (both.items.size() == 2) items.insert(items.end(), both.items.begin(), both.items.end());
  }
  return true;
}

std::optional<NodeId> Machine::known_call(GlobalKind kind, NodeId callable,
                                          const std::vector<NodeId>& arguments) {
  const auto first = [&]() -> const PickleNode* {
    return arguments.empty() ? nullptr : &node(arguments[0]);
  };
  PickleNode made;
  switch (kind) {
    case GlobalKind::mapping:
      made.kind = PickleKind::dict;
      made.text = node(callable).text;
      if (!take_pairs(first(), made.items)) return std::nullopt;
      break;
    case GlobalKind::sequence:
    case GlobalKind::collection:
      made.kind = kind == GlobalKind::sequence ? PickleKind::tuple : PickleKind::set;
      if (first() != nullptr) {
        if (!charge(first()->items.size())) return std::nullopt;
        made.items = first()->items;
      }
      break;
    case GlobalKind::rebuild_tensor:
      return tensor_from(arguments);
    case GlobalKind::rebuild_parameter:
      if (first() == nullptr || first()->kind != PickleKind::tensor) return std::nullopt;
      document_.tensors[static_cast<std::size_t>(first()->number)].is_parameter = true;
      return arguments[0];
    case GlobalKind::rebuild_from_type:
      return rebuilt_from_type(arguments);
    case GlobalKind::numpy_buffer:
      if (arguments.size() < 3 || first()->kind != PickleKind::bytes) return std::nullopt;
      return numpy_array(node(arguments[1]), node(arguments[2]), first()->text,
                         arguments.size() > 3 && node(arguments[3]).text == "F");
    case GlobalKind::numpy_scalar:
      return numpy_scalar(arguments);
    case GlobalKind::encode:
      return encoded(arguments);
    default:
      return std::nullopt;
  }
  push(std::move(made));
  return pop();
}

/// The first arguments: no constructor that is understood takes more.
std::vector<NodeId> Machine::arguments_of(NodeId tuple) const {
  constexpr std::size_t k_most = 16;
  const PickleNode& from = document_.at(tuple);
  if (from.kind != PickleKind::tuple) return {};
  const std::size_t count = std::min(from.items.size(), k_most);
  return {from.items.begin(), from.items.begin() + static_cast<std::ptrdiff_t>(count)};
}

void Machine::push_call(NodeId callable, NodeId arguments) {
  if (!fault_.empty()) return;
  if (is_usual_getattr(callable, arguments)) ++usual_getattrs_;
  const auto made = known_call(kind_of(callable), callable, arguments_of(arguments));
  push_id(made ? *made : make_object(callable, arguments));
}

void Machine::build() {
  const NodeId state = pop();
  const NodeId target = top();
  if (!fault_.empty()) return;
  if (build_array(target, state)) return;
  PickleNode& to = node(target);
  if (to.kind == PickleKind::object && to.items.size() >= 3) to.items[2] = state;
}

void Machine::push_persistent(NodeId id) {
  const auto storage = storage_of(node(id));
  if (!storage) return push_id(make_object(0, id));
  PickleNode made;
  made.kind = PickleKind::storage;
  // The same storage may be named with different types and view parts.
  const std::string identity = fmt::format("{}\n{}\n{}", storage->key, storage->view_of,
                                           static_cast<const void*>(storage->type));
  const auto [found, fresh] = storage_ids_.emplace(identity, document_.storages.size());
  if (fresh) document_.storages.push_back(*storage);
  made.number = static_cast<std::int64_t>(found->second);
  push(std::move(made));
}

bool Machine::call(unsigned char code) {
  switch (code) {
    case 'c': {
      const std::uint64_t at = opcode_at_;
      const std::string_view module = line();
      push_global(module, line(), at);
      return true;
    }
    case 0x93: {
      const NodeId name = pop();
      const NodeId module = pop();
      const bool plain =
          node(name).kind == PickleKind::text && node(module).kind == PickleKind::text;
      push_global(plain ? node(module).text : "builtins",
                  plain ? node(name).text : "<a name that is computed>", opcode_at_);
      return true;
    }
    case 'R': {
      const NodeId arguments = pop();
      push_call(pop(), arguments);
      return true;
    }
    case 0x81: {
      const NodeId arguments = pop();
      push_call(pop(), arguments);
      return true;
    }
    case 0x92: {
      const NodeId named = pop();
      const NodeId arguments = pop();
      const NodeId callable = pop();
      push_id(make_object(callable, tuple_of({arguments, named})));
      return true;
    }
    case 'b':
      build();
      return true;
    case 'i': {
      const std::uint64_t at = opcode_at_;
      const std::string_view module = line();
      push_global(module, line(), at);
      const NodeId callable = pop();
      push_call(callable, tuple_of(pop_mark()));
      return true;
    }
    case 'o': {
      std::vector<NodeId> items = pop_mark();
      if (items.empty()) {
        broken("an object without a class");
        return true;
      }
      const NodeId callable = items.front();
      items.erase(items.begin());
      push_call(callable, tuple_of(std::move(items)));
      return true;
    }
    case 'P': {
      PickleNode made;
      made.kind = PickleKind::text;
      made.text = line();
      push(std::move(made));
      push_persistent(pop());
      return true;
    }
    case 'Q':
      push_persistent(pop());
      return true;
    case 0x82:
    case 0x83:
    case 0x84: {
      const std::uint64_t key = little(code == 0x82 ? 1 : code == 0x83 ? 2 : 4);
      push_global("copyreg", fmt::format("<extension {}>", key), opcode_at_);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace aplomb::pickle
