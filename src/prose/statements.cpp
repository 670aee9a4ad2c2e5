#include "prose/statements.h"

#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "core/literal_filter.h"
#include "core/text.h"
#include "knowledge/document.h"
#include "knowledge/setting.h"

namespace aplomb::prose {
namespace {

using knowledge::Node;

struct Statement {
  std::unique_ptr<re2::RE2> pattern;  // null: the literal is enough
  bool people = false;                // counts only in texts that people write
  std::vector<std::pair<std::string, std::string>>
      set;  // value as text; `$1` is what the pattern caught
};

std::string value_text(const Node& value) {
  return value.text() ? std::string(*value.text()) : value.json();
}

Statement load(const Node& entry) {
  Statement statement;
  const std::string pattern = knowledge::text_of(entry, "pattern");
  if (!pattern.empty()) {
    re2::RE2::Options quiet;
    quiet.set_log_errors(false);
    quiet.set_case_sensitive(false);
    statement.pattern = std::make_unique<re2::RE2>(pattern, quiet);
  }
  statement.people = knowledge::text_of(entry, "by") == "people";
  for (const auto& [setting, value] : entry["set"].members())
    statement.set.emplace_back(std::string(setting), value_text(value));
  return statement;
}

enum Owner : std::uint32_t {
  k_statement = 0,
  k_framework = 1U << 24U,
  k_call = 2U << 24U,
  k_environment = 3U << 24U
};
constexpr std::uint32_t k_index = (1U << 24U) - 1;

struct Literals {
  core::LiteralFilter filter;
  std::vector<Statement> statements;

  Literals() {
    for (const Node& entry : knowledge::file("statements.yaml").items()) {
      for (const std::string& piece : knowledge::texts_of(entry, "has")) {
        filter.add(piece, k_statement | static_cast<std::uint32_t>(statements.size()));
      }
      statements.push_back(load(entry));
    }
    const auto& frameworks = knowledge::frameworks();
    for (std::size_t i = 0; i < frameworks.size(); ++i) {
      for (const std::string& piece : frameworks[i].detect)
        filter.add(piece, k_framework | static_cast<std::uint32_t>(i));
      const std::size_t dot = frameworks[i].call.rfind('.');
      const std::string usual = frameworks[i].call.substr(dot == std::string::npos ? 0 : dot + 1);
      if (!usual.empty()) filter.add(usual + "(", k_call);
      for (const std::string& call : frameworks[i].calls) filter.add(call + "(", k_call);
    }
    for (const std::string_view piece :
         {"nvidia", "geforce", "tesla ", "driver version", "gpu 0:", "gpu name", "gpu type",
          "device name", "[pip3]", "[conda]", "torch==", "transformers==", "peft==", "accelerate==",
          "deepspeed==", "bitsandbytes==", "pytorch: ", "cudnn: "}) {
      filter.add(piece, k_environment);
    }
    filter.build();
  }
};

const Literals& the_literals() {
  static const Literals literals;
  return literals;
}

}  // namespace

LiteralHits find_literals(std::string_view line) {
  LiteralHits hits;
  the_literals().filter.scan(line, [&hits](std::uint32_t owner, std::size_t) {
    switch (owner & ~k_index) {
      case k_statement:
        hits.statements.push_back(owner & k_index);
        break;
      case k_framework:
        hits.frameworks.push_back(owner & k_index);
        break;
      case k_call:
        hits.call = true;
        break;
      default:
        hits.environment = true;
        break;
    }
  });
  return hits;
}

bool apply_statements(const std::vector<std::uint32_t>& statements, std::string_view line,
                      bool declared, std::uint64_t number, std::uint64_t offset,
                      config_text::SettingSink& sink) {
  bool held = false;
  for (const std::uint32_t index : statements) {
    const Statement& statement = the_literals().statements[index];
    if (statement.people && !declared) continue;
    std::string caught;
    if (statement.pattern != nullptr) {
      const bool grouped = statement.pattern->NumberOfCapturingGroups() > 0;
      const bool found = grouped ? re2::RE2::PartialMatch(line, *statement.pattern, &caught)
                                 : re2::RE2::PartialMatch(line, *statement.pattern);
      if (!found) continue;
    }
    for (const auto& [name, written] : statement.set) {
      const knowledge::SettingSpec* spec = knowledge::find_setting_spec(name);
      if (spec == nullptr) continue;
      auto value = knowledge::parse_value(*spec, written == "$1" ? caught : written);
      if (!value) continue;
      sink.put_canonical(name, *std::move(value),
                         core::shorten(core::sanitize(core::trim(line)), 60), number, offset);
      held = true;
    }
  }
  return held;
}

}  // namespace aplomb::prose
