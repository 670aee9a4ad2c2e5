#include "cli/ckpt_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/text.h"

namespace aplomb::cli {
namespace {

/// Columns as wide as their widest cell; the first is flush left, the others flush right.
class Table {
 public:
  explicit Table(std::vector<std::string> head) { add(std::move(head)); }
  void add(std::vector<std::string> cells) {
    if (widths_.size() < cells.size()) widths_.resize(cells.size(), 0);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      cells[i] = core::shorten(core::sanitize(cells[i]), k_most_width);
      widths_[i] = std::max(widths_[i], cells[i].size());
    }
    rows_.push_back(std::move(cells));
  }
  std::size_t rows() const { return rows_.size() - 1; }
  std::string text() const {
    std::string out;
    for (const auto& row : rows_) {
      std::string line = "  ";
      for (std::size_t i = 0; i < row.size(); ++i) {
        line += i == 0 ? fmt::format("{:<{}}", row[i], widths_[i])
                       : fmt::format("  {:>{}}", row[i], widths_[i]);
      }
      out += line + "\n";
    }
    return out;
  }

 private:
  static constexpr std::size_t k_most_width = 72;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> widths_;
};

std::string percent(double share) { return core::show_number(100 * share, 3) + " %"; }
std::string type_of(const tensors::ElementType* type) {
  return type == nullptr ? "?" : core::lower(std::string(type->name));
}
std::string size_text(std::uint64_t bytes) { return core::show_bytes(static_cast<double>(bytes)); }

std::string left_out(std::size_t rows, std::size_t all) {
  return all > rows ? fmt::format("  ... and {} more (--most)\n", all - rows) : std::string();
}

std::string survey_by_kind(const checkpoint::Checkpoint& checkpoint,
                           const checkpoint::Survey& survey) {
  struct Sum {
    std::size_t tensors = 0;
    std::uint64_t elements = 0;
    std::map<std::string, std::size_t> types;
    double max_abs = 0;
    std::uint64_t bad = 0;
  };
  std::map<checkpoint::TensorKind, Sum> kinds;
  for (const checkpoint::SurveyedTensor& each : survey.tensors) {
    const tensors::Tensor& tensor = checkpoint.tensors[each.tensor];
    Sum& sum = kinds[each.kind];
    ++sum.tensors;
    sum.elements += tensor.count;
    ++sum.types[type_of(tensor.type)];
    if (!each.stats) continue;
    sum.max_abs = std::max(sum.max_abs, each.stats->max_abs);
    sum.bad += each.stats->nan + each.stats->inf;
  }
  Table table({"kind", "tensors", "elements", "dtype", "largest", "NaN/Inf"});
  for (const auto& [kind, sum] : kinds) {
    std::string types;
    for (const auto& [type, count] : sum.types) types += (types.empty() ? "" : " + ") + type;
    table.add({std::string(name(kind)), std::to_string(sum.tensors), std::to_string(sum.elements),
               types, core::show_number(sum.max_abs), std::to_string(sum.bad)});
  }
  return table.text();
}

/// The worst first: non-finite, all zero, then by magnitude.
bool more_notable(const checkpoint::SurveyedTensor& a, const checkpoint::SurveyedTensor& b) {
  const auto rank = [](const checkpoint::SurveyedTensor& each) {
    return each.nonfinite() ? 0 : each.all_zero() ? 1 : !each.stats ? 3 : 2;
  };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  return a.stats && b.stats && a.stats->max_abs > b.stats->max_abs;
}

bool moved_less(const checkpoint::TensorDiff& a, const checkpoint::TensorDiff& b) {
  if (a.compared != b.compared) return !a.compared;
  return a.changed_frac() < b.changed_frac();
}

std::string names_line(const char* what, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  std::string line = fmt::format("{} ({}):", what, names.size());
  for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 5); ++i) {
    line += " " + core::shorten(core::sanitize(names[i]), 60);
  }
  return line + (names.size() > 5 ? " ...\n" : "\n");
}

std::string lora_lines(const checkpoint::CheckpointDiff& diff) {
  if (diff.lora.empty()) return {};
  std::size_t a = 0;
  std::size_t b = 0;
  std::size_t zero = 0;
  for (const checkpoint::LoraPair& pair : diff.lora) {
    a += pair.a_moved ? 1U : 0U;
    b += pair.b_moved ? 1U : 0U;
    zero += pair.product_zero ? 1U : 0U;
  }
  return fmt::format("\nLoRA: {} modules; A moved in {}, B moved in {}, product is zero in {}\n",
                     diff.lora.size(), a, b, zero);
}

std::string outlook_line(const checkpoint::Precision& own) {
  if (own.frozen() == 0) return {};
  std::size_t surely = 0;
  for (const checkpoint::TensorPrecision& each : own.tensors)
    surely += each.stays() && each.bound < 1 ? 1U : 0U;
  return fmt::format(
      "Over the next {} steps {} of them are expected to stay frozen{}; {} of these cannot be "
      "moved "
      "by any update that the optimizer is able to make.\n",
      own.steps, own.stays(), own.warming ? " (at the peak of the warm-up)" : "", surely);
}

}  // namespace

