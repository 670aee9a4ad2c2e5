#include "report/html_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "core/value.h"
#include "report/html_remedy.h"
#include "report/html_text.h"
#include "report/view.h"

namespace aplomb::report {
namespace {

std::string_view verdict_word(Verdict verdict) {
  return verdict == Verdict::insufficient_evidence ? "unclear" : name(verdict);
}

/// The first causes, each with its own bar: they need not exclude one another, so they do not share
/// one.
std::string odds(const Report& report) {
  constexpr std::size_t k_most = 4;
  constexpr double k_least = 0.02;
  std::string rows;
  const auto add = [&rows](double probability, const std::string& title) {
    rows += fmt::format(
        "<li><span class=\"percent\">{}</span><span class=\"bar\"><i "
        "style=\"width:{:.1f}%\"></i></span>"
        "<span>{}</span></li>",
        escape(show_percent(probability)), probability * 100, escape(title));
  };
  for (std::size_t i = 0; i < report.causes.size() && i < k_most; ++i) {
    if (i > 0 && report.causes[i].probability < k_least) break;
    add(report.causes[i].probability, cause_title(report, report.causes[i]));
  }
  if (report.unknown_probability >= k_least)
    add(report.unknown_probability, "something that aplomb does not know");
  return "<ul class=\"odds\">" + rows + "</ul>";
}

std::string evidence_list(const std::vector<Evidence>& list, const std::string& shared) {
  if (list.empty()) return {};
  std::string out = "<ul class=\"lines\">";
  for (const Evidence& each : list) {
    std::string where = escape(short_path(each.path, shared));
    if (each.line > 0) where += ":" + std::to_string(each.line);
    if (each.step) where += " \xC2\xB7 step " + std::to_string(*each.step);
    out += "<li><span class=\"where\">" + where + "</span>";
    if (!each.text.empty()) out += "<span class=\"text\">" + escape(each.text) + "</span>";
    out += "</li>";
  }
  return out + "</ul>";
}

std::string weights_table(const ReportCause& cause) {
  if (cause.weights.empty()) return {};
  double most = 1;
  for (const ReportWeight& each : cause.weights) most = std::max(most, std::fabs(each.weight));
  std::string rows;
  for (const ReportWeight& each : cause.weights) {
    const double half = std::fabs(each.weight) / most * 50;
    rows += fmt::format(
        "<tr><td class=\"number\">{:+.1f}</td><td><span class=\"weigh\"><i class=\"{}\" "
        "style=\"width:{:.1f}%\"></i></span></td><td>{}</td><td><code>{}</code></td></tr>",
        each.weight, each.weight < 0 ? "against" : "for", half, prose(each.because),
        escape(each.when));
  }
  return "<details><summary>Why " + escape(show_percent(cause.probability)) +
         "</summary><div class=\"inner\"><p class=\"soft small\">Each observation adds to or takes "
         "from the log-odds of this cause (in nats); the causes that explain the same symptom "
         "share "
         "100 %.</p><table class=\"cards\"><thead><tr><th class=\"number\">Weight</th><th></th>"
         "<th>Observed</th><th>Condition</th></tr></thead><tbody>" +
         rows + "</tbody></table></div></details>";
}

/// Where a reference leads: a link as it stands, an arXiv number to its page; empty for other
/// words.
std::string link_of(std::string_view reference) {
  constexpr std::string_view k_arxiv = "arXiv:";
  if (reference.find_first_of(" \"'<>") != std::string_view::npos) return {};
  if (reference.starts_with("https://")) return std::string(reference);
  if (!reference.starts_with(k_arxiv)) return {};
  return "https://arxiv.org/abs/" + std::string(reference.substr(k_arxiv.size()));
}

std::string references(const ReportCause& cause) {
  if (cause.references.empty()) return {};
  std::string out;
  for (const std::string& each : cause.references) {
    const std::string link = escape(link_of(each));
    if (!out.empty()) out += " \xC2\xB7 ";
    out += link.empty() ? prose(each)
                        : "<a href=\"" + link + "\" rel=\"noreferrer\">" + escape(each) + "</a>";
  }
  return "<p class=\"soft small\">" + out + "</p>";
}

std::string steps_of(const ReportSymptom& symptom) {
  if (symptom.series.empty()) return {};
  if (symptom.first_step == symptom.last_step) return fmt::format("step {}", symptom.first_step);
  return fmt::format("steps {}\xE2\x80\x93{}", symptom.first_step, symptom.last_step);
}

/// The test that tells the two first causes apart, then what to change by its outcome.
std::string either(const Report& report) {
  std::string out = "<section class=\"do\"><h2>What to do</h2>";
  if (const ReportExperiment* test = telling_experiment(report)) {
    out += "<p>" + prose(test->text) + "</p>";
    if (!test->reads.empty()) out += "<p class=\"soft\">" + prose(test->reads) + "</p>";
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const ReportCause& cause = report.causes[i];
    out +=
        fmt::format("<h3>If it is: {} <span class=\"percent\">{}</span></h3>",
                    escape(cause_title(report, cause)), escape(show_percent(cause.probability))) +
        remedies_html(cause.remedies, summary_text(report, "framework"));
  }
  return out + "</section>\n";
}

}  // namespace

std::string hero(const Report& report) {
  const std::string headline = summary_text(report, "headline");
  std::string title = headline;
  std::string lead;
  if (report.summary.contains("findings")) {
    lead = summary_text(report, "told");
  } else if (is_answered(report)) {
    title = needs_test(report)  ? "More than one cause fits; a test tells them apart"
            : is_either(report) ? claim(report)
                                : cause_claim(report.causes.front());
    lead = seen_text(report);
  } else if (report.verdict == Verdict::healthy) {
    title = "This run learns, and nothing speaks against it";
    lead = seen_text(report);
  } else if (report.verdict == Verdict::insufficient_evidence) {
    title = "Not enough evidence to name a cause";
    lead = seen_text(report);
  }
  std::string out =
      fmt::format("<header class=\"hero {}\"><span class=\"chip\">{}</span><h1>{}</h1>",
                  name(report.verdict), verdict_word(report.verdict), escape(title));
  if (!lead.empty() && lead != title) out += "<p class=\"lead\">" + prose(lead) + "</p>";
  if (!report.causes.empty() && report.verdict != Verdict::healthy) out += odds(report);
  return out + "</header>\n";
}

std::string action(const Report& report) {
  const std::string first_action = summary_text(report, "first_action");
  if (!is_answered(report) || report.causes.front().remedies.empty()) {
    if (first_action.empty()) return {};
    const bool healthy = report.verdict == Verdict::healthy;
    const std::string bring = summary_text(report, "bring");
    return fmt::format("<section class=\"do\"><h2>{}</h2><p>{}</p>{}</section>\n",
                       healthy ? "What to do" : "What to do next", prose(first_action),
                       bring.empty() ? "" : "<p><b>Bring</b> " + prose(bring) + "</p>");
  }
  if (needs_test(report)) return either(report);
  const ReportCause& cause = report.causes.front();
  std::string out = "<section class=\"do\"><h2>What to change</h2>" +
                    remedies_html(cause.remedies, summary_text(report, "framework"));
  if (!cause.verify.empty()) {
    out += "<p class=\"verify\"><b>It worked when</b> " + prose(cause.verify) + "</p>";
  }
  return out + "</section>\n";
}

std::string before(const Report& report) {
  const std::string text = seen_before_text(report);
  return text.empty() ? text
                      : "<section><h2>Seen before</h2><p>" + escape(text) + "</p></section>\n";
}

std::string why(const Report& report) {
  if (!is_answered(report)) return {};
  const ReportCause& cause = report.causes.front();
  std::string out = "<section><h2>Why</h2>";
  if (!cause.because.empty()) out += "<p>" + prose(cause.because) + "</p>";
  out += evidence_list(cause.evidence.empty() && !report.symptoms.empty()
                           ? report.symptoms.front().evidence
                           : cause.evidence,
                       shared_folder(report));
  return out + "<p></p>" + weights_table(cause) + references(cause) + "</section>\n";
}

std::string symptoms(const Report& report) {
  if (report.symptoms.empty()) return {};
  std::string out = "<section><h2>What was seen</h2><ul class=\"symptoms\">";
  for (const ReportSymptom& each : report.symptoms) {
    const std::string steps = steps_of(each);
    out += "<li class=\"" + escape(each.severity) + "\">" + prose(each.summary);
    if (!steps.empty()) out += " <span class=\"where\">" + steps + "</span>";
    out += "</li>";
  }
  return out + "</ul></section>\n";
}

std::string other_causes(const Report& report) {
  const std::size_t from = is_either(report) ? 2 : is_answered(report) ? 1 : 0;
  if (report.verdict == Verdict::healthy || report.causes.size() <= from) return {};
  std::string out =
      "<section><h2>" + std::string(from > 0 ? "Other causes" : "Possible causes") + "</h2>";
  const std::string framework = summary_text(report, "framework");
  for (std::size_t i = from; i < report.causes.size(); ++i) {
    const ReportCause& cause = report.causes[i];
    if (i >= 3 && cause.probability < 0.01) break;
    out += "<details><summary><span class=\"percent\">" + escape(show_percent(cause.probability)) +
           "</span><span>" + escape(cause_title(report, cause)) +
           "</span></summary><div class=\"inner\">";
    if (!cause.because.empty()) out += "<p>" + prose(cause.because) + "</p>";
    out += remedies_html(cause.remedies, framework) +
           evidence_list(cause.evidence, shared_folder(report)) + references(cause) +
           "</div></details>";
  }
  return out + "</section>\n";
}

std::string ruled_out(const Report& report) {
  if (report.ruled_out.empty() || report.verdict == Verdict::healthy) return {};
  const std::string shared = shared_folder(report);
  std::string out = "<section><h2>Ruled out</h2>";
  for (const ReportRuledOut& each : report.ruled_out) {
    out += "<details><summary><span>" + escape(each.title) + "</span> <span class=\"soft\">" +
           prose(each.because) + "</span></summary><div class=\"inner\">" +
           evidence_list(each.evidence, shared) + "</div></details>";
  }
  return out + "</section>\n";
}

std::string health(const Report& report) {
  const auto list = [&](const char* title, const std::vector<ReportHealthFinding>& found) {
    if (found.empty()) return std::string();
    std::string rows;
    for (const ReportHealthFinding& each : found) rows += "<li>" + prose(each.because) + "</li>";
    return fmt::format("<h3>{}</h3><ul>{}</ul>", title, rows);
  };
  const bool healthy = report.verdict == Verdict::healthy;
  if (!healthy && report.verdict != Verdict::insufficient_evidence) return {};
  const std::string told = list("What shows that it learns", report.health.shown) +
                           (healthy ? "" : list("What speaks against it", report.health.against)) +
                           (healthy ? "" : list("What is missing", report.health.missing));
  return told.empty() ? told : "<section><h2>In order?</h2>" + told + "</section>\n";
}

std::string experiments(const Report& report) {
  if (report.experiments.empty() || report.verdict == Verdict::healthy) return {};
  const ReportExperiment* told = needs_test(report) ? telling_experiment(report) : nullptr;
  if (told != nullptr && report.experiments.size() == 1) return {};
  std::string out = "<section><h2>To be sure</h2><ol class=\"fixes\">";
  for (const ReportExperiment& each : report.experiments) {
    if (&each == told) continue;
    out += "<li>" + prose(each.text);
    if (!each.reads.empty()) out += "<p class=\"soft\">" + prose(each.reads) + "</p>";
    out += "</li>";
  }
  return out + "</ol></section>\n";
}

std::string runs(const Report& report) {
  if (report.runs.size() < 2) return {};
  std::string rows;
  for (const ReportRun& run : report.runs) {
    rows += fmt::format(
        "<tr><td>{}</td><td class=\"{}\"><span class=\"chip\">{}</span></td><td>{}</td></tr>",
        escape(run.name), name(run.verdict), verdict_word(run.verdict), prose(run.headline));
  }
  return "<section><h2>Runs</h2><table class=\"cards\"><thead><tr><th>Run</th><th>Verdict</th>"
         "<th>What happened</th></tr></thead><tbody>" +
         rows + "</tbody></table></section>\n";
}

std::string inputs(const Report& report) {
  if (report.inputs.empty()) return {};
  std::string rows;
  std::size_t doubtful = 0;
  for (const ReportInput& input : report.inputs) {
    std::string warnings;
    for (const std::string& each : input.warnings)
      warnings += fmt::format("<li>{}</li>", escape(each));
    if (!warnings.empty()) warnings = "<ul class=\"warn\">" + warnings + "</ul>";
    doubtful += input.warnings.empty() ? 0 : 1;
    rows += fmt::format(
        "<tr><td class=\"mono\">{}{}</td><td>{}</td><td class=\"number\">{}</td></tr>",
        escape(input.path), warnings, escape(input.kind == "unknown" ? "not read" : input.kind),
        input.steps == 0 ? std::string() : fmt::format("{} samples", input.steps));
  }
  std::string title = fmt::format("What was read ({} file{})", report.inputs.size(),
                                  report.inputs.size() == 1 ? "" : "s");
  if (doubtful > 0) title += fmt::format(", {} not wholly", doubtful);
  return fmt::format(
      "<details{}><summary>{}</summary><div class=\"inner\"><table "
      "class=\"cards\"><thead><tr><th>File</th>"
      "<th>Kind</th><th class=\"number\">Longest "
      "series</th></tr></thead><tbody>{}</tbody></table></div></details>\n",
      doubtful > 0 ? " open" : "", title, rows);
}

std::string settings(const Report& report) {
  if (report.settings.empty()) return {};
  std::string rows;
  for (const auto& [key, value] : report.settings) {
    rows += "<tr><td class=\"mono\">" + escape(key) + "</td><td class=\"mono\">" +
            escape(core::show(value)) + "</td></tr>";
  }
  return fmt::format(
      "<details><summary>Settings ({})</summary><div class=\"inner\"><table><tbody>{}</tbody>"
      "</table></div></details>\n",
      report.settings.size(), rows);
}

}  // namespace aplomb::report
