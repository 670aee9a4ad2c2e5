#pragma once
/// Redactor: takes out of a text what tells who and where: user names, home folders, e-mail and
/// network addresses, host names, tokens and keys. The same name becomes the same stand-in
/// (`<host-2>`) over the whole life of a Redactor, so that a log of four hosts still reads as a log
/// of four hosts.
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

class Redactor {
 public:
  explicit Redactor(RedactNames names);
  std::string operator()(std::string_view text);
  /// How many different things of each kind were taken out: {"host": 4, "token": 1}.
  std::map<std::string, std::size_t> counts() const;

 private:
  std::string stand_in(std::string_view kind, std::string_view name);
  void replace_known(std::string& text, std::string_view kind,
                     const std::vector<std::string>& names);
  RedactNames names_;
  std::map<std::string, std::map<std::string, std::size_t, std::less<>>, std::less<>> seen_;
};

}  // namespace aplomb::report
