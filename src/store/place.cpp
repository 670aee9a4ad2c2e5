#include "store/place.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace aplomb::store {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it here
  return value == nullptr ? std::string() : value;
}

std::string home() {
  if (std::string set = variable("HOME"); !set.empty()) return set;
  const passwd* user = ::getpwuid(::getuid());  // NOLINT(concurrency-mt-unsafe): before any thread
  return user == nullptr || user->pw_dir == nullptr ? std::string() : user->pw_dir;
}

}  // namespace

std::string default_path() {
  if (std::string set = variable("APLOMB_STORE"); !set.empty())
    return set == "off" || set == "0" || set == "no" ? std::string() : set;
  // https://specifications.freedesktop.org/basedir-spec: a relative path there counts as none
  std::string data = variable("XDG_DATA_HOME");
  if (!data.starts_with('/')) {
    data = home();
    if (!data.starts_with('/')) return {};
    data += "/.local/share";
  }
  return data + "/aplomb/runs.db";
}

bool is_there(const std::string& path) {
  struct stat about{};
  return !path.empty() && ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode);
}

}  // namespace aplomb::store