std::string survey_table(const checkpoint::Checkpoint& checkpoint, const checkpoint::Survey& survey,
                         std::size_t most) {
  std::string out =
      fmt::format("{}: {} tensors, {} elements, {}\n\n", core::sanitize(checkpoint.path),
                  checkpoint.tensors.size(), survey.elements, size_text(checkpoint.weight_bytes()));
  out += survey_by_kind(checkpoint, survey);
  std::vector<const checkpoint::SurveyedTensor*> order;
  for (const checkpoint::SurveyedTensor& each : survey.tensors) order.push_back(&each);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return more_notable(*a, *b); });
  Table table({"tensor", "dtype", "shape", "norm", "largest", "zeros", "NaN/Inf"});
  for (const checkpoint::SurveyedTensor* const next : order) {
    if (table.rows() >= most) break;
    const checkpoint::SurveyedTensor& each = *next;
    const tensors::Tensor& tensor = checkpoint.tensors[each.tensor];
    if (!each.stats) {
      table.add({tensor.name, type_of(tensor.type), tensors::show_shape(tensor.shape), "-", "-",
                 "-", "-"});
      continue;
    }
    table.add({tensor.name, type_of(tensor.type), tensors::show_shape(tensor.shape),
               core::show_number(std::sqrt(each.stats->sum_squares)),
               core::show_number(each.stats->max_abs), std::to_string(each.stats->zeros),
               std::to_string(each.stats->nan + each.stats->inf)});
  }
  return out + "\n" + table.text() + left_out(table.rows(), order.size());
}

std::string diff_table(const checkpoint::CheckpointDiff& diff, std::size_t most) {
  std::string out = fmt::format("{} of {} tensors moved, {} did not\n\n",
                                diff.trainable() - diff.frozen(), diff.trainable(), diff.frozen());
  Table kinds({"kind", "tensors", "frozen", "elements", "changed"});
  for (const checkpoint::KindDiff& kind : diff.kinds) {
    const double share =
        kind.elements == 0 ? 0
                           : static_cast<double>(kind.changed) / static_cast<double>(kind.elements);
    kinds.add({std::string(name(kind.kind)), std::to_string(kind.tensors),
               std::to_string(kind.frozen), std::to_string(kind.elements), percent(share)});
  }
  out += kinds.text() + "\n";
  // Places, not copies: there may be 200,000 of them.
  std::vector<const checkpoint::TensorDiff*> order;
  for (const checkpoint::TensorDiff& each : diff.tensors) order.push_back(&each);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return moved_less(*a, *b); });
  Table table({"tensor", "dtype", "shape", "changed", "largest", "ULPs", "relative"});
  for (const checkpoint::TensorDiff* const next : order) {
    if (table.rows() >= most) break;
    const checkpoint::TensorDiff& each = *next;
    if (!each.compared) {
      table.add({each.name, type_of(each.type), tensors::show_shape(each.shape), each.note});
      continue;
    }
    const double relative =
        each.before_squares > 0 ? std::sqrt(each.sum_squares / each.before_squares) : 0;
    table.add({each.name, type_of(each.type), tensors::show_shape(each.shape),
               each.frozen() ? "frozen" : percent(each.changed_frac()),
               core::show_number(each.max_abs), std::to_string(each.max_ulps),
               core::show_number(relative)});
  }
  out += table.text() + left_out(table.rows(), order.size()) + lora_lines(diff);
  return out + names_line("only in the first", diff.only_before) +
         names_line("only in the second", diff.only_after);
}

std::string precision_table(const checkpoint::Precision& own, const checkpoint::Precision& in_bf16,
                            const checkpoint::Precision& in_fp32, std::size_t most) {
  if (!own.why_not.empty()) return "No prediction: " + own.why_not + ".\n";
  std::string out = fmt::format(
      "Of the next optimizer step's updates {} would round away; {} of {} tensors lose all of "
      "theirs and stay as they are.\n",
      percent(own.lost_frac()), own.frozen(), own.tensors.size());
  out += outlook_line(own);
  out += fmt::format(
      "The same step on weights in bf16: {} lost, {} tensors frozen; in fp32: {} "
      "lost, {} frozen.\n",
      percent(in_bf16.lost_frac()), in_bf16.frozen(), percent(in_fp32.lost_frac()),
      in_fp32.frozen());
  if (own.used_peak) {
    out += "The schedule has ended (learning rate 0): its peak learning rate was taken.\n";
  }
  if (!own.certain) {
    out +=
        "optimizer.pt numbers its parameters: names were matched by shape and order; those "
        "marked ? could be another tensor of the same shape.\n";
  }
  Table table({"tensor", "kind", "format", "lr", "lost", "ahead", "mean update", "spacing"});
  for (const checkpoint::TensorPrecision& each : own.tensors) {
    if (table.rows() >= most) break;
    table.add({each.name + (each.sure ? "" : " ?"), std::string(name(each.kind)),
               std::string(numerics::spec_of(each.format).name), core::show_number(each.lr),
               percent(each.lost.lost_frac()), each.stays() ? "frozen" : "moves",
               core::show_number(each.lost.mean_update), core::show_number(each.lost.mean_gap)});
  }
  out += "\n" + table.text() + left_out(table.rows(), own.tensors.size());
  if (own.price.parameters > 0) {
    out += fmt::format(
        "\nThe fix, for {} parameters in 16 bits: weights in fp32 with autocast take {} more for "
        "weights, {} for gradients, {} for moments;\nfp32 master weights beside them take {} "
        "more.\n",
        own.price.parameters, size_text(own.price.weights_bytes), size_text(own.price.grads_bytes),
        size_text(own.price.moments_bytes), size_text(own.price.copy_bytes));
  }
  return out;
}

