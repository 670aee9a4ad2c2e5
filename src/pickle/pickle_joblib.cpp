// Arrays as joblib writes them: raw bytes in the middle of the pickle.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "pickle/pickle_machine.h"

namespace aplomb::pickle {

namespace {

/// How many bytes stand behind an opcode; -1: a line; -2: two lines; -3: the file ends here for us.
int operand(unsigned char code, std::string_view rest) {
  const auto counted = [&](std::size_t width) {
    std::uint64_t size = 0;
    for (std::size_t i = 0; i < width && i < rest.size(); ++i)
      size |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest[i])) << (8U * i);
    return size > rest.size() ? -3
                              : static_cast<int>(std::min<std::uint64_t>(size, 1U << 30U) + width);
  };
  if (std::string_view(
          "()]}N012ltdaseuR.bo\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x92\x93\x94\x97\x98Q")
          .find(static_cast<char>(code)) != std::string_view::npos) {
    return 0;
  }
  switch (code) {
    case 'K':
    case 'q':
    case 'h':
    case 0x80:
    case 0x82:
      return 1;
    case 'M':
    case 0x83:
      return 2;
    case 'J':
    case 'r':
    case 'j':
    case 0x84:
      return 4;
    case 'G':
    case 0x95:
      return 8;
    case 'U':
    case 'C':
    case 0x8a:
    case 0x8c:
      return counted(1);
    case 'T':
    case 'X':
    case 'B':
    case 0x8b:
      return counted(4);
    case 0x8d:
    case 0x8e:
    case 0x96:
      return counted(8);
    case 'I':
    case 'L':
    case 'F':
    case 'S':
    case 'V':
    case 'p':
    case 'g':
    case 'P':
      return -1;
    case 'c':
    case 'i':
      return -2;
    default:
      return -3;
  }
}

/// Whether the bytes, read as opcodes, come to one that names or calls something.
bool may_call(std::string_view bytes) {
  constexpr std::string_view k_calls("ciRobPQ\x81\x82\x83\x84\x92\x93");
  for (std::size_t at = 0; at < bytes.size();) {
    const char code = bytes[at++];
    if (k_calls.find(code) != std::string_view::npos) return true;
    if (code == '.') return false;
    const int size = operand(static_cast<unsigned char>(code), bytes.substr(at));
    if (size == -3) return false;
    if (size >= 0) {
      at += static_cast<std::size_t>(size);
      continue;
    }
    const std::size_t end = bytes.find('\n', at);
    if (end == std::string_view::npos) return false;
    at = end + 1;
  }
  return false;
}

}  // namespace

/// Whether a dtype is of Python objects, or a record that has some.
bool Machine::has_objects(const PickleNode& dtype, int depth) const {
  constexpr int k_most_depth = 16;
  if (depth > k_most_depth) return true;
  if (dtype.kind == PickleKind::object && dtype.items.size() > 2 &&
      kind_of(dtype.items[0]) == GlobalKind::numpy_dtype) {
    for (const NodeId each : arguments_of(dtype.items[1])) {
      if (document_.at(each).text.find('O') != std::string_view::npos) return true;
    }
    return has_objects(document_.at(dtype.items[2]), depth + 1);
  }
  const bool holds = dtype.kind == PickleKind::tuple || dtype.kind == PickleKind::dict ||
                     dtype.kind == PickleKind::list;
  return holds && std::any_of(dtype.items.begin(), dtype.items.end(), [&](NodeId each) {
           return has_objects(document_.at(each), depth + 1);
         });
}

std::optional<std::uint64_t> Machine::bytes_of_array(const PickleNode& wrapper) const {
  const PickleNode* dtype = document_.find(wrapper, "dtype");
  const PickleNode* shape = document_.find(wrapper, "shape");
  std::vector<std::int64_t> sizes;
  if (dtype == nullptr || shape == nullptr || !integers(*shape, sizes)) return std::nullopt;
  std::string_view word;
  if (dtype->kind == PickleKind::object && dtype->items.size() > 1) {
    const PickleNode& arguments = document_.at(dtype->items[1]);
    if (!arguments.items.empty()) word = document_.at(arguments.items[0]).text;
  }
  const std::size_t digits = word.find_first_of("0123456789");
  std::uint64_t width = 0;
  if (digits != std::string_view::npos)
    std::from_chars(word.data() + digits, word.data() + word.size(), width);
  if (word.starts_with("U")) width *= 4;
  const auto count = tensors::count_of(sizes);
  std::uint64_t size = 0;
  if (width == 0 || !count || __builtin_mul_overflow(*count, width, &size)) return std::nullopt;
  return size;
}

/// pickle.load knows nothing of joblib: what joblib skips it takes for opcodes. Read so as well, and
/// only what is dangerous counts: the numbers of an array may look like anything.
void Machine::read_on_where_plain_pickle_would(std::uint64_t skipped) {
  constexpr std::uint64_t k_most_copied_nodes = 50'000'000;
  if (reread_nodes_ == k_is_second || !fault_.empty() || !may_call(bytes_.substr(at_, skipped)))
    return;
  reread_nodes_ += document_.nodes.size();
  if (reread_nodes_ > k_most_copied_nodes)
    return broken("arrays without end whose bytes may be read as pickles");
  Machine other(*this);
  other.reread_nodes_ = k_is_second;
  other.document_.findings = tensors::Findings();
  other.document_.findings.of(path_);
  const PickleDocument read = other.run();
  for (const tensors::Finding& each : read.findings.list()) {
    if (each.kind != "pickle.dangerous") continue;
    document_.findings.join(read.findings);
    return;
  }
}

/// joblib writes an array's bytes into the stream, behind the wrapper that describes it:
/// {subclass, shape, order, dtype, allow_mmap[, numpy_array_alignment_bytes]}.
void Machine::skip_array(NodeId wrapper) {
  const PickleNode& object = node(wrapper);
  const PickleNode* dtype = document_.find(object, "dtype");
  if (dtype != nullptr && has_objects(*dtype, 0)) {  // a pickle of its own
    constexpr int k_most_depth = 16;
    if (depth_ >= k_most_depth) return broken("arrays of objects inside each other");
    PickleDocument array = Machine(bytes_.substr(at_), path_, origin_ + at_, depth_ + 1).run();
    document_.findings.join(array.findings);
    at_ += array.end;
    if (array.fault) broken("an array of objects: " + array.fault->text);
    return;
  }
  const std::optional<std::uint64_t> size = bytes_of_array(object);
  if (!size) return broken("an array whose size is not told");
  const PickleNode* alignment = document_.find(object, "numpy_array_alignment_bytes");
  const bool is_aligned = alignment != nullptr && alignment->kind == PickleKind::integer;
  read_on_where_plain_pickle_would(*size + (is_aligned ? 256U : 0U));
  if (is_aligned) take(little(1));
  const std::string_view raw = take(*size);
  if (!fault_.empty()) return;
  const PickleNode* order = document_.find(object, "order");
  const bool by_columns = order != nullptr && order->text == "F";
  // Beside the wrapper, which stays what pickle.load makes of it.
  const auto array = numpy_array(*dtype, *document_.find(object, "shape"), raw, by_columns);
  if (array) node(wrapper).items.push_back(*array);
}

}  // namespace aplomb::pickle
