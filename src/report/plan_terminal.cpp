#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/pair_table.h"
#include "core/text.h"
#include "report/plan_view.h"
#include "report/terminal_page.h"

namespace aplomb::report {
namespace {

constexpr double k_gib = 1024.0 * 1024 * 1024;

/// The letter that stands for a row in the bar, one a row name.
char letter_of(std::string_view name) {
  static constexpr std::pair<std::string_view, char> k_letters[] = {
      {"weights", 'W'},   {"adapter", 'D'},     {"cast-weights", 'B'}, {"gradients", 'G'},
      {"optimizer", 'O'}, {"activations", 'A'}, {"scores", 'S'},       {"logits", 'L'},
      {"passing", 'T'},   {"gathered", 'R'},    {"cache", 'K'},        {"context", 'C'},
      {"margin", 'F'}};
  return core::second_of(k_letters, name).value_or('?');
}

std::string show_time(double seconds) {
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 120) return fmt::format("{:.3g} s", seconds);
  if (seconds < 7200) return fmt::format("{:.3g} min", seconds / 60);
  return fmt::format("{:.3g} h", seconds / 3600);
}

class PlanPage : private TerminalPage {
 public:
  PlanPage(const PlanView& view, const RenderOptions& options)
      : TerminalPage(options), view_(view), plan_(view.plan), rows_(plan_rows(plan_)) {}

  std::string text() {
    verdict();
    model();
    gap();
    bar();
    table();
    gap();
    speed();
    ladder();
    assumed();
    return std::move(out_);
  }

 private:
  void verdict() {
    const std::string peak =
        plan_.step.peak_at == "optimizer step" ? "the optimizer step" : plan_.step.peak_at;
    if (plan_.capacity_bytes <= 0) {
      row(Style::accent, "NEEDS", Style::bold,
          fmt::format("{:.1f} GiB a GPU, at the peak in {}; no card was named (--gpu)",
                      plan_.needed_bytes / k_gib, peak));
      return;
    }
    const std::string text =
        fmt::format("{:.1f} of {:.0f} GiB on {}, at the peak in {}", plan_.needed_bytes / k_gib,
                    plan_.capacity_bytes / k_gib, plan_.gpu.empty() ? "the card" : plan_.gpu, peak);
    row(plan_.fits ? Style::good : Style::bad, plan_.fits ? "FITS" : "TOO LARGE", Style::bold,
        text);
  }

  void model() {
    const plan::ModelShape& shape = plan_.shape;
    const plan::Training& training = plan_.training;
    std::string text = fmt::format("{}{}{} parameters", shape.name, shape.name.empty() ? "" : ", ",
                                   show_count(plan_.step.parameters));
    if (shape.experts.count > 0)
      text += fmt::format(" ({} active)", show_count(plan::active_parameters_of(shape)));
    text +=
        fmt::format("; {}, {} trained", plan::describe(training), show_count(plan_.step.trained));
    row(Style::accent, "Model", Style::plain, core::sanitize(text));
    if (!shape.known_family) {
      more(Style::warn, fmt::format("`{}` is no family that is known here: taken as Llama-like, "
                                    "within {:.0f} %",
                                    shape.type.empty() ? "its type" : core::sanitize(shape.type),
                                    100 * shape.error));
    }
    if (shape.known_family && shape.error > 0.05) {
      more(Style::warn, fmt::format("memory of `{}` models is planned within {:.0f} %",
                                    core::sanitize(shape.type), 100 * shape.error));
    }
    std::string batch =
        fmt::format("{:.0f} x {:.0f} tokens", training.batch.micro, training.batch.length);
    if (training.batch.accumulation > 1)
      batch += fmt::format(" x {:.0f} passes", training.batch.accumulation);
    if (training.parallelism.gpus > 1) batch += fmt::format(" x {:.0f} ranks", training.ranks());
    row(Style::accent, "Step", Style::plain,
        fmt::format(
            "{} = {} tokens; {} weights{}, {} attention, checkpointing {}{}", batch,
            show_count(plan_.step.tokens), training.precision.stored == 4 ? "fp32" : "16-bit",
            training.precision.autocast > 0 ? ", 16-bit autocast" : "",
            training.kernels.attention_name, training.checkpointing ? "on" : "off", sharding()));
  }

  std::string sharding() const {
    const plan::Training& training = plan_.training;
    std::string out;
    if (training.parallelism.fsdp)
      out += ", FSDP";
    else if (training.parallelism.zero > 0)
      out += fmt::format(", ZeRO-{}", training.parallelism.zero);
    else if (training.parallelism.ddp)
      out += ", DDP";
    if (training.parallelism.tensor > 1)
      out += fmt::format(", tensor parallel {:.0f}", training.parallelism.tensor);
    if (training.parallelism.context > 1)
      out += fmt::format(", context parallel {:.0f}", training.parallelism.context);
    if (training.parallelism.pipeline > 1)
      out += fmt::format(", pipeline {:.0f}", training.parallelism.pipeline);
    if (training.offload.optimizer) out += ", optimizer on the host";
    return out;
  }
  void more(Style style, std::string_view text) { row(Style::plain, "", style, text); }

