#pragma once
/// Condition: a statement over facts, as it stands in knowledge/*.yaml, judged in three-valued
/// logic.
///
///     precision.params == bf16 && !(precision.master == fp32)
///     nonfinite.onset.lead_steps >= 1 || error.loss-spike
///     known(eval_loss.last) && model.name ~ baichuan
///
/// Grammar (loosest first):  or := and ("||" and)*   and := unary ("&&" unary)*
///     unary := "!" unary | "(" or ")" | ("known" | "unseen") "(" NAME ")" | NAME [OP LITERAL]
///     OP := == != < <= > >= ~        LITERAL := number | word | 'quoted words' | true | false
/// NAME may hold letters, digits and `_ . - /`. `~` asks whether a text contains the literal
/// (case-insensitive);
/// `==` on texts ignores case. A name alone asks whether the fact is true (a number: not 0; a text:
/// not empty).
///
/// `known(x)`: the fact is held; `unseen(x)`: it is not known to be true. These two are never
/// unknown.
///
/// A fact that is not held is unknown; so is a comparison with it, with a NaN, or of things of
/// different types. Unknown stays unknown through `!`; `&&` is false as soon as one side is, `||`
/// true as soon as one side is.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/value.h"
#include "diagnosis/diagnosis.h"

namespace aplomb::diagnosis {

enum class Truth : std::uint8_t { no, unknown, yes };

class Condition {
 public:
  /// Errors: bad_format, with the text and the column where it stops making sense.
  static core::Result<Condition> parse(std::string_view text);

  Truth holds(const FactTable& facts) const;

  /// Every fact name that the condition asks for, in order, once each.
  std::vector<std::string> names() const;

  /// The held facts that the condition's truth rests on: for `a || b` only of the sides that are
  /// true.
  std::vector<const record::Fact*> support(const FactTable& facts) const;

  const std::string& text() const { return text_; }

 private:
  friend class ConditionParser;
  enum class Kind : std::uint8_t { either, both, negation, comparison, truth, known, unseen };
  enum class Compare : std::uint8_t { equal, unequal, less, at_most, more, at_least, contains };
  struct Node {
    Kind kind = Kind::truth;
    Compare compare = Compare::equal;
    std::string name;     ///< comparison, truth, known, unseen
    core::Value literal;  ///< comparison
    int left = -1;        ///< either, both, negation
    int right = -1;       ///< either, both
  };

  Truth holds(int node, const FactTable& facts) const;
  static Truth compare(const Node& node, const FactTable& facts);
  void support(int node, bool negated, const FactTable& facts,
               std::vector<const record::Fact*>& out) const;

  std::string text_;
  std::vector<Node> nodes_;
  int root_ = -1;
};

}  // namespace aplomb::diagnosis
