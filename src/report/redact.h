#pragma once
/// Redactor: takes out of a text what tells who and where, and what opens doors: user names, home
/// folders, e-mail and network addresses, hosts, accounts; keys and passwords by their form, by the
/// name beside them, and by looking like nothing but chance. The rules are knowledge/secrets.yaml.
/// The same name becomes the same stand-in (`<host-2>`) over the whole life of a Redactor, so that a
/// log of four hosts still reads as a log of four hosts.
///
///     Redactor redact({.users = {"ann"}, .hosts = {"gpu17"}});
///     redact("ann@gpu17:/home/ann/run hf_abcdefghijklmnopqrstuv")  ->
///     "<user-1>@<host-1>:/home/<user-1>/run <token-1>"
///
/// It errs on the side of taking out too much. Metrics, versions and framework names stay as they
/// are. Not thread-safe.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace aplomb::report {

struct RedactNames {
  std::vector<std::string> users;  ///< names known to be people's: those of this machine, say
  std::vector<std::string> hosts;
};

/// What stands for what. `shown`: the name itself, and of secrets the first characters and a length.
struct Replaced {
  std::string stand_in;
  std::string shown;
};

class Redactor {
 public:
  explicit Redactor(RedactNames names);
  std::string operator()(std::string_view text);
  /// Takes out once more, of a text that has been through it, the names that it has met since.
  std::string again(std::string_view redacted);
  /// How many different things of each kind were taken out: {"host": 4, "token": 1}.
  std::map<std::string, std::size_t> counts() const;
  /// All of them, by kind and number: for the eyes of whoever has the originals.
  std::vector<Replaced> replaced() const;

 private:
  std::string stand_in(std::string_view kind, std::string_view name);
  void replace_known(std::string& text, std::string_view kind,
                     const std::vector<std::string>& names);
  void apply_rules(std::string& text);
  void replace_all_known(std::string& text);
  RedactNames names_;
  std::map<std::string, std::map<std::string, std::size_t, std::less<>>, std::less<>> seen_;
};

/// Colours, characters without a width, and the way in which those are made visible (`<U+200B>`)
/// part a name from its value, or a name itself, for a pattern and for nobody else: the text without
/// them. A Redactor does it by itself; whoever makes control characters visible does it before.
std::string without_disguise(std::string_view text);

/// Whether a file of this name is one of secrets (`.env`, `id_rsa`, `service_account.json`): no
/// bundle holds it, redacted or not.
bool is_secret_file(std::string_view name);

}  // namespace aplomb::report
