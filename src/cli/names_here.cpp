#include "cli/names_here.h"

#include <pwd.h>
#include <unistd.h>

#include <array>

namespace aplomb::cli {

report::RedactNames names_here() {
  report::RedactNames names;
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) == 0) names.hosts.emplace_back(host.data());
  if (const passwd* user = getpwuid(getuid()); user != nullptr) {
    names.users.emplace_back(user->pw_name);
  }
  return names;
}

}  // namespace aplomb::cli
