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
  if (trust == Trust::made) {
    // A member of an enumeration, by its value. A place in the file system or the net is none.
    const bool member =
        given.empty() || (given.size() == 1 && is_plain_scalar(given[0]) &&
                          node(given[0]).text.find_first_of("/\\:") == std::string_view::npos);
    if (made || (member && node(arguments).kind == PickleKind::tuple)) return;
    return say(Trust::suspicious, opcode_at_,
               fmt::format("it runs the constructor of {}", shown(callable)));
  }
  judge_known(callable, given, depth);
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

/// Keys that change what the unpickler calls next, and classes whose own attributes are set.
void Machine::judge_state(NodeId target, NodeId state) {
  if (globals_.count(target) > 0) {
    return say(Trust::dangerous, opcode_at_,
               fmt::format("it sets attributes of {} itself", shown(target)));
  }
  const PickleNode& from = node(state);
  Trap trap = trap_in(from);
  if (from.kind == PickleKind::tuple) {  // of the dictionary and the slots
    for (const NodeId each : arguments_of(state)) trap = std::max(trap, trap_in(node(each)));
  }
  if (from.kind == PickleKind::object && from.items.size() > 1) {  // a class that is a tuple
    for (const NodeId each : arguments_of(from.items[1]))
      trap = std::max(trap, trap_in(node(each)));
  }
  if (trap == Trap::none) return;
  say(trap == Trap::next ? Trust::dangerous : Trust::suspicious, opcode_at_,
      "it gives an object a method that the unpickler would call next");
}

Machine::Trap Machine::trap_in(const PickleNode& attributes) const {
  constexpr std::string_view k_later[] = {"__class__",  "__getattr__",   "__getattribute__",
                                          "__reduce__", "__reduce_ex__", "__call__",
                                          "append",     "extend"};
  const bool is_object = attributes.kind == PickleKind::object;
  if (!is_object && attributes.kind != PickleKind::dict) return Trap::none;
  // A dictionary that is made of what is not followed.
  if (is_object && kind_of(attributes.items[0]) == GlobalKind::mapping) return Trap::next;
  Trap found = Trap::none;
  for (std::size_t i = is_object ? 3 : 0; i + 1 < attributes.items.size(); i += 2) {
    const PickleNode& key = document_.at(attributes.items[i]);
    const bool is_computed = key.kind == PickleKind::object && !key.items.empty() &&
                             kind_of(key.items[0]) == GlobalKind::text_maker;
    if (is_computed || (key.kind == PickleKind::text && key.text == "__setstate__"))
      return Trap::next;
    if (key.kind == PickleKind::text &&
        std::find(std::begin(k_later), std::end(k_later), key.text) != std::end(k_later)) {
      found = Trap::later;
    }
  }
  return found;
}

/// Items that are set on something that a module holds stay there when the file has been read.
void Machine::judge_items(NodeId target) {
  if (globals_.count(target) == 0 || !fault_.empty()) return;
  say(Trust::dangerous, opcode_at_, fmt::format("it adds items to {} itself", shown(target)));
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
  const bool runs = first.kind == PickleKind::object && !first.items.empty() &&
                    (kind_of(first.items[0]) == GlobalKind::lazy ||
                     kind_of(first.items[0]) == GlobalKind::iterator);
  const bool is_huge = kind == GlobalKind::bytes_maker && first.kind == PickleKind::integer &&
                       first.number > k_most_zeros;
  if (runs || is_huge) {
    say(Trust::suspicious, opcode_at_,
        fmt::format("it has {} make as much as it is told to, out of nothing", shown(callable)));
  }
}

}  // namespace aplomb::pickle
