#include <fmt/format.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/topics.h"

namespace aplomb::cli {
namespace {

/// What the shells need to know of a command; read from the program itself, so that a new command
/// or option is completed without a word here.
struct Completed {
  std::string name;
  std::string meaning;
  std::vector<arguments::ArgumentInfo> options;
  std::vector<std::string> words;  // of its positional argument, where they are few
};

std::vector<std::string> words_of(const std::string& verb) {
  std::vector<std::string> words;
  if (verb == "list") {
    for (const TopicKind& each : topic_kinds()) words.emplace_back(each.name);
  }
  if (verb == "completion") words = {"bash", "zsh", "fish"};
  if (verb == "lab") words = {"list", "run", "sweep"};  // of a program of its own
  return words;
}

/// Options of an inner verb, those that the others have not.
void add_new(std::vector<arguments::ArgumentInfo>& all,
             const std::vector<arguments::ArgumentInfo>& more) {
  for (const arguments::ArgumentInfo& each : more) {
    const bool known = std::any_of(all.begin(), all.end(), [&](const auto& one) {
      return !one.names.empty() && one.names == each.names;
    });
    if (!known) all.push_back(each);
  }
}

std::vector<Completed> verbs_of(const arguments::Verb& program) {
  std::vector<Completed> all;
  for (const arguments::Verb& each : program.verbs()) {
    Completed verb{each.name(), each.meaning(), each.arguments(), words_of(each.name())};
    for (const arguments::Verb& inner : each.verbs()) {
      verb.words.push_back(inner.name());
      add_new(verb.options, inner.arguments());
    }
    std::erase_if(verb.options,
                  [](const arguments::ArgumentInfo& one) { return one.names.empty(); });
    all.push_back(std::move(verb));
  }
  return all;
}

std::string names_of(const Completed& verb) {
  std::vector<std::string> all = verb.words;
  for (const arguments::ArgumentInfo& each : verb.options) {
    all.insert(all.end(), each.names.begin(), each.names.end());
  }
  return fmt::format("{}", fmt::join(all, " "));
}

std::string bash(const std::vector<Completed>& verbs) {
  std::string names;
  std::string cases;
  for (const Completed& verb : verbs) {
    names += (names.empty() ? "" : " ") + verb.name;
    cases += fmt::format("    {}) words=\"{}\" ;;\n", verb.name, names_of(verb));
  }
  return "# aplomb completion for bash:  source <(aplomb completion bash)\n"
         "_aplomb() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} words=\"\"\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W \"" +
         names +
         " --help --version\" -- \"$current\"))\n"
         "    return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n"
         "  if [ \"${COMP_WORDS[1]}\" = explain ]; then\n"
         "    words=\"$words $(\"${COMP_WORDS[0]}\" list --names 2>/dev/null)\"\n"
         "  fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -o default -o bashdefault -F _aplomb aplomb\n";
}

/// Inside single quotes of zsh and fish: no quote, and for zsh's specs no bracket or colon.
std::string plain(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '`');
  for (char& c : text) {
    if (c == '[' || c == ']' || c == ':') c = ' ';
  }
  return text;
}

std::string zsh(const std::vector<Completed>& verbs) {
  std::string names;
  std::string cases;
  for (const Completed& verb : verbs) {
    names += fmt::format("    '{}:{}'\n", verb.name, plain(verb.meaning));
    std::string specs;
    for (const arguments::ArgumentInfo& option : verb.options) {
      for (const std::string& name : option.names) {
        specs += fmt::format(" '{}[{}]{}'", name, plain(option.meaning),
                             option.takes_value ? ":value:_files" : "");
      }
    }
    if (verb.name == "explain") {
      specs += " '1:name:(${(f)\"$(aplomb list --names 2>/dev/null)\"})'";
    } else if (!verb.words.empty()) {
      specs += fmt::format(" '1:kind:({})'", fmt::join(verb.words, " "));
    } else {
      specs += " '*:file:_files'";
    }
    cases += fmt::format("    {}) _arguments{} ;;\n", verb.name, specs);
  }
  return "#compdef aplomb\n"
         "# aplomb completion for zsh:  aplomb completion zsh > \"${fpath[1]}/_aplomb\"\n"
         "_aplomb() {\n"
         "  local -a verbs=(\n" +
         names +
         "  )\n"
         "  if (( CURRENT == 2 )); then\n"
         "    _describe command verbs\n"
         "    return\n"
         "  fi\n"
         "  local verb=$words[2]\n"
         "  shift words\n"
         "  (( CURRENT-- ))\n"
         "  case $verb in\n" +
         cases +
         "  esac\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _aplomb ]; then _aplomb; else compdef _aplomb aplomb; fi\n";
}

std::string fish(const std::vector<Completed>& verbs) {
  std::string out = "# aplomb completion for fish:  aplomb completion fish | source\n";
  for (const Completed& verb : verbs) {
    out += fmt::format("complete -c aplomb -n __fish_use_subcommand -f -a {} -d '{}'\n", verb.name,
                       plain(verb.meaning));
    const std::string within =
        fmt::format("complete -c aplomb -n '__fish_seen_subcommand_from {}'", verb.name);
    for (const arguments::ArgumentInfo& option : verb.options) {
      out += within;
      for (const std::string& name : option.names) {
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      out +=
          (option.takes_value ? " -r" : "") + std::string(" -d '") + plain(option.meaning) + "'\n";
    }
    if (verb.name == "explain") out += within + " -f -a '(aplomb list --names 2>/dev/null)'\n";
    if (!verb.words.empty())
      out += within + fmt::format(" -f -a '{}'\n", fmt::join(verb.words, " "));
  }
  return out;
}

class CompletionCommand : public Command {
 public:
  void declare(const arguments::Verb& program) override {
    program_ = program;
    verb_ = program.verb("completion", "Print a completion script for a shell");
    verb_.option("SHELL", shell_, "bash, zsh or fish").required().one_of({"bash", "zsh", "fish"});
    verb_.footer(
        "Examples:\n"
        "  source <(aplomb completion bash)\n"
        "  aplomb completion zsh > \"${fpath[1]}/_aplomb\"\n"
        "  aplomb completion fish | source");
  }

  int run() override {
    const std::vector<Completed> verbs = verbs_of(program_);
    const auto done = write_out(shell_ == "bash"  ? bash(verbs)
                                : shell_ == "zsh" ? zsh(verbs)
                                                  : fish(verbs));
    if (done) return k_exit_healthy;
    complain(done.error().text);
    return k_exit_usage;
  }

 private:
  arguments::Verb program_;
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> make_completion_command() { return std::make_unique<CompletionCommand>(); }

}  // namespace aplomb::cli
