#pragma once
/// The words of a command line into variables, with --help and errors that name the word.
///
///     Program program("aplomb says why a training run went wrong.", "aplomb");
///     Verb plan = program.verb("plan", "Say what a run will need");
///     plan.option("PATH", paths, "a model's config.json").required();     // positional: no dashes
///     plan.option("--most", most, "how many to list").within(1, 100).shows_default();
///     plan.flag("--json", json, "print JSON");
///     if (const auto stop = program.parse(words)) { say stop->text; leave; }
///     if (plan.is_wanted()) ...
///
/// CLI11 does the work, in arguments.cpp alone: it is all headers, 5 s of compiling in each file
/// that includes them. What is declared here is what the programs need of it; more is a line there.
///
/// Verb and Argument are handles: copied freely, valid as long as their Program. The variables that
/// options are bound to must outlive the parsing. Not for several threads.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace aplomb::arguments {

/// An option, flag or positional that was declared; says more of it.
class Argument {
 public:
  explicit Argument(CLI::Option* option) : option_(option) {}

  Argument required() const;
  /// What --help calls the value; without it its type: TEXT, INT, UINT, FLOAT.
  Argument value_name(const std::string& name) const;
  /// --help shows the variable's value of now.
  Argument shows_default() const;
  /// The heading of --help that it stands under.
  Argument group(const std::string& heading) const;

  Argument one_of(const std::vector<std::string>& words) const;
  /// Both ends are allowed. Integers take no fraction.
  Argument within(std::int64_t least, std::int64_t most) const;
  Argument within_real(double least, double most) const;
  Argument positive() const;
  Argument not_negative() const;
  /// Of whole numbers: 2000, 512M, 4G, 4GiB (each of 1,024).
  Argument is_size() const;

  /// Given several times the last one counts; without this it is an error.
  Argument last_counts() const;
  /// Of a list: one word each time that the option is given; what follows it is not taken.
  Argument one_each() const;
  /// A list may also be one word with commas, and the option be given several times.
  Argument takes_commas() const;

 private:
  CLI::Option* option_;
};

/// What a shell's completion needs to know of an option.
struct ArgumentInfo {
  std::vector<std::string> names;  ///< `--html`, `-v`; none: positional
  std::string meaning;
  bool takes_value = false;
};

/// A program, or one verb of it, with its own options, and verbs of its own where it has some.
class Verb {
 public:
  Verb() = default;  ///< of no program yet: nothing may be asked of it

  Verb verb(const std::string& name, const std::string& meaning) const;

  /// `names`: `--color,--colour`, `-o,--out`; without dashes a positional. A list takes every word
  /// up to the next option.
  Argument option(const std::string& names, std::string& value, const std::string& meaning) const;
  Argument option(const std::string& names, int& value, const std::string& meaning) const;
  Argument option(const std::string& names, std::int64_t& value, const std::string& meaning) const;
  Argument option(const std::string& names, std::uint64_t& value, const std::string& meaning) const;
  Argument option(const std::string& names, double& value, const std::string& meaning) const;
  Argument option(const std::string& names, std::vector<std::string>& value,
                  const std::string& meaning) const;
  /// Stands in --help; its value is the caller's to find.
  Argument option(const std::string& names, const std::string& meaning) const;
  /// Present or not; `--name=false` and the like are understood.
  Argument flag(const std::string& names, bool& value, const std::string& meaning) const;

  /// Below the options in --help.
  void footer(const std::string& text) const;
  /// One of its verbs must be given.
  void requires_verb() const;
  /// Another program's words: none is judged, not even --help; rest() has them.
  void passes_words_on() const;

  /// After parsing: whether the words name this verb.
  bool is_wanted() const;
  std::vector<std::string> rest() const;

  std::string name() const;
  std::string meaning() const;
  std::vector<Verb> verbs() const;
  std::vector<ArgumentInfo> arguments() const;
  /// Whether `name` (`--html`) is an option of it.
  bool has(const std::string& name) const;

 protected:
  explicit Verb(CLI::App* app) : app_(app) {}
  CLI::App* app_ = nullptr;
};

/// Why parsing leaves nothing to run.
struct ParseStop {
  bool is_answer = false;  ///< --help or --version was asked for; else the words are wrong
  std::string text;        ///< whole lines
};

class Program : public Verb {
 public:
  Program(const std::string& meaning, const std::string& name);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// What --version answers.
  void version(const std::string& text) const;
  /// `words` without the program's name. Fills the variables that the options are bound to. A verb or an
  /// option that is unknown is told with the nearest one that is known.
  std::optional<ParseStop> parse(const std::vector<std::string>& words) const;

 private:
  std::unique_ptr<CLI::App> owned_;
};

}  // namespace aplomb::arguments
