#include "knowledge/code_book.h"

#include <fmt/format.h>

#include <algorithm>

namespace aplomb::knowledge {
namespace {

constexpr std::string_view k_prefix = "code.";

class BookReader {
 public:
  explicit BookReader(CodeBook& book) : book_(book) {}

  void read() {
    for (const Entry& file : folder("code")) {
      for (const Node& entry : file.content.items()) add(entry);
    }
    order();
  }

 private:
  void wrong(const std::string& text) { book_.mistakes.push_back(id_ + ": " + text); }

  static CodePattern pattern(const Node& entry) {
    return {texts_of(entry, "any"),  texts_of(entry, "unless"), texts_of(entry, "then"),
            texts_of(entry, "has"),  texts_of(entry, "lacks"),  truth_of(entry, "indented"),
            truth_of(entry, "whole")};
  }

  void add(const Node& entry) {
    CodeEntry out;
    out.is_sign = !text_of(entry, "sign").empty();
    out.id = id_ = text_of(entry, out.is_sign ? "sign" : "id");
    if (!id_.starts_with(k_prefix)) wrong("does not begin with code.");
    if (book_.find(id_) != nullptr) wrong("stands twice");
    out.only_fragment = truth_of(entry, "only_fragment");
    if (out.is_sign) {
      out.patterns.push_back(pattern(entry));
    } else {
      read_finding(entry, out);
    }
    for (const CodePattern& each : out.patterns) {
      if (each.any.empty() == each.has.empty()) wrong("a pattern has either any or has");
    }
    book_.entries.push_back(std::move(out));
  }

  void read_finding(const Node& entry, CodeEntry& out) {
    out.title = text_of(entry, "title");
    out.because = text_of(entry, "because");
    out.fix = text_of(entry, "fix");
    out.same_as = text_of(entry, "same_as");
    out.from_capability = number_of(entry, "from_capability");
    out.before_capability = number_of(entry, "before_capability");
    const std::string level = text_of(entry, "level");
    out.is_mistake = level == "mistake";
    if (level != "mistake" && level != "suspicion") wrong("the level is mistake or suspicion");
    if (out.title.empty() || out.because.empty()) wrong("has no title or no because");
    read_severity(text_of(entry, "severity"), out);
    for (const auto& [cause, weight] : entry["supports"].members())
      out.supports.emplace_back(cause, weight.number().value_or(0));
    out.leads_to = texts_of(entry, "leads_to");
    if (out.leads_to.empty()) {
      for (const auto& [cause, weight] : out.supports) {
        if (weight > 0) out.leads_to.push_back(cause);
      }
    }
    for (const Node& each : list_of(entry, "fragment")) out.patterns.push_back(pattern(each));
    if (out.only_fragment && out.patterns.empty()) wrong("only_fragment without a pattern");
  }

  void read_severity(const std::string& text, CodeEntry& out) {
    using core::Severity;
    for (const Severity each :
         {Severity::note, Severity::warning, Severity::unstable, Severity::failed}) {
      if (name(each) == text) {
        out.severity = each;
        return;
      }
    }
    wrong("no severity '" + text + "'");
  }

  /// What a pattern is built on comes before it.
  void order() {
    std::vector<CodeEntry> waiting = std::move(book_.entries);
    book_.entries.clear();
    while (!waiting.empty()) {
      const std::size_t before = waiting.size();
      for (CodeEntry& each : waiting) {
        if (!is_ready(each)) continue;
        book_.entries.push_back(std::move(each));
        each.id.clear();
      }
      std::erase_if(waiting, [](const CodeEntry& each) { return each.id.empty(); });
      if (waiting.size() < before) continue;
      for (CodeEntry& each : waiting) {
        id_ = each.id;
        wrong("is built on something that is not there, or on itself");
      }
      return;
    }
  }

  bool is_ready(const CodeEntry& entry) const {
    return std::all_of(entry.patterns.begin(), entry.patterns.end(), [&](const CodePattern& each) {
      const auto there = [&](const std::string& id) { return book_.find(id) != nullptr; };
      return std::all_of(each.has.begin(), each.has.end(), there) &&
             std::all_of(each.lacks.begin(), each.lacks.end(), there);
    });
  }

  CodeBook& book_;
  std::string id_;
};

CodeBook read_book() {
  CodeBook book;
  BookReader(book).read();
  return book;
}

}  // namespace

const CodeEntry* CodeBook::find(std::string_view id) const {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const CodeEntry& entry) { return entry.id == id; });
  return found == entries.end() ? nullptr : &*found;
}

const CodeBook& code_book() {
  static const CodeBook book = read_book();
  return book;
}

std::string mistake_fact(std::string_view id) {
  return fmt::format("code.mistake.{}", id.substr(k_prefix.size()));
}

std::string filled_in(std::string_view text,
                      const std::vector<std::pair<std::string, std::string>>& values) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t end = text[at] == '{' ? text.find('}', at) : std::string_view::npos;
    if (end == std::string_view::npos) {
      out += text[at];
      continue;
    }
    const std::string_view name = text.substr(at + 1, end - at - 1);
    const auto found = std::find_if(values.begin(), values.end(),
                                    [&](const auto& each) { return each.first == name; });
    out += found == values.end() ? fmt::format("the {}", name) : found->second;
    at = end;
  }
  return out;
}

}  // namespace aplomb::knowledge
