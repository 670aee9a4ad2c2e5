// What an unpickler would do with the calls and the state of a pickle. Nothing is called here.

#include <fmt/format.h>

#include <algorithm>

#include "pickle/pickle_machine.h"

namespace aplomb::pickle {

/// `getattr(torch...ShardedTensor, "ProcessGroupState")`: how protocol 2 names the class inside the
/// class, in every checkpoint of FSDP 1 that holds ShardedTensors; `getattr(IntervalStrategy,
/// "STEPS")`: how Python 3.11 pickled members of enumerations; `getattr(module, "load_hook")`: a
/// bound method that a module keeps. Calling the last is another matter: judge_call.
std::optional<bool> Machine::usual_getattr(NodeId callable, NodeId arguments) const {
  const PickleNode& tuple = document_.at(arguments);
  if (getattr_.count(callable) == 0 || tuple.items.size() != 2) return std::nullopt;
  const PickleNode& attribute = document_.at(tuple.items[1]);
  if (attribute.kind != PickleKind::text) return std::nullopt;
  const auto is_made = [&](NodeId id) {
    const auto of = globals_.find(id);
    return of != globals_.end() && of->second.trust == Trust::made;
  };
  if (is_made(tuple.items[0])) {
    return is_class_name(attribute.text) ? std::optional(true) : std::nullopt;
  }
  const PickleNode& of = document_.at(tuple.items[0]);
  // torch.relu by reference: the functions of tensors are methods of one class in C++.
  if (of.kind == PickleKind::global && of.text == "torch._C._VariableFunctionsClass") {
    const bool computes = !attribute.text.starts_with('_') &&
                          attribute.text.find('.') == std::string_view::npos &&
                          attribute.text != "from_file" &&
                          meaning_of("__main__", attribute.text).trust != Trust::dangerous;
    return computes ? std::optional(false) : std::nullopt;
  }
  const bool bound = of.kind == PickleKind::object && !of.items.empty() && is_made(of.items[0]) &&
                     attribute.text.find('.') == std::string_view::npos &&
                     meaning_of("__main__", attribute.text).trust != Trust::dangerous;
  return bound ? std::optional(false) : std::nullopt;
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

bool Machine::is_plain_scalar(NodeId id) const {
  const PickleKind kind = document_.at(id).kind;
  return kind == PickleKind::none || kind == PickleKind::boolean || kind == PickleKind::integer ||
         kind == PickleKind::real || kind == PickleKind::text;
}

/// What an unpickler would do with this call, from the lists and from what the callable makes of
/// its arguments. `made`: without a constructor (NEWOBJ).
void Machine::judge_call(NodeId callable, NodeId arguments, bool made, int depth) {
  constexpr int k_most_depth = 32;
  if (!fault_.empty()) return;
  if (depth > k_most_depth) return say(Trust::dangerous, opcode_at_, "calls within calls");
  const auto known = globals_.find(callable);
  if (known == globals_.end()) {
    if (made_classes_.count(callable) > 0) return;
    return say(is_bound(callable) ? Trust::dangerous : Trust::suspicious, opcode_at_,
               "it calls what another call gave back");
  }
  if (node(arguments).kind != PickleKind::tuple) {
    return say(Trust::suspicious, opcode_at_,
               fmt::format("it calls {} with arguments that are no plain tuple", shown(callable)));
  }
  const std::vector<NodeId> given = arguments_of(arguments);
  judge_arguments(callable, given);
  const Trust trust = known->second.trust;
  if (trust == Trust::value) {
    return say(Trust::suspicious, opcode_at_,
               fmt::format("it calls {}, which a checkpoint only names", shown(callable)));
  }
  if (trust == Trust::suspicious) judge_unlisted(callable, given);
  if (trust == Trust::made) {
    // A member of an enumeration, by its value. A place in the file system or the net is none.
    const bool member =
        given.empty() || (given.size() == 1 && is_plain_scalar(given[0]) &&
                          node(given[0]).text.find_first_of("/\\:") == std::string_view::npos);
    if (made) return;
    if (makes_more_than_values(node(callable).text)) {
      return say(Trust::dangerous, opcode_at_,
                 fmt::format("it runs the constructor of {}, which may write or start something",
                             shown(callable)));
    }
    if (member) return;
    return say(Trust::suspicious, opcode_at_,
               fmt::format("it runs the constructor of {}", shown(callable)));
  }
  judge_known(callable, given, depth);
}

/// A call of what is on no list, though the lists have all that its library lets pickles call.
void Machine::judge_unlisted(NodeId callable, const std::vector<NodeId>& given) {
  const std::string_view full = node(callable).text;
  const std::size_t dot = full.rfind('.');
  const std::string_view name = full.substr(dot == std::string_view::npos ? 0 : dot + 1);
  const bool is_extension = name.starts_with('<');
  if (!is_of_known_library(full) || is_rebuilder(name) || is_extension) return;
  // Constructors of other versions' classes; one that is told a place, bytes or a function is none.
  const bool is_told = std::any_of(given.begin(), given.end(), [&](NodeId id) {
    const PickleNode& each = node(id);
    return each.text.find_first_of("/\\:") != std::string_view::npos || may_run(id) ||
           each.kind == PickleKind::object;
  });
  if (is_class_name(name) && !is_told) return;
  say(Trust::dangerous, opcode_at_,
      fmt::format("it calls {}, which no pickle of that library calls", shown(callable)));
}

/// Callables of which more is known than whether they may be called.
void Machine::judge_known(NodeId callable, const std::vector<NodeId>& given, int depth) {
  const auto global_at = [&](std::size_t i) {
    return i < given.size() && globals_.count(given[i]) > 0;
  };
  switch (kind_of(callable)) {
    case GlobalKind::partial:
      if (!global_at(0)) say(Trust::suspicious, opcode_at_, "a functools.partial of no name");
      break;
    case GlobalKind::type:
      if (given.size() != 1 || !is_plain_scalar(given[0])) {
        say(Trust::suspicious, opcode_at_, "it calls builtins.type to make or get a class");
      }
      break;
    case GlobalKind::reconstructor:
      if (!global_at(0) || !global_at(1) || !node(given[1]).text.ends_with("object")) {
        const bool plain = global_at(0) && global_at(1) &&
                           (node(given[1]).text.starts_with("builtins.") ||
                            node(given[1]).text.starts_with("__builtin__."));
        if (!plain)
          say(Trust::suspicious, opcode_at_, "it rebuilds an object on a class of its own");
      }
      break;
    case GlobalKind::getitem:
      if (!global_at(0) || !node(given[0]).text.starts_with("typing.")) {
        say(Trust::dangerous, opcode_at_,
            "it calls operator.getitem, with which pickles take functions out of dictionaries");
      }
      break;
    case GlobalKind::rebuild_from_type:
      if (given.size() > 2) judge_call(given[0], given[2], false, depth + 1);
      break;
    case GlobalKind::load_from_bytes:
      if (!given.empty() && node(given[0]).kind == PickleKind::bytes) {
        document_.inside.push_back(node(given[0]).text);
      } else {
        say(Trust::dangerous, opcode_at_,
            "it hands torch.storage._load_from_bytes something else than bytes");
      }
      break;
    case GlobalKind::storage:
    case GlobalKind::numpy_array:
    case GlobalKind::opaque:
      judge_size(callable, given);
      break;
    case GlobalKind::iterator:
    case GlobalKind::sequence:
    case GlobalKind::collection:
    case GlobalKind::bytes_maker:
    case GlobalKind::generator:
      judge_iteration(callable, given);
      break;
    default:
      break;
  }
}

/// Instances of classes, also those that are read as plain containers (OrderedDict, torch.Size).
bool Machine::is_instance(NodeId id) const {
  const PickleNode& each = document_.at(id);
  return each.kind == PickleKind::object || each.kind == PickleKind::tensor ||
         (each.kind == PickleKind::dict && !each.text.empty());
}

void Machine::advance(NodeId target, Stage to) {
  if (!is_instance(target) || !fault_.empty()) return;
  Stage& stage = stages_[target];
  const bool goes_back = to < stage || (to == Stage::state && stage == Stage::state);
  stage = to;
  if (!goes_back) return;
  say(Trust::dangerous, opcode_at_,
      fmt::format("it adds to an instance of {} after it has set the attributes in which the "
                  "unpickler looks up how to: no pickler writes that, and what stands there runs",
                  shown(target)));
}

void Machine::say_trap(Trap trap) {
  if (trap == Trap::none) return;
  say(trap == Trap::next ? Trust::dangerous : Trust::suspicious, opcode_at_,
      "it gives an object a method that loading it or letting go of it calls");
}

/// Keys that change what the unpickler calls next, and classes whose own attributes are set.
void Machine::judge_state(NodeId target, NodeId state) {
  if (globals_.count(target) > 0) {
    return say(Trust::dangerous, opcode_at_,
               fmt::format("it sets attributes of {} itself", shown(target)));
  }
  const PickleNode& to = node(target);
  const PickleNode& from = node(state);
  // A functools.partial states again what it was made of.
  if (to.kind == PickleKind::object && kind_of(to.items[0]) == GlobalKind::partial) {
    const std::vector<NodeId> made_of = arguments_of(to.items[1]);
    const std::vector<NodeId> given = arguments_of(state);
    if (made_of.empty() || given.empty() || made_of[0] != given[0]) {
      say(Trust::dangerous, opcode_at_,
          "it makes a functools.partial of one function and puts another in its place");
    }
  }
  Trap trap = trap_in(from);
  if (from.kind == PickleKind::tuple) {  // of the dictionary and the slots
    for (const NodeId each : arguments_of(state)) trap = std::max(trap, trap_in(node(each)));
  }
  if (from.kind == PickleKind::object && from.items.size() > 1) {  // a class that is a tuple
    for (const NodeId each : arguments_of(from.items[1]))
      trap = std::max(trap, trap_in(node(each)));
  }
  say_trap(trap);
  advance(target, Stage::state);
}

/// torch._tensor._rebuild_from_type_v2(func, type, args, state) and
/// torch._utils._rebuild_parameter_with_state(data, requires_grad, hooks, state) set attributes.
void Machine::judge_rebuilt(GlobalKind kind, const std::vector<NodeId>& given) {
  if (kind != GlobalKind::rebuild_from_type && kind != GlobalKind::rebuild_parameter) return;
  if (given.size() < 4) return;
  Trap trap = trap_in(node(given[3]));
  for (const NodeId each : arguments_of(given[3])) trap = std::max(trap, trap_in(node(each)));
  say_trap(trap);
}

/// Names that the unpickler, the end of an object or a look into a table calls. A method planted
/// under any other name needs somebody who calls it.
Machine::Trap Machine::trap_of(const PickleNode& key, NodeId value) const {
  constexpr std::string_view k_lookups[] = {"__class__",   "__getattr__", "__getattribute__",
                                            "__reduce__",  "__call__",    "__reduce_ex__",
                                            "__getstate__"};
  constexpr std::string_view k_methods[] = {"append",
                                            "extend",
                                            "add",
                                            "update",
                                            "insert",
                                            "close",
                                            "_close",
                                            "__close__",
                                            "shutdown",
                                            "_shutdown",
                                            "cleanup",
                                            "_cleanup",
                                            "terminate",
                                            "release",
                                            "unlink",
                                            "flush",
                                            "detach",
                                            "__del__",
                                            "__hash__",
                                            "__eq__",
                                            "__lt__",
                                            "__len__",
                                            "__bool__",
                                            "__iter__",
                                            "__next__",
                                            "__exit__",
                                            "__enter__",
                                            "__missing__",
                                            "__contains__",
                                            "__getitem__",
                                            "__setitem__",
                                            "__delitem__",
                                            "__str__",
                                            "__repr__",
                                            "__index__",
                                            "__new__",
                                            "__init__",
                                            "__setattr__",
                                            "__get__",
                                            "__set__",
                                            "__set_name__",
                                            "__init_subclass__",
                                            "__reversed__",
                                            "__instancecheck__",
                                            "__array__",
                                            "__array_finalize__",
                                            "__torch_function__"};
  const auto is_one_of = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), key.text) != std::end(names);
  };
  const bool is_computed = key.kind == PickleKind::object && !key.items.empty() &&
                           kind_of(key.items[0]) == GlobalKind::text_maker;
  if (is_computed) return Trap::next;
  if (key.kind != PickleKind::text) return Trap::none;
  if (key.text == "__setstate__") return Trap::next;
  const bool is_method = is_one_of(k_methods);
  if (is_method || is_one_of(k_lookups)) {
    if (may_run(value)) return Trap::next;
    const PickleKind kind = document_.at(value).kind;
    const bool is_called = kind == PickleKind::global || kind == PickleKind::object;
    return is_called || !is_method ? Trap::later : Trap::none;
  }
  return Trap::none;
}

