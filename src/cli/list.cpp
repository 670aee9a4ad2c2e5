#include <algorithm>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/topics.h"
#include "diagnosis/cause_book.h"
#include "report/terminal_text.h"

namespace aplomb::cli {
namespace {

class ListCommand : public Command {
 public:
  void declare(const arguments::Verb& program) override {
    verb_ = program.verb("list", "List what is known: readers, detectors, causes, ...");
    std::vector<std::string> kinds;
    for (const TopicKind& each : topic_kinds()) kinds.emplace_back(each.name);
    verb_.option("KIND", kind_, "which of them; without it, how many there are of each")
        .one_of(kinds);
    verb_.flag("--names", names_, "only the names, one a line (of every kind where none is given)");
    verb_.footer(
        "Examples:\n"
        "  aplomb list              how many there are of each kind\n"
        "  aplomb list causes       every cause, with its title\n"
        "  aplomb list --names      every name that aplomb explain takes");
  }

  int run() override {
    const auto done = write_out(names_ ? names() : kind_.empty() ? counts() : table());
    if (done) return k_exit_healthy;
    complain(done.error().text);
    return k_exit_usage;
  }

 private:
  std::string names() const {
    std::vector<std::string> all;
    for (const Topic& topic : topics(kind_)) {
      all.push_back(topic.slug);
      if (topic.kind == "detectors") all.insert(all.end(), topic.also.begin(), topic.also.end());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    std::string out;
    for (const std::string& each : all) out += each + "\n";
    return out;
  }

  static std::string counts() {
    std::string out;
    for (const TopicKind& kind : topic_kinds()) {
      const std::string count = std::to_string(topics(kind.name).size());
      out += std::string(5 - std::min<std::size_t>(5, count.size()), ' ') + count + "  ";
      out += std::string(kind.name) + std::string(12 - kind.name.size(), ' ');
      out += std::string(kind.meaning) + "\n";
    }
    return out + "\nBeside them " + heard() +
           "\naplomb list KIND names them, aplomb explain NAME explains one.\n";
  }

  /// Of sentences: subject times predicate, so nobody lists them.
  static std::string heard() {
    const std::vector<std::string> facts = diagnosis::declared_facts();
    const auto said = std::count_if(facts.begin(), facts.end(), [](const std::string& fact) {
      return fact.starts_with("said.");
    });
    return std::to_string(said) + " facts (said.*) can be heard in sentences.\n";
  }

  std::string table() const {
    const std::vector<Topic> all = topics(kind_);
    const auto width = static_cast<std::size_t>(terminal_width());
    std::size_t column = 0;
    for (const Topic& topic : all) column = std::max(column, report::columns(topic.slug));
    column = std::min(column, width / 2);
    const report::Paint paint(wants_colour("auto"));
    std::string out;
    for (const Topic& topic : all) {
      const std::size_t taken = report::columns(topic.slug);
      out += paint(report::Style::bold, topic.slug) +
             std::string(column > taken ? column - taken : 0, ' ') + "  ";
      const std::size_t used = std::max(column, taken) + 2;
      out += report::fit(topic.summary, width > used ? width - used : 20) + "\n";
    }
    return out;
  }

  std::string kind_;
  bool names_ = false;
};

}  // namespace

std::unique_ptr<Command> make_list_command() { return std::make_unique<ListCommand>(); }

}  // namespace aplomb::cli
