#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/pair_table.h"
#include "core/text.h"
#include "core/version.h"
#include "report/html_text.h"
#include "report/page_assets.h"
#include "report/plan_view.h"

namespace aplomb::report {
namespace {

constexpr double k_gib = 1024.0 * 1024 * 1024;

/// Colours by what the bytes are for; light enough and dark enough for both of the page's themes.
std::string colour_of(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 13> k_colours = {{
      {"weights", "#3b7ea1"},
      {"adapter", "#69a6c4"},
      {"cast-weights", "#8fbfd6"},
      {"gradients", "#5b8c5a"},
      {"optimizer", "#8aa84f"},
      {"activations", "#c98a3c"},
      {"scores", "#a8642a"},
      {"logits", "#b5523b"},
      {"passing", "#d79b86"},
      {"gathered", "#7a6aa8"},
      {"cache", "#9c5f8f"},
      {"context", "#8a8f96"},
      {"margin", "#b9bcc0"},
  }};
  return std::string(core::second_of(k_colours, name).value_or("#8a8f96"));
}

constexpr const char* k_plan_style =
    ".stack{display:flex;height:2.1rem;border-radius:6px;overflow:hidden;background:var(--rule);"
    "margin:.35rem 0 .2rem;position:relative}"
    ".stack i{display:block;height:100%}"
    ".stack u{position:absolute;top:0;bottom:0;width:3px;background:var(--ink);"
    "box-shadow:0 0 0 1.5px var(--paper)}"
    ".plan{border-collapse:collapse;font-size:.92rem;width:100%;max-width:52rem}"
    ".plan td,.plan th{padding:.28rem .6rem .28rem 0;text-align:left;vertical-align:top;"
    "border-bottom:1px solid var(--rule)}"
    ".plan .n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".plan th{font-weight:600;color:var(--soft);font-size:.82rem}"
    ".key{display:inline-block;width:.8rem;height:.8rem;border-radius:3px;margin-right:.5rem;"
    "vertical-align:-.08rem}"
    ".plan code{white-space:nowrap}.wide{overflow-x:auto}.wide td:first-child{min-width:14rem}"
    ".fits td{font-weight:650}";

std::string head(const PlanView& view) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n"
      "<title>plan: {:.1f} GiB</title>\n<style>{}{}</style>\n</head>\n",
      view.plan.needed_bytes / k_gib, k_page_style, k_plan_style);
}

/// One bar of segments; a line where the card ends.
class Bar {
 public:
  Bar(double whole, double capacity) : whole_(whole), capacity_(capacity) {}

  void add(std::string_view name, std::string_view meaning, double bytes) {
    segments_ += fmt::format("<i style=\"width:{:.3f}%;background:{}\" title=\"{}: {}\"></i>",
                             100 * bytes / whole_, colour_of(name), escape(meaning),
                             core::show_bytes(bytes));
  }
  std::string html() const {
    std::string out = "<div class=\"stack\">" + segments_;
    if (capacity_ > 0 && capacity_ < whole_)
      out += fmt::format("<u style=\"left:{:.3f}%\" title=\"here the card ends\"></u>",
                         100 * capacity_ / whole_);
    return out + "</div>";
  }

 private:
  double whole_;
  double capacity_;
  std::string segments_;
};

std::string hero(const PlanView& view) {
  const plan::Plan& plan = view.plan;
  const bool known = plan.capacity_bytes > 0;
  const std::string title =
      known ? fmt::format("{:.1f} of {:.0f} GiB on {}", plan.needed_bytes / k_gib,
                          plan.capacity_bytes / k_gib, plan.gpu.empty() ? "the card" : plan.gpu)
            : fmt::format("{:.1f} GiB a GPU", plan.needed_bytes / k_gib);
  const std::string chip = !known ? "needs" : plan.fits ? "fits" : "too large";
  return fmt::format(
      "<header class=\"hero {}\"><span class=\"chip\">{}</span><h1>{}</h1><p class=\"lead\">{}"
      "{} parameters, {}, {} trained; {:.0f} x {:.0f} tokens a pass{}. The peak is in {}.</p>"
      "</header>\n",
      !known || plan.fits ? "healthy" : "failed", chip, escape(title), escape(plan.shape.name),
      (plan.shape.name.empty() ? "" : ", ") + show_count(plan.step.parameters),
      escape(plan::describe(plan.training)), show_count(plan.step.trained),
      plan.training.batch.micro, plan.training.batch.length,
      plan.training.parallelism.gpus > 1
          ? fmt::format(", {:.0f} GPUs", plan.training.parallelism.gpus)
          : "",
      escape(plan.step.peak_at));
}