Machine::Trap Machine::trap_in(const PickleNode& attributes) const {
  const bool is_object = attributes.kind == PickleKind::object;
  if (!is_object && attributes.kind != PickleKind::dict) return Trap::none;
  // A dictionary that is made of what is not followed.
  if (is_object && kind_of(attributes.items[0]) == GlobalKind::mapping) return Trap::next;
  Trap found = Trap::none;
  for (std::size_t i = is_object ? 3 : 0; i + 1 < attributes.items.size(); i += 2) {
    const PickleNode& key = document_.at(attributes.items[i]);
    found = std::max(found, trap_of(key, attributes.items[i + 1]));
    if (found == Trap::next) break;
  }
  return found;
}

/// What the unpickler calls to add items: `append` and `extend` (APPEND, APPENDS), `__setitem__`
/// (SETITEM, SETITEMS), `add` (ADDITEMS).
void Machine::judge_items(NodeId target, const std::vector<NodeId>& items, unsigned char code) {
  if (!fault_.empty()) return;
  if (globals_.count(target) > 0) {
    // They stay there when the file has been read.
    return say(Trust::dangerous, opcode_at_,
               fmt::format("it adds items to {} itself", shown(target)));
  }
  if (!is_instance(target)) return;
  constexpr unsigned char k_additems = 0x90;
  if (code == k_additems) {
    // Picklers write it for sets themselves; those of a class of its own go through a call.
    return say(Trust::dangerous, opcode_at_,
               fmt::format("it has the unpickler call the method add of an instance of {}, as no "
                           "pickler does",
                           shown(target)));
  }
  const bool is_pairs = code == 's' || code == 'u';
  advance(target, is_pairs ? Stage::pairs : Stage::items);
  if (!is_pairs || document_.at(target).kind != PickleKind::object) return;
  // Dictionaries whose keys are their attributes, and tables that call a key that can be called.
  Trap trap = Trap::none;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    trap = std::max(trap, trap_of(node(items[i]), items[i + 1]));
    if (may_run(items[i])) trap = Trap::next;
  }
  say_trap(trap);
}

