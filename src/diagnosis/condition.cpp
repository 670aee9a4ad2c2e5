#include "diagnosis/condition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>

#include "core/text.h"

namespace aplomb::diagnosis {
namespace {

bool is_name_part(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' ||
         c == '/' || c == '+';
}

Truth truth_of(const core::Value& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? Truth::yes : Truth::no;
  if (const double* number = core::as_number(value)) {
    if (std::isnan(*number)) return Truth::unknown;
    return *number != 0 ? Truth::yes : Truth::no;
  }
  return std::get<std::string>(value).empty() ? Truth::no : Truth::yes;
}

Truth opposite(Truth truth) {
  if (truth == Truth::unknown) return truth;
  return truth == Truth::yes ? Truth::no : Truth::yes;
}

}  // namespace

/// Recursive descent over the grammar in the header.
class ConditionParser {
 public:
  ConditionParser(std::string_view text, Condition& out) : text_(text), out_(out) {}

  /// The column (from 1) of the first mistake, or nothing.
  std::optional<std::size_t> run() {
    out_.root_ = either();
    skip();
    if (out_.root_ < 0 || at_ != text_.size()) return at_ + 1;
    return std::nullopt;
  }

 private:
  using Kind = Condition::Kind;
  using Compare = Condition::Compare;
  static constexpr int k_max_depth = 32;

  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  bool take(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  std::string_view word() {
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_part(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  int add(Condition::Node node) {
    out_.nodes_.push_back(std::move(node));
    return static_cast<int>(out_.nodes_.size()) - 1;
  }

  int chain(Kind kind, std::string_view token, int (ConditionParser::*side)()) {
    int left = (this->*side)();
    while (left >= 0 && take(token)) {
      const int right = (this->*side)();
      if (right < 0) return -1;
      left = add({kind, Compare::equal, {}, {}, left, right});
    }
    return left;
  }

  int either() { return chain(Kind::either, "||", &ConditionParser::both); }
  int both() { return chain(Kind::both, "&&", &ConditionParser::unary); }

  int unary() {
    if (++depth_ > k_max_depth) return -1;
    const int node = unary_within();
    --depth_;
    return node;
  }

  int unary_within() {
    if (take("!")) {
      const int inner = unary();
      return inner < 0 ? -1 : add({Kind::negation, Compare::equal, {}, {}, inner, -1});
    }
    if (take("(")) {
      const int inner = either();
      return inner >= 0 && take(")") ? inner : -1;
    }
    const std::string_view name = word();
    if (name.empty() || core::parse_number(name)) return -1;
    if ((name == "known" || name == "unseen") && take("(")) {
      const std::string asked(word());
      if (asked.empty() || !take(")")) return -1;
      return add({name == "known" ? Kind::known : Kind::unseen, Compare::equal, asked, {}, -1, -1});
    }
    const std::optional<Compare> compare = comparison();
    if (!compare) return add({Kind::truth, Compare::equal, std::string(name), {}, -1, -1});
    std::optional<core::Value> value = literal();
    if (!value) return -1;
    return add({Kind::comparison, *compare, std::string(name), std::move(*value), -1, -1});
  }

  std::optional<Compare> comparison() {
    if (take("==")) return Compare::equal;
    if (take("!=")) return Compare::unequal;
    if (take("<=")) return Compare::at_most;
    if (take(">=")) return Compare::at_least;
    if (take("<")) return Compare::less;
    if (take(">")) return Compare::more;
    if (take("~")) return Compare::contains;
    return std::nullopt;
  }

  std::optional<core::Value> literal() {
    if (take("'")) {
      const std::size_t end = text_.find('\'', at_);
      if (end == std::string_view::npos) return std::nullopt;
      const core::Value quoted = std::string(text_.substr(at_, end - at_));
      at_ = end + 1;
      return quoted;
    }
    const std::string_view bare = word();
    if (bare.empty()) return std::nullopt;
    if (bare == "true") return core::Value(true);
    if (bare == "false") return core::Value(false);
    if (const auto number = core::parse_number(bare)) return core::Value(*number);
    return core::Value(std::string(bare));
  }

  std::string_view text_;
  Condition& out_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

core::Result<Condition> Condition::parse(std::string_view text) {
  Condition condition;
  condition.text_ = std::string(core::trim(text));
  ConditionParser parser(condition.text_, condition);
  if (const auto column = parser.run()) {
    return core::fail(
        core::ErrorCode::bad_format,
        fmt::format("[condition] '{}' makes no sense at column {}", condition.text_, *column));
  }
  return condition;
}

Truth Condition::holds(const FactTable& facts) const {
  return root_ < 0 ? Truth::unknown : holds(root_, facts);
}

Truth Condition::holds(int index, const FactTable& facts) const {
  const Node& node = nodes_[static_cast<std::size_t>(index)];
  switch (node.kind) {
    case Kind::either:
      return std::max(holds(node.left, facts), holds(node.right, facts));
    case Kind::both:
      return std::min(holds(node.left, facts), holds(node.right, facts));
    case Kind::negation:
      return opposite(holds(node.left, facts));
    case Kind::known:
      return facts.find(node.name) != nullptr ? Truth::yes : Truth::no;
    case Kind::unseen: {
      const record::Fact* fact = facts.find(node.name);
      return fact != nullptr && truth_of(fact->value) == Truth::yes ? Truth::no : Truth::yes;
    }
    case Kind::truth: {
      const record::Fact* fact = facts.find(node.name);
      return fact == nullptr ? Truth::unknown : truth_of(fact->value);
    }
    case Kind::comparison:
      return compare(node, facts);
  }
  return Truth::unknown;
}

Truth Condition::compare(const Node& node, const FactTable& facts) {
  const record::Fact* fact = facts.find(node.name);
  if (fact == nullptr) return Truth::unknown;
  const auto answer = [](bool holds) { return holds ? Truth::yes : Truth::no; };
  if (const double* wanted = core::as_number(node.literal)) {
    const double* held = core::as_number(fact->value);
    if (held == nullptr || std::isnan(*held)) return Truth::unknown;
    switch (node.compare) {
      case Compare::equal:
        return answer(*held == *wanted);
      case Compare::unequal:
        return answer(*held != *wanted);
      case Compare::less:
        return answer(*held < *wanted);
      case Compare::at_most:
        return answer(*held <= *wanted);
      case Compare::more:
        return answer(*held > *wanted);
      case Compare::at_least:
        return answer(*held >= *wanted);
      case Compare::contains:
        return Truth::unknown;
    }
  }
  if (const bool* wanted = std::get_if<bool>(&node.literal)) {
    const Truth held = truth_of(fact->value);
    if (held == Truth::unknown) return held;
    const bool same = (held == Truth::yes) == *wanted;
    if (node.compare == Compare::equal) return answer(same);
    return node.compare == Compare::unequal ? answer(!same) : Truth::unknown;
  }
  const std::string* held = core::as_text(fact->value);
  if (held == nullptr) return Truth::unknown;
  const std::string& wanted = std::get<std::string>(node.literal);
  if (node.compare == Compare::equal) return answer(core::iequals(*held, wanted));
  if (node.compare == Compare::unequal) return answer(!core::iequals(*held, wanted));
  return node.compare == Compare::contains ? answer(core::icontains(*held, wanted))
                                           : Truth::unknown;
}

std::vector<std::string> Condition::names() const {
  std::vector<std::string> all;
  for (const Node& node : nodes_) {
    const bool new_name =
        !node.name.empty() && std::find(all.begin(), all.end(), node.name) == all.end();
    if (new_name) all.push_back(node.name);
  }
  return all;
}

std::vector<const record::Fact*> Condition::support(const FactTable& facts) const {
  std::vector<const record::Fact*> out;
  if (root_ >= 0) support(root_, false, facts, out);
  return out;
}

void Condition::support(int index, bool negated, const FactTable& facts,
                        std::vector<const record::Fact*>& out) const {
  const Node& node = nodes_[static_cast<std::size_t>(index)];
  const Truth wanted = negated ? Truth::no : Truth::yes;
  if (holds(index, facts) != wanted) return;
  if (node.kind == Kind::negation) {
    support(node.left, !negated, facts, out);
  } else if (node.kind == Kind::either || node.kind == Kind::both) {
    support(node.left, negated, facts, out);
    support(node.right, negated, facts, out);
  } else if (const record::Fact* fact = facts.find(node.name)) {
    if (std::find(out.begin(), out.end(), fact) == out.end()) out.push_back(fact);
  }
}

}  // namespace aplomb::diagnosis