std::string memory(const PlanView& view) {
  const plan::Plan& plan = view.plan;
  const double whole = std::max(plan.capacity_bytes, plan.needed_bytes);
  Bar bar(whole, plan.capacity_bytes);
  std::string table =
      "<table class=\"plan\"><tr><th>memory of one GPU</th><th class=\"n\">GiB</th><th></th></tr>";
  for (const PlanRow& row : plan_rows(plan)) {
    bar.add(row.name, row.meaning, row.bytes);
    table += fmt::format(
        "<tr><td><span class=\"key\" style=\"background:{}\"></span>{}</td><td class=\"n\">{:.2f}"
        "</td><td class=\"soft\">{}</td></tr>",
        colour_of(row.name), escape(row.meaning), row.bytes / k_gib, escape(row.detail));
  }
  return "<section><h2>Memory</h2>" + bar.html() + table + "</table></section>\n";
}

/// What the step holds at the peak of each of its stretches, one bar each.
std::string moments(const PlanView& view) {
  const plan::Plan& plan = view.plan;
  std::string out = "<section><h2>Through the step</h2>";
  for (const plan::Moment& moment : plan.step.moments) {
    Bar bar(std::max(plan.capacity_bytes, plan.needed_bytes), plan.capacity_bytes);
    for (std::size_t i = 0; i < plan::k_parts; ++i) {
      const auto part = static_cast<plan::Part>(i);
      if (moment.peak[part] >= 1) bar.add(name(part), meaning(part), moment.peak[part]);
    }
    out += fmt::format("<p class=\"small\">{}: {} of tensors</p>", escape(moment.name),
                       core::show_bytes(moment.peak.total())) +
           bar.html();
  }
  return out + "</section>\n";
}

std::string speed(const PlanView& view) {
  const plan::Plan& plan = view.plan;
  if (plan.tokens_per_s <= 0) return {};
  const plan::Step& step = plan.step;
  std::string out = fmt::format(
      "<section><h2>Speed, at best</h2><p>{:.3g} s a step, {} tokens/s, MFU {:.0f} %, bound by {}. "
      "Matrix products take {:.0f} % of it, memory traffic {:.0f} %, the optimizer {:.0f} %, "
      "waiting "
      "for other GPUs {:.0f} %.</p>",
      step.step_s, show_count(plan.tokens_per_s), 100 * plan.mfu, plan.bound,
      100 * step.product_s / step.step_s, 100 * step.memory_s / step.step_s,
      100 * step.optimizer_s / step.step_s, 100 * step.exposed_s / step.step_s);
  if (plan.epoch_s) {
    out += fmt::format("<p>An epoch takes {:.3g} h", *plan.epoch_s / 3600);
    if (plan.epoch_cost)
      out += fmt::format(" and costs {:.2f} at the price given", *plan.epoch_cost);
    out += ".</p>";
  }
  return out + "</section>\n";
}

std::string ladder(const PlanView& view) {
  if (view.ladder.empty()) return {};
  std::string out =
      "<section><h2>What would save memory</h2><p class=\"soft\">Least disruptive first, each on "
      "top "
      "of those before it.</p><div class=\"wide\"><table class=\"plan\"><tr><th>change</th><th "
      "class=\"n\">saves</th>"
      "<th class=\"n\">leaves</th><th class=\"n\">time</th><th>set</th></tr>";
  bool marked = view.plan.fits || view.plan.capacity_bytes <= 0;
  for (const plan::Rung& rung : view.ladder) {
    const bool first = rung.fits && !marked;
    marked = marked || rung.fits;
    const std::string set =
        "<code style=\"white-space:pre-line\">" + escape(rung_settings(view, rung)) + "</code>";
    out += fmt::format(
        "<tr{}><td>{}{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
        "<td>{}</td></tr>",
        first ? " class=\"fits\"" : "", escape(rung.text), first ? " (fits)" : "",
        core::show_bytes(rung.saved_bytes), core::show_bytes(rung.needed_bytes),
        rung.slowdown > 0 ? fmt::format("x {:.2f}", rung.slowdown) : "", set);
  }
  return out + "</table></div></section>\n";
}

std::string assumed(const PlanView& view) {
  if (view.plan.assumed.empty()) return {};
  std::string out = "<section><h2>Assumed</h2><p class=\"soft\">";
  for (const plan::Assumption& each : view.plan.assumed) out += escape(each.text) + "<br>";
  return out + "</p></section>\n";
}

}  // namespace

std::string plan_html(const PlanView& view) {
  return head(view) +
         "<body>\n<main class=\"page\">\n<div class=\"top\"><b>aplomb</b><span class=\"run\">plan"
         "</span></div>\n" +
         hero(view) + memory(view) + moments(view) + speed(view) + ladder(view) + assumed(view) +
         "<footer>aplomb " + escape(core::version()) +
         " \xC2\xB7 this page loads nothing and sends "
         "nothing</footer>\n</main>\n</body>\n</html>\n";
}

}  // namespace aplomb::report
