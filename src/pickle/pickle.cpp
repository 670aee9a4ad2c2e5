#include "pickle/pickle.h"

#include <fmt/format.h>

#include <charconv>

#include "core/text.h"
#include "pickle/pickle_machine.h"

namespace aplomb::pickle {
namespace {

constexpr unsigned char k_stop = '.';
constexpr std::size_t k_most_marks = 1'000'000;
constexpr std::uint64_t k_most_copied = 64U << 20U;  // items, or bytes of decoded text
constexpr NodeId k_unset = 0xFFFFFFFF;
constexpr std::uint64_t k_dense_gap = 4096;  // keys that picklers skip

}  // namespace

Machine::Machine(std::string_view bytes, const std::string& path, std::uint64_t origin, int depth)
    : bytes_(bytes), path_(path), origin_(origin), depth_(depth) {
  document_.findings.of(path);
  document_.nodes.emplace_back();  // node 0 is None: what an empty place points to
}

void Machine::broken(std::string what) {
  if (fault_.empty()) fault_ = std::move(what);
}

bool Machine::charge(std::uint64_t copied) {
  used_.copied += copied;
  if (used_.copied > k_most_copied) broken("it copies the same values without end");
  return fault_.empty();
}

bool Machine::need(std::uint64_t count) {
  if (count <= bytes_.size() - at_) return true;
  broken(fmt::format("an operand of {} bytes where {} are left", count, bytes_.size() - at_));
  return false;
}

std::uint64_t Machine::little(std::size_t width) {
  if (!need(width)) return 0;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[at_ + i])) << (8U * i);
  }
  at_ += width;
  return value;
}

std::string_view Machine::take(std::uint64_t count) {
  if (!fault_.empty() || !need(count)) return {};
  const std::string_view part = bytes_.substr(at_, count);
  at_ += count;
  return part;
}

std::string_view Machine::line() {
  const std::size_t end = bytes_.find('\n', at_);
  if (end == std::string_view::npos) {
    broken("a line without an end");
    return {};
  }
  const std::string_view part = bytes_.substr(at_, end - at_);
  at_ = end + 1;
  return part;
}

NodeId Machine::push(PickleNode made) {
  if (document_.nodes.size() >= k_most_nodes) {
    broken(fmt::format("more than {} values", k_most_nodes));
    return 0;
  }
  document_.nodes.push_back(std::move(made));
  const auto id = static_cast<NodeId>(document_.nodes.size() - 1);
  stack_.push_back(id);
  return id;
}

void Machine::push_shared(NodeId& known, PickleNode made) {
  if (known != 0) return push_id(known);
  known = push(std::move(made));
}

void Machine::push_id(NodeId id) {
  if (stack_.size() >= k_most_nodes)
    return broken(fmt::format("more than {} values", k_most_nodes));
  stack_.push_back(id);
}

NodeId Machine::pop() {
  const std::size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= floor) {
    broken("it takes from an empty stack");
    return 0;
  }
  const NodeId id = stack_.back();
  stack_.pop_back();
  return id;
}

NodeId Machine::top() {
  if (stack_.empty()) {
    broken("it looks at an empty stack");
    return 0;
  }
  return stack_.back();
}