bool Machine::is_bound(NodeId id) const {
  const PickleNode& made = document_.at(id);
  return made.kind == PickleKind::object && !made.items.empty() && made_classes_.count(id) == 0 &&
         (kind_of(made.items[0]) == GlobalKind::getattr ||
          kind_of(made.items[0]) == GlobalKind::partial);
}

bool Machine::is_function(NodeId id) const {
  const auto global = globals_.find(id);
  if (global == globals_.end()) return is_bound(id);
  return global->second.trust == Trust::value && global->second.kind != GlobalKind::dtype;
}

/// Functions, and names that are on no list.
bool Machine::may_run(NodeId id) const {
  const auto global = globals_.find(id);
  if (global == globals_.end()) return is_bound(id);
  return is_function(id) || global->second.trust == Trust::suspicious ||
         global->second.trust == Trust::dangerous;
}

bool Machine::is_lazy(NodeId id) const {
  const PickleNode& each = document_.at(id);
  return each.kind == PickleKind::object && !each.items.empty() &&
         (kind_of(each.items[0]) == GlobalKind::lazy ||
          kind_of(each.items[0]) == GlobalKind::iterator);
}

/// Iterators, which may have no end, that are handed to what takes all of them.
void Machine::judge_lazy(NodeId callable, const std::vector<NodeId>& given) {
  const GlobalKind kind = kind_of(callable);
  const bool keeps = kind == GlobalKind::lazy || kind == GlobalKind::iterator ||
                     kind == GlobalKind::partial || kind == GlobalKind::getattr ||
                     globals_.at(callable).trust != Trust::call;
  const bool is_given =
      std::any_of(given.begin(), given.end(), [&](NodeId id) { return is_lazy(id); });
  if (keeps || !is_given) return;
  say(Trust::suspicious, opcode_at_,
      fmt::format("it has {} make as much as it is told to, out of nothing", shown(callable)));
}

