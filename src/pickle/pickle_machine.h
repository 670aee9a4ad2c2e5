#pragma once
/// The machine behind read_pickle: its stack, marks and memo, and one function for each group of
/// opcodes. Internal to the pickle reader.

#include <array>
#include <unordered_map>
#include <unordered_set>

#include "pickle/pickle.h"
#include "pickle/pickle_globals.h"

namespace aplomb::pickle {

class Machine {
 public:
  /// `depth`: of pickles inside pickles.
  Machine(std::string_view bytes, const std::string& path, std::uint64_t origin, int depth = 0);

  /// Runs to STOP.
  PickleDocument run();

 private:
  // Reading operands. Each marks the machine broken where the bytes end.
  bool need(std::uint64_t count);
  std::uint64_t little(std::size_t width);
  std::string_view take(std::uint64_t count);
  std::string_view line();

  // The stack.
  NodeId push(PickleNode node);
  void push_id(NodeId id);
  /// One node for all equal ones.
  void push_shared(NodeId& known, PickleNode node);
  NodeId pop();
  NodeId top();
  std::vector<NodeId> pop_mark();
  PickleNode& node(NodeId id) { return document_.nodes[id]; }

  // Opcodes, by group; false where the opcode is of another group.
  bool number(unsigned char code);
  bool text(unsigned char code);
  bool container(unsigned char code);
  bool container_add(unsigned char code);
  bool memo(unsigned char code);
  bool stack(unsigned char code);
  bool call(unsigned char code);

  void push_line_number(bool is_long);
  void push_quoted();
  void push_long(std::string_view raw);
  void push_text(PickleKind kind, std::string_view value);
  void make_sequence(PickleKind kind, std::vector<NodeId> items);
  void extend(NodeId target, const std::vector<NodeId>& items, unsigned char code);
  void remember(std::uint64_t key);
  void recall(std::uint64_t key);

  void push_global(std::string_view module, std::string_view name, std::uint64_t at);
  void push_persistent(NodeId id);
  void push_call(NodeId callable, NodeId arguments, bool without_constructor);
  void build();
  NodeId make_object(NodeId callable, NodeId arguments);
  std::vector<NodeId> arguments_of(NodeId tuple) const;
  NodeId tuple_of(std::vector<NodeId> items);

  // What the understood constructors give; nothing where the arguments are not of their form.
  std::optional<NodeId> tensor_from(const std::vector<NodeId>& arguments);
  std::optional<NodeId> known_call(GlobalKind kind, NodeId callable,
                                   const std::vector<NodeId>& arguments);
  std::optional<NodeId> rebuilt_from_type(const std::vector<NodeId>& arguments);
  bool take_pairs(const PickleNode* list, std::vector<NodeId>& items);
  std::optional<NodeId> numpy_scalar(const std::vector<NodeId>& arguments);
  std::optional<NodeId> numpy_array(const PickleNode& dtype, const PickleNode& shape,
                                    std::string_view raw, bool fortran);
  bool build_array(NodeId object, NodeId state);
  std::optional<NodeId> encoded(const std::vector<NodeId>& arguments);
  std::optional<PickleStorage> storage_of(const PickleNode& id) const;
  const tensors::ElementType* numpy_type(const PickleNode& dtype) const;
  bool integers(const PickleNode& node, std::vector<std::int64_t>& out) const;
  GlobalKind kind_of(NodeId callable) const;

