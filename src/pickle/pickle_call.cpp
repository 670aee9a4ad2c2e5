// The opcodes that name classes and call them: GLOBAL, REDUCE, BUILD, NEWOBJ, persistent ids. None
// of them calls anything here.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/text.h"
#include "pickle/pickle_machine.h"

namespace aplomb::pickle {

void Machine::say(Trust what, std::uint64_t at, std::string text) {
  // One that is only unusual is not worth a hundred lines; one that runs code always is.
  constexpr std::size_t k_most_suspicious = 50;
  const bool danger = what == Trust::dangerous;
  if (!danger && ++suspicious_ > k_most_suspicious) return;
  document_.findings.add(danger ? "pickle.dangerous" : "pickle.suspicious",
                         danger ? core::Severity::failed : core::Severity::warning, origin_ + at,
                         "[pickle] " + std::move(text));
}

std::string Machine::shown(NodeId global) const {
  return core::shorten(core::sanitize(document_.at(global).text), 120);
}

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
  if (meaning.kind == GlobalKind::getattr) {
    getattr_.emplace(id, at);  // judged when its calls are known
  } else if (meaning.trust == Trust::dangerous) {
    accuse(id, at);
  } else if (meaning.trust == Trust::suspicious) {
    say(Trust::suspicious, at,
        fmt::format("it names {}, which is on no list of what checkpoints hold: loading it with "
                    "Python imports that module and may call it",
                    shown(id)));
  }
}

void Machine::accuse(NodeId global, std::uint64_t at) {
  say(Trust::dangerous, at,
      fmt::format("it names {}, which a checkpoint has no use for: loading this file "
                  "with pickle or torch.load(weights_only=False) would run it",
                  shown(global)));
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

/// OrderedDict([[k, v], ...]) of protocols 0 and 1, dict({...}), defaultdict(list, {...}). False
/// where what is given is something else.
bool Machine::take_pairs(const PickleNode* given, std::vector<NodeId>& items) {
  if (given == nullptr) return true;
  const std::vector<NodeId>& from = given->items;
  switch (given->kind) {
    case PickleKind::none:
    case PickleKind::global:  // the factory of a defaultdict
      return true;
    case PickleKind::dict:
      if (!charge(from.size())) return false;
      items.insert(items.end(), from.begin(), from.end());
      return true;
    case PickleKind::list:
    case PickleKind::tuple:
    case PickleKind::set:
      if (!charge(from.size())) return false;
      for (const NodeId pair : from) {
        const PickleNode& both = node(pair);
        if (both.items.size() == 2) items.insert(items.end(), both.items.begin(), both.items.end());
      }
      return true;
    default:
      return false;
  }
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
      if (!take_pairs(first(), made.items) ||
          (arguments.size() > 1 && !take_pairs(&node(arguments[1]), made.items))) {
        return std::nullopt;
      }
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

void Machine::push_call(NodeId callable, NodeId arguments, bool without_constructor) {
  if (!fault_.empty()) return;
  judge_call(callable, arguments, without_constructor, 0);
  if (const auto is_class = usual_getattr(callable, arguments)) {
    ++usual_getattrs_;
    const NodeId member = make_object(callable, arguments);
    if (*is_class) made_classes_.insert(member);
    return push_id(member);
  }
  const GlobalKind kind = kind_of(callable);
  judge_rebuilt(kind, arguments_of(arguments));
  const auto known = known_call(kind, callable, arguments_of(arguments));
  const NodeId made = known ? *known : make_object(callable, arguments);
  if (kind == GlobalKind::rebuild_from_type) stages_[made] = Stage::state;
  push_id(made);
}

void Machine::build() {
  const NodeId state = pop();
  const NodeId target = top();
  if (!fault_.empty()) return;
  judge_state(target, state);
  if (build_array(target, state)) return;
  PickleNode& to = node(target);
  if (to.kind != PickleKind::object || to.items.size() < 3) return;
  to.items[2] = state;
  if (kind_of(to.items[0]) == GlobalKind::array_in_stream) skip_array(target);
}

void Machine::push_persistent(NodeId id) {
  const auto storage = storage_of(node(id));
  if (!storage) {
    const PickleNode& tuple = node(id);
    const bool words = tuple.kind == PickleKind::tuple && tuple.items.size() > 1 &&
                       node(tuple.items[0]).kind == PickleKind::text;
    // Whole modules of torch before 1.6: ("module", class, file, source).
    if (words && node(tuple.items[0]).text == "module" && globals_.count(tuple.items[1]) > 0) {
      return push_id(tuple.items[1]);
    }
    if (!words || node(tuple.items[0]).text != "storage") {
      say(Trust::suspicious, opcode_at_,
          "a persistent id that is not of torch's form: what it stands for is not in the file");
    }
    return push_id(make_object(0, id));
  }
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
      if (!fault_.empty()) return true;
      const auto may_be_name = [](const PickleNode& each) {
        return each.kind == PickleKind::text || each.kind == PickleKind::object;
      };
      if (!may_be_name(node(name)) && !may_be_name(node(module))) {
        broken("a name that is no text");
        return true;
      }
      const bool plain =
          node(name).kind == PickleKind::text && node(module).kind == PickleKind::text;
      push_global(plain ? node(module).text : "builtins",
                  plain ? node(name).text : "<a name that is computed>", opcode_at_);
      return true;
    }
    case 'R': {
      const NodeId arguments = pop();
      const NodeId callable = pop();
      push_call(callable, arguments, kind_of(callable) == GlobalKind::new_object);
      return true;
    }
    case 0x81: {
      const NodeId arguments = pop();
      push_call(pop(), arguments, true);
      return true;
    }
    case 0x92: {
      const NodeId named = pop();
      const NodeId arguments = pop();
      const NodeId callable = pop();
      judge_call(callable, arguments, true, 0);
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
      push_call(callable, tuple_of(pop_mark()), false);
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
      push_call(callable, tuple_of(std::move(items)), false);
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