/// Functions that are handed to what may call them. Some constructors keep theirs.
void Machine::judge_arguments(NodeId callable, const std::vector<NodeId>& given) {
  constexpr GlobalKind k_keep[] = {GlobalKind::partial,           GlobalKind::getattr,
                                   GlobalKind::reconstructor,     GlobalKind::new_object,
                                   GlobalKind::mapping,           GlobalKind::rebuild_tensor,
                                   GlobalKind::numpy_dtype,       GlobalKind::rebuild_wrapper,
                                   GlobalKind::rebuild_parameter, GlobalKind::rebuild_from_type};
  for (const NodeId each : given) {
    if (trap_in(node(each)) == Trap::next) {
      return say(Trust::dangerous, opcode_at_,
                 fmt::format("it hands {} attributes with a method that the unpickler would call "
                             "next",
                             shown(callable)));
    }
  }
  judge_lazy(callable, given);
  if (globals_.at(callable).trust != Trust::call || shown(callable).starts_with("torch._utils.") ||
      std::find(std::begin(k_keep), std::end(k_keep), kind_of(callable)) != std::end(k_keep)) {
    return;
  }
  for (const NodeId each : given) {
    if (!is_function(each)) continue;
    return say(is_bound(each) ? Trust::dangerous : Trust::suspicious, opcode_at_,
               fmt::format("it hands {} a function that this may call", shown(callable)));
  }
}