/// What the state of a group's parameters says of its optimizer; those of one's own making have other
/// names for it.
std::string kind_of_group(const checkpoint::OptimizerState& optimizer,
                          const checkpoint::OptimizerGroup& group) {
  for (const std::int64_t id : group.parameters) {
    const checkpoint::ParameterState* state = optimizer.state(id);
    if (state == nullptr) continue;
    if (state->tensors.count("exp_avg_sq") > 0) return "Adam";
    if (state->tensors.count("exp_avg") > 0) return "Lion";
    if (state->tensors.count("momentum_buffer") > 0)
      return group.numbers.count("ns_steps") > 0 ? "Muon" : "momentum";
  }
  return "-";
}

std::string optimizer_table(const checkpoint::Checkpoint& checkpoint,
                            const checkpoint::ParameterMap& map, std::size_t most) {
  if (!checkpoint.optimizer) return "No optimizer state in this checkpoint.\n";
  const checkpoint::OptimizerState& optimizer = *checkpoint.optimizer;
  const auto number = [](const checkpoint::OptimizerGroup& group, const char* key) {
    const auto found = group.numbers.find(key);
    return found == group.numbers.end() ? std::string("-") : core::show_number(found->second);
  };
  std::string out =
      fmt::format("{}: {} groups{}, state of {} parameters\n\n", core::sanitize(optimizer.path),
                  optimizer.groups.size(),
                  optimizer.optimizers > 1 ? fmt::format(" of {} optimizers", optimizer.optimizers)
                                           : std::string(),
                  optimizer.states.size());
  Table groups({"group", "kind", "parameters", "with state", "lr", "initial lr", "weight decay",
                "betas", "eps", "steps"});
  for (std::size_t i = 0; i < optimizer.groups.size(); ++i) {
    const checkpoint::OptimizerGroup& group = optimizer.groups[i];
    std::size_t held = 0;
    std::optional<double> least;
    std::optional<double> steps;
    for (const std::int64_t id : group.parameters) {
      const checkpoint::ParameterState* state = optimizer.state(id);
      if (state == nullptr) continue;
      ++held;
      if (!state->step) continue;
      least = std::min(least.value_or(*state->step), *state->step);
      steps = std::max(steps.value_or(*state->step), *state->step);
    }
    const std::string range =
        !steps             ? "-"
        : *least == *steps ? core::show_number(*steps, 9)
                           : core::show_number(*least, 9) + ".." + core::show_number(*steps, 9);
    groups.add({std::to_string(i), kind_of_group(optimizer, group),
                std::to_string(group.parameters.size()), std::to_string(held), number(group, "lr"),
                number(group, "initial_lr"), number(group, "weight_decay"),
                number(group, "beta1") + ", " + number(group, "beta2"), number(group, "eps"),
                range});
  }
  out += groups.text() + "\n";
  Table table({"parameter", "tensor", "state", "dtype", "norm"});
  for (const checkpoint::MappedParameter& each : map.parameters) {
    if (table.rows() >= most) break;
    if (each.state == nullptr) {
      table.add({std::to_string(each.id), "-", "none: it never had a gradient"});
      continue;
    }
    const std::string tensor =
        each.tensor ? checkpoint.tensors[*each.tensor].name + (each.sure ? "" : " ?") : "-";
    for (const auto& [key, at] : each.state->tensors) {
      const tensors::Tensor& moment = optimizer.tensors[at];
      const auto stats = tensors::scan_tensor(moment);
      table.add({std::to_string(each.id), tensor, key, type_of(moment.type),
                 stats ? core::show_number(stats->norm()) : "-"});
    }
  }
  out += table.text();
  std::vector<std::string> unheld;
  for (const std::size_t i : map.unheld) unheld.push_back(checkpoint.tensors[i].name);
  return out + names_line("weights that no optimizer holds", unheld);
}

std::string resume_table(const checkpoint::ResumeAudit& audit) {
  std::string out;
  for (const checkpoint::ResumePart& part : audit.parts) {
    out += fmt::format("  {:<14} {}  {}\n", part.role, part.present ? "there  " : "missing",
                       part.present ? part.detail : part.consequence);
  }
  for (const std::string& each : audit.disagreements) out += "  disagree: " + each + "\n";
  return out;
}

}  // namespace aplomb::cli
