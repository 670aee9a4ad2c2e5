#include "arguments/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <utility>

#include "core/edit_distance.h"
#include "core/text.h"

namespace aplomb::arguments {
namespace {

/// The known word that `given` was meant to be: the only one that it begins, or the nearest within a third
/// of its letters, as rustc's `find_best_match_for_name` has it. Empty where none is near.
std::string meant_by(std::string_view given, const std::vector<std::string>& known) {
  constexpr std::size_t k_least_prefix = 2;
  std::string longer;
  std::size_t begun = 0;
  std::string nearest;
  std::size_t least = std::max<std::size_t>(given.size(), 3) / 3 + 1;
  for (const std::string& each : known) {
    if (given.size() >= k_least_prefix && each.starts_with(given)) {
      longer = each;
      ++begun;
    }
    const std::size_t away = core::edit_distance(given, each);
    if (away < least) {
      least = away;
      nearest = each;
    }
  }
  return begun == 1 ? longer : nearest;
}

std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(each->get_name());
  return names;
}

std::string did_you_mean(const std::string& known) {
  return known.empty() ? "" : "Did you mean " + known + "?\n";
}

/// What is wrong with `words`, better than CLI11 says it: the word that is no verb, or the option that the
/// verb does not have, each with its nearest neighbour. Empty where it is neither.
std::string unknown_word(const CLI::App& app, const std::vector<std::string>& words,
                         const std::string& called) {
  const std::string more = "Run " + called + " --help for all of them.\n";
  const std::vector<std::string> verbs = verb_names(app);
  if (!verbs.empty()) {
    if (words.empty() || words[0].starts_with("-")) return "";
    const auto verb = std::find(verbs.begin(), verbs.end(), words[0]);
    if (verb != verbs.end())
      return unknown_word(*app.get_subcommand(*verb), {words.begin() + 1, words.end()},
                          called + " " + *verb);
    const std::string meant = meant_by(words[0], verbs);
    return core::sanitize(words[0]) + " is no command of " + called + ".\n" +
           did_you_mean(meant.empty() ? "" : called + " " + meant) + more;
  }
  std::vector<std::string> options;
  for (const CLI::Option* each : app.get_options()) {
    for (const std::string& name : each->get_lnames()) options.push_back("--" + name);
  }
  for (const std::string& word : words) {
    if (word == "--") break;
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with("--") || std::find(options.begin(), options.end(), name) != options.end())
      continue;
    std::string told = core::sanitize(name);
    told.append(" is no option of ").append(called).append(".\n");
    return told.append(did_you_mean(meant_by(name, options))).append(more);
  }
  return "";
}

}  // namespace

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

Argument Argument::is_size() const {
  CLI::AsSizeValue sizes(false);
  sizes.description("");  // of --help: every unit in a list
  return Argument(option_->transform(sizes));
}

Argument Argument::last_counts() const {
  return Argument(option_->multi_option_policy(CLI::MultiOptionPolicy::TakeLast));
}

Argument Argument::one_each() const {
  option_->expected(1)->allow_extra_args(false);
  return Argument(option_->multi_option_policy(CLI::MultiOptionPolicy::TakeAll));
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

std::optional<ParseStop> Program::parse(const std::vector<std::string>& words) const {
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // CLI11 takes them from the end
  try {
    app_->parse(std::move(reversed));
  } catch (const CLI::ParseError& stop) {
    std::ostringstream answer;
    std::ostringstream complaint;
    const bool is_answer = app_->exit(stop, answer, complaint) == 0;
    if (const std::string told = is_answer ? "" : unknown_word(*app_, words, app_->get_name());
        !told.empty())
      return ParseStop{false, told};
    return ParseStop{is_answer, is_answer ? answer.str() : complaint.str()};
  }
  return std::nullopt;
}

}  // namespace aplomb::arguments