/// Makers of values whose size or work is a number that the pickle names: storages, arrays,
/// `Fraction("1e999999999")`.
void Machine::judge_size(NodeId callable, const std::vector<NodeId>& given) {
  constexpr std::int64_t k_most = std::int64_t{1} << 20;  // picklers lay what is larger in bytes
  constexpr std::size_t k_most_digits = 4;
  const auto is_huge = [&](NodeId id) {
    const PickleNode& each = node(id);
    if (each.kind == PickleKind::integer) return each.number > k_most;
    if (each.kind == PickleKind::bytes) return false;
    if (each.kind != PickleKind::text || node(callable).text != "fractions.Fraction") return false;
    const std::size_t exponent = each.text.find_first_of("eE");
    return exponent != std::string_view::npos && each.text.size() - exponent > k_most_digits;
  };
  const bool sized =
      kind_of(callable) != GlobalKind::opaque || node(callable).text == "fractions.Fraction" ||
      node(callable).text == "torch.Tensor" || node(callable).text == "numpy.ndarray";
  if (!sized) return;
  for (const NodeId each : given) {
    const std::vector<NodeId>& parts = node(each).items;
    if (is_huge(each) || std::any_of(parts.begin(), parts.end(), is_huge)) {
      return say(
          Trust::suspicious, opcode_at_,
          fmt::format("it has {} make as much as it is told to, out of nothing", shown(callable)));
    }
  }
}

/// Makers of values that call, or run without end, when they are asked to.
void Machine::judge_iteration(NodeId callable, const std::vector<NodeId>& given) {
  constexpr std::int64_t k_most_zeros = std::int64_t{1} << 20;
  const GlobalKind kind = kind_of(callable);
  if (given.empty()) return;
  const PickleNode& first = node(given[0]);
  if (kind == GlobalKind::iterator) {
    if (given.size() > 1)
      say(Trust::dangerous, opcode_at_, "it makes an iterator that calls a function");
    return;
  }
  if (kind == GlobalKind::generator) {
    for (std::size_t i = 0; i < given.size(); ++i) {
      const bool is_numpys =
          globals_.count(given[i]) > 0 && node(given[i]).text.starts_with("numpy.random.");
      const bool is_called = globals_.count(given[i]) > 0 || i > 0;
      if (is_called && !is_numpys)
        say(Trust::dangerous, opcode_at_,
            fmt::format("it has {} call something that is no generator", shown(callable)));
    }
    return;
  }
  const bool is_huge = kind == GlobalKind::bytes_maker && first.kind == PickleKind::integer &&
                       first.number > k_most_zeros;
  if (is_huge) {
    say(Trust::suspicious, opcode_at_,
        fmt::format("it has {} make as much as it is told to, out of nothing", shown(callable)));
  }
}

}  // namespace aplomb::pickle