std::vector<NodeId> Machine::pop_mark() {
  if (marks_.empty()) {
    broken("it goes back to a mark that was never set");
    return {};
  }
  const std::size_t from = marks_.back();
  marks_.pop_back();
  std::vector<NodeId> items(stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
  stack_.resize(from);
  return items;
}

NodeId Machine::tuple_of(std::vector<NodeId> items) {
  PickleNode made;
  made.kind = PickleKind::tuple;
  made.items = std::move(items);
  push(std::move(made));
  return pop();
}

void Machine::remember(std::uint64_t key) {
  if (memo_count_ >= k_most_nodes) return broken("a memo without end");
  const NodeId id = top();
  NodeId* place = nullptr;
  if (key < dense_memo_.size() + k_dense_gap && key < k_most_nodes) {
    if (key >= dense_memo_.size()) dense_memo_.resize(key + 1, k_unset);
    place = &dense_memo_[key];
  } else {
    place = &sparse_memo_.emplace(key, k_unset).first->second;
  }
  memo_count_ += *place == k_unset ? 1U : 0U;
  *place = id;
}

void Machine::recall(std::uint64_t key) {
  NodeId id = k_unset;
  if (key < dense_memo_.size()) id = dense_memo_[key];
  if (id == k_unset) {
    const auto found = sparse_memo_.find(key);
    if (found != sparse_memo_.end()) id = found->second;
  }
  if (id == k_unset) return broken(fmt::format("memo {} was never set", key));
  push_id(id);
}

bool Machine::memo(unsigned char code) {
  switch (code) {
    case 'p':
    case 'g': {
      const std::string_view digits = line();
      std::uint64_t key = 0;
      const char* end = digits.data() + digits.size();
      if (std::from_chars(digits.data(), end, key).ptr != end || digits.empty()) {
        broken("a memo key that is no number");
      } else if (code == 'p') {
        remember(key);
      } else {
        recall(key);
      }
      return true;
    }
    case 'q':
      remember(little(1));
      return true;
    case 'r':
      remember(little(4));
      return true;
    case 'h':
      recall(little(1));
      return true;
    case 'j':
      recall(little(4));
      return true;
    case 0x94:
      remember(memo_count_);
      return true;
    default:
      return false;
  }
}

bool Machine::stack(unsigned char code) {
  switch (code) {
    case 0x80:
      if (const std::uint64_t protocol = little(1); protocol > 5) {
        broken(fmt::format("protocol {} is not known", protocol));
      }
      return true;
    case 0x95:
      little(8);  // a frame's length says nothing that the opcodes do not
      return true;
    case '(':
      if (marks_.size() >= k_most_marks) broken("too many marks");
      marks_.push_back(stack_.size());
      return true;
    case '0':
      // POP takes a mark where one is on top.
      if (!marks_.empty() && marks_.back() == stack_.size()) {
        marks_.pop_back();
      } else {
        pop();
      }
      return true;
    case '1':
      pop_mark();
      return true;
    case '2':
      push_id(top());
      return true;
    default:
      return false;
  }
}

PickleDocument Machine::run() {
  while (fault_.empty()) {
    if (at_ >= bytes_.size()) {
      broken("it ends without its last opcode");
      break;
    }
    opcode_at_ = at_;
    const auto code = static_cast<unsigned char>(bytes_[at_++]);
    if (code == k_stop) {
      document_.root = pop();
      document_.end = at_;
      if (!fault_.empty()) break;
      judge_getattr();
      return std::move(document_);
    }
    const bool known = number(code) || text(code) || container(code) || container_add(code) ||
                       memo(code) || stack(code) || call(code);
    if (!known) broken(fmt::format("0x{:02x} is no opcode", code));
  }
  document_.end = at_;
  if (!stack_.empty()) document_.root = stack_.front();
  judge_getattr();
  document_.fault = core::Error{
      core::ErrorCode::bad_format,
      fmt::format("[pickle] {}: broken at byte {}: {}; the file was cut, or is no pickle", path_,
                  origin_ + opcode_at_, fault_)};
  return std::move(document_);
}

const PickleNode* PickleDocument::find(const PickleNode& node, std::string_view key) const {
  const PickleNode* dict = &node;
  if (node.kind == PickleKind::object) {
    if (node.items.size() < 3) return nullptr;
    dict = &at(node.items[2]);
  }
  if (dict->kind != PickleKind::dict) return nullptr;
  for (std::size_t i = 0; i + 1 < dict->items.size(); i += 2) {
    const PickleNode& name = at(dict->items[i]);
    if (name.kind == PickleKind::text && name.text == key) return &at(dict->items[i + 1]);
  }
  return nullptr;
}

std::optional<double> PickleDocument::number(const PickleNode* node) const {
  if (node == nullptr) return std::nullopt;
  if (node->kind == PickleKind::real) return node->real();
  if (node->kind == PickleKind::integer || node->kind == PickleKind::boolean) {
    return static_cast<double>(node->number);
  }
  return std::nullopt;
}

PickleDocument read_pickle(std::string_view bytes, const std::string& path, std::uint64_t origin) {
  return pickle::Machine(bytes, path, origin).run();
}

}  // namespace aplomb::pickle
