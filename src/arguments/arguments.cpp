#include "arguments/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <utility>

namespace aplomb::arguments {

Argument Argument::required() const { return Argument(option_->required()); }

Argument Argument::value_name(const std::string& name) const {
  return Argument(option_->type_name(name));
}

Argument Argument::shows_default() const { return Argument(option_->capture_default_str()); }

Argument Argument::group(const std::string& heading) const {
  return Argument(option_->group(heading));
}

Argument Argument::one_of(const std::vector<std::string>& words) const {
  return Argument(option_->check(CLI::IsMember(words)));
}

Argument Argument::within(std::int64_t least, std::int64_t most) const {
  return Argument(option_->check(CLI::Range(least, most)));
}

Argument Argument::within_real(double least, double most) const {
  return Argument(option_->check(CLI::Range(least, most)));
}

Argument Argument::positive() const { return Argument(option_->check(CLI::PositiveNumber)); }

Argument Argument::not_negative() const { return Argument(option_->check(CLI::NonNegativeNumber)); }

Argument Argument::last_counts() const {
  return Argument(option_->multi_option_policy(CLI::MultiOptionPolicy::TakeLast));
}

Argument Argument::takes_commas() const {
  constexpr int k_most_words = 1 << 20;
  option_->delimiter(',')->expected(1, k_most_words);
  return Argument(option_->multi_option_policy(CLI::MultiOptionPolicy::TakeAll));
}

Verb Verb::verb(const std::string& name, const std::string& meaning) const {
  return Verb(app_->add_subcommand(name, meaning));
}

Argument Verb::option(const std::string& names, std::string& value,
                      const std::string& meaning) const {
  return Argument(app_->add_option(names, value, meaning));
}

Argument Verb::option(const std::string& names, int& value, const std::string& meaning) const {
  return Argument(app_->add_option(names, value, meaning));
}

Argument Verb::option(const std::string& names, std::int64_t& value,
                      const std::string& meaning) const {
  return Argument(app_->add_option(names, value, meaning));
}

Argument Verb::option(const std::string& names, std::uint64_t& value,
                      const std::string& meaning) const {
  return Argument(app_->add_option(names, value, meaning));
}

Argument Verb::option(const std::string& names, double& value, const std::string& meaning) const {
  return Argument(app_->add_option(names, value, meaning));
}

Argument Verb::option(const std::string& names, std::vector<std::string>& value,
                      const std::string& meaning) const {
  return Argument(app_->add_option(names, value, meaning));
}

Argument Verb::option(const std::string& names, const std::string& meaning) const {
  return Argument(app_->add_option(names, meaning));
}

Argument Verb::flag(const std::string& names, bool& value, const std::string& meaning) const {
  return Argument(app_->add_flag(names, value, meaning));
}

void Verb::footer(const std::string& text) const { app_->footer(text); }

void Verb::requires_verb() const { app_->require_subcommand(1); }

void Verb::passes_words_on() const {
  app_->set_help_flag();
  app_->prefix_command();
}

bool Verb::is_wanted() const { return app_->parsed(); }

std::vector<std::string> Verb::rest() const { return app_->remaining(); }

std::string Verb::name() const { return app_->get_name(); }

std::string Verb::meaning() const { return app_->get_description(); }

std::vector<Verb> Verb::verbs() const {
  std::vector<Verb> all;
  for (CLI::App* each : app_->get_subcommands([](CLI::App*) { return true; })) {
    all.push_back(Verb(each));
  }
  return all;
}

std::vector<ArgumentInfo> Verb::arguments() const {
  std::vector<ArgumentInfo> all;
  for (const CLI::Option* each : std::as_const(*app_).get_options()) {
    ArgumentInfo info{{}, each->get_description(), each->get_items_expected_max() > 0};
    for (const std::string& name : each->get_lnames()) info.names.push_back("--" + name);
    for (const std::string& name : each->get_snames()) info.names.push_back("-" + name);
    all.push_back(std::move(info));
  }
  return all;
}

bool Verb::has(const std::string& name) const { return app_->get_option_no_throw(name) != nullptr; }

Program::Program(const std::string& meaning, const std::string& name)
    : owned_(std::make_unique<CLI::App>(meaning, name)) {
  app_ = owned_.get();
}

Program::~Program() = default;

void Program::version(const std::string& text) const { app_->set_version_flag("--version", text); }

std::optional<ParseStop> Program::parse(std::vector<std::string> words) const {
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the end
  try {
    app_->parse(std::move(words));
  } catch (const CLI::ParseError& stop) {
    std::ostringstream answer;
    std::ostringstream complaint;
    const bool is_answer = app_->exit(stop, answer, complaint) == 0;
    return ParseStop{is_answer, is_answer ? answer.str() : complaint.str()};
  }
  return std::nullopt;
}

}  // namespace aplomb::arguments
