#include <fmt/format.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/topics.h"
#include "core/text.h"
#include "report/terminal_text.h"

namespace aplomb::cli {
namespace {

std::string_view one_of(std::string_view kind) {
  for (const TopicKind& each : topic_kinds()) {
    if (each.name == kind) return each.one;
  }
  return kind;
}

std::string page_of(const Topic& topic, std::size_t width, const report::Paint& paint) {
  std::string out = paint(report::Style::bold, topic.slug) + "  " +
                    paint(report::Style::dim, std::string(one_of(topic.kind))) + "\n";
  for (const TopicPart& part : explain_topic(topic)) {
    out += "\n" + paint(report::Style::accent, part.heading) + "\n";
    if (!part.text.empty()) {
      for (const std::string& line : report::wrap(part.text, width - 2)) out += "  " + line + "\n";
    }
    for (const std::string& item : part.items) {
      const auto lines = report::wrap(item, width - 4);
      for (std::size_t i = 0; i < lines.size(); ++i)
        out += (i == 0 ? "  " : "    ") + lines[i] + "\n";
    }
  }
  return out;
}

class ExplainCommand : public Command {
 public:
  void declare(const arguments::Verb& program) override {
    verb_ = program.verb("explain",
                         "Explain a word of a report: a symptom, cause, setting, error, ...");
    verb_.option("SLUG", slug_, "a name from a report or from aplomb list").required();
    verb_.footer(
        "Examples:\n"
        "  aplomb explain loss.spike          how a symptom is found, with every threshold's "
        "source\n"
        "  aplomb explain nan.lr-too-high     what a cause is, its evidence and remedies\n"
        "  aplomb explain optim.grad_clip     what each framework calls a setting\n"
        "  aplomb explain cuda-oom            which causes an error message points to");
  }

  int run() override {
    const std::vector<Topic> found = find_topics(slug_);
    if (found.empty()) return not_found();
    const report::Paint paint(wants_colour("auto"));
    std::string out;
    for (const Topic& topic : found) {
      if (!out.empty()) out += "\n";
      out += page_of(topic, static_cast<std::size_t>(terminal_width()), paint);
    }
    if (const auto done = write_out(out); !done) {
      complain(done.error().text);
      return k_exit_usage;
    }
    return k_exit_healthy;
  }

 private:
  int not_found() const {
    const std::vector<std::string> near = near_names(slug_);
    std::string line = "nothing is called \"" + core::shorten(core::sanitize(slug_), 60) + "\"";
    if (near.empty()) {
      line += "; aplomb list shows every name";
    } else {
      line += fmt::format("; near to it: {}", fmt::join(near, ", "));
    }
    complain(line);
    return k_exit_usage;
  }

  std::string slug_;
};

}  // namespace

std::unique_ptr<Command> make_explain_command() { return std::make_unique<ExplainCommand>(); }

}  // namespace aplomb::cli