  /// One letter a share of the card; `|` where the card ends, `.` what stays free.
  void bar() {
    const double whole = std::max(plan_.capacity_bytes, plan_.needed_bytes);
    const auto cells = static_cast<double>(width_ - 2);
    std::string letters;
    double sum = 0;
    for (const PlanRow& each : rows_) {
      sum += each.bytes;
      const auto end = static_cast<std::size_t>(std::lround(sum / whole * cells));
      if (end > letters.size()) letters.append(end - letters.size(), letter_of(each.name));
    }
    letters.resize(static_cast<std::size_t>(cells), '.');
    PaintedLine painted(paint_);
    painted.add(Style::plain, "[");
    const double edge = plan_.capacity_bytes > 0 ? plan_.capacity_bytes / whole * cells : cells;
    for (std::size_t i = 0; i < letters.size(); ++i) {
      const bool beyond = static_cast<double>(i) >= edge;
      const Style style = beyond ? Style::bad : letters[i] == '.' ? Style::dim : Style::plain;
      painted.add(style, std::string(1, letters[i]));
    }
    painted.add(Style::plain, "]");
    line(painted.text());
    if (edge < cells - 1) {
      const auto column = static_cast<std::size_t>(std::max(1.0, edge));
      line(paint_(Style::bad, std::string(column, ' ') + "^ here the card ends"));
    }
  }

  void table() {
    for (const PlanRow& each : rows_) {
      const std::string head = fmt::format("{}  {:<33} {:>9}  ", letter_of(each.name),
                                           fit(each.meaning, 33), core::show_bytes(each.bytes));
      line(head + paint_(Style::dim, fit(each.detail, width_ - std::min(width_, columns(head)))));
    }
    if (plan_.step.host_bytes > 0) {
      line(fmt::format("   {:<33} {:>9}  on the host, for each GPU", "offloaded",
                       core::show_bytes(plan_.step.host_bytes)));
    }
  }

  void speed() {
    if (plan_.tokens_per_s <= 0) return;
    const plan::Step& step = plan_.step;
    row(Style::accent, "Speed", Style::plain,
        fmt::format("{} a step, {} tokens/s, MFU {:.0f} %, bound by {}; at best: every kernel at "
                    "its roofline{}",
                    show_time(step.step_s), show_count(plan_.tokens_per_s), 100 * plan_.mfu,
                    plan_.bound,
                    plan_.rates_verified ? "" : " (the card's figures could not be verified)"));
    const double all = step.step_s;
    std::string shares = fmt::format(
        "matrix products {:.0f} %, memory traffic {:.0f} %, optimizer "
        "{:.0f} %",
        100 * step.product_s / all, 100 * step.memory_s / all, 100 * step.optimizer_s / all);
    if (step.exchange_s > 0) {
      shares += fmt::format(", waiting for other GPUs {:.0f} % ({} exchanged, the rest hidden)",
                            100 * step.exposed_s / all, show_time(step.exchange_s));
    }
    if (step.host_s > 0)
      shares += fmt::format(", transfers to and from the host {:.0f} %", 100 * step.host_s / all);
    more(Style::dim, shares);
    if (!plan_.epoch_s) return;
    std::string epoch = fmt::format("{} an epoch", show_time(*plan_.epoch_s));
    if (plan_.epoch_cost) epoch += fmt::format(", {:.2f} at the price given", *plan_.epoch_cost);
    row(Style::accent, "Epoch", Style::plain, epoch);
  }

  void ladder() {
    if (!view_.asked_for_ladder) return;
    gap();
    if (view_.ladder.empty()) {
      row(Style::accent, "Ladder", Style::plain, "nothing left that would save memory");
      return;
    }
    line(paint_(Style::accent, "Ladder") +
         "    least disruptive first, each on top of those before it");
    bool marked = plan_.fits;
    for (std::size_t i = 0; i < view_.ladder.size(); ++i) {
      const plan::Rung& rung = view_.ladder[i];
      const bool first = rung.fits && !marked && plan_.capacity_bytes > 0;
      marked = marked || rung.fits;
      const std::string slow =
          rung.slowdown > 0 ? fmt::format(", time x {:.2f}", rung.slowdown) : "";
      row(first ? Style::good : Style::plain, fmt::format("{:>2} {}", i + 1, first ? "FITS" : ""),
          Style::plain,
          fmt::format("{}: saves {}, leaves {}{}", rung.text, core::show_bytes(rung.saved_bytes),
                      core::show_bytes(rung.needed_bytes), slow));
      const std::string set = rung_settings(view_, rung);
      for (std::size_t at = 0; at < set.size();) {
        const std::size_t end = std::min(set.find('\n', at), set.size());
        more(Style::dim, set.substr(at, end - at));
        at = end + 1;
      }
    }
    if (!marked && plan_.capacity_bytes > 0)
      row(Style::bad, "", Style::bold,
          "no rung is enough: more or larger cards, or a smaller model");
  }

  void assumed() {
    if (plan_.assumed.empty()) return;
    gap();
    std::string all;
    for (const plan::Assumption& each : plan_.assumed) all += (all.empty() ? "" : "; ") + each.text;
    row(Style::accent, "Assumed", Style::dim, all);
  }

  const PlanView& view_;
  const plan::Plan& plan_;
  std::vector<PlanRow> rows_;
};

}  // namespace

std::string plan_text(const PlanView& view, const RenderOptions& options) {
  return PlanPage(view, options).text();
}

}  // namespace aplomb::report