  // What an unpickler would do, and how far it is to be trusted: pickle.dangerous, .suspicious.
  void say(Trust what, std::uint64_t at, std::string text);
  std::string shown(NodeId global) const;
  void accuse(NodeId global, std::uint64_t at);
  bool is_plain_scalar(NodeId id) const;
  void judge_call(NodeId callable, NodeId arguments, bool made, int depth);
  void judge_known(NodeId callable, const std::vector<NodeId>& given, int depth);
  void judge_arguments(NodeId callable, const std::vector<NodeId>& given);
  void judge_unlisted(NodeId callable, const std::vector<NodeId>& given);
  void judge_iteration(NodeId callable, const std::vector<NodeId>& given);
  void judge_size(NodeId callable, const std::vector<NodeId>& given);
  void judge_lazy(NodeId callable, const std::vector<NodeId>& given);
  bool is_lazy(NodeId id) const;
  void judge_state(NodeId target, NodeId state);
  void judge_items(NodeId target, const std::vector<NodeId>& items, unsigned char code);
  /// How far an instance of a class is on its way. Picklers write its items, its pairs and its
  /// state in this order, each once: whoever goes back has the unpickler look up `append`, `add`,
  /// `__setitem__` or `__setstate__` on something whose attributes the pickle has already chosen.
  enum class Stage : std::uint8_t { made, items, pairs, state };
  void advance(NodeId target, Stage to);
  bool is_instance(NodeId id) const;
  /// Whether it gives an object methods that the unpickler calls next: at once, or some time.
  enum class Trap : std::uint8_t { none, later, next };
  Trap trap_in(const PickleNode& attributes) const;
  Trap trap_of(const PickleNode& key, NodeId value) const;
  void say_trap(Trap trap);
  /// Attributes of an object that a rebuilder sets, as BUILD would.
  void judge_rebuilt(GlobalKind kind, const std::vector<NodeId>& given);
  /// What is there to be called, though no class: a function that a checkpoint only names, a bound
  /// method, a partial.
  bool is_function(NodeId id) const;
  bool is_bound(NodeId id) const;
  bool may_run(NodeId id) const;
  void skip_array(NodeId wrapper);
  std::optional<std::uint64_t> bytes_of_array(const PickleNode& wrapper) const;
  bool has_objects(const PickleNode& dtype, int depth) const;
  void read_on_where_plain_pickle_would(std::uint64_t skipped);
  static constexpr std::uint64_t k_is_second = ~std::uint64_t{0};
  /// Whether the call of getattr gives a class or a member; nothing where it is not a usual one.
  std::optional<bool> usual_getattr(NodeId callable, NodeId arguments) const;
  void judge_getattr();

  /// Counts what constructors copy: a memoised list of a million items may be asked for a million
  /// times. False where the pickle has used up what is sane.
  bool charge(std::uint64_t copied);
  void broken(std::string what);

  std::string_view bytes_;
  std::string path_;
  std::uint64_t origin_;
  int depth_;
  std::uint64_t at_ = 0;
  std::uint64_t opcode_at_ = 0;
  std::string fault_;
  struct Used {
    std::uint64_t copied = 0;  ///< by constructors
    std::uint64_t held = 0;    ///< items of all containers
  } used_;
  PickleDocument document_;
  std::vector<NodeId> stack_;
  std::vector<std::size_t> marks_;
  std::vector<NodeId> dense_memo_;  ///< keys from 0 on, as picklers give them; k_unset where none
  std::unordered_map<std::uint64_t, NodeId> sparse_memo_;
  std::uint64_t memo_count_ = 0;
  std::array<NodeId, 256> small_{};  ///< nodes of small integers; 0 where not made yet
  std::array<NodeId, 2> booleans_{};
  std::unordered_map<NodeId, GlobalMeaning> globals_;
  std::unordered_map<NodeId, std::uint64_t> getattr_;  ///< its globals, with the opcode's offset
  std::size_t usual_getattrs_ = 0;                     ///< calls of them that torch itself writes
  std::unordered_set<NodeId> made_classes_;            ///< what usual getattrs gave
  std::unordered_map<NodeId, Stage> stages_;           ///< of instances that are past `made`
  std::size_t suspicious_ = 0;
  std::uint64_t reread_nodes_ = 0;  ///< that second readings copied; k_is_second: this is one
  std::unordered_map<std::string, NodeId> global_ids_;
  std::unordered_map<std::string, std::size_t> storage_ids_;
};

}  // namespace aplomb::pickle
