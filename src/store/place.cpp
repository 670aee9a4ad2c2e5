#include "store/place.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "store/likeness.h"

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

// https://specifications.freedesktop.org/basedir-spec: a relative path there counts as none
std::string data_folder() {
  std::string data = variable("XDG_DATA_HOME");
  if (data.starts_with('/')) return data;
  data = home();
  return data.starts_with('/') ? data + "/.local/share" : std::string();
}

}  // namespace

std::string default_path() {
  if (std::string set = variable("APLOMB_STORE"); !set.empty())
    return set == "off" || set == "0" || set == "no" ? std::string() : set;
  std::string data = data_folder();
  return data.empty() ? data : data + "/aplomb/runs.db";
}

bool is_of_a_team(const std::string& place) {
  return place.starts_with("postgresql://") || place.starts_with("postgres://");
}

bool is_there(const std::string& place) {
  if (is_of_a_team(place)) return true;
  struct stat about{};
  return !place.empty() && ::stat(place.c_str(), &about) == 0 && S_ISREG(about.st_mode);
}

std::string shown_place(const std::string& place) {
  if (!is_of_a_team(place)) return place;
  const std::size_t end = std::min(place.find('?'), place.size());
  const std::size_t at = place.rfind('@', end);  // also behind a password with a slash in it
  const std::size_t host = at == std::string::npos ? place.find("://") + 3 : at + 1;
  // Behind the question mark may stand a password, too.
  return "postgresql://" + place.substr(host, end - host);
}

core::Result<void> make_private_folder(const std::string& path) {
  struct stat about{};
  if (path.empty() || ::stat(path.c_str(), &about) == 0) return {};
  const std::size_t slash = path.find_last_not_of('/') == std::string::npos
                                ? std::string::npos
                                : path.rfind('/', path.find_last_not_of('/'));
  if (slash != std::string::npos) {
    if (auto done = make_private_folder(path.substr(0, slash)); !done) return done;
  }
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return core::fail(core::ErrorCode::not_writable, "[store] " + path + ": " + std::strerror(errno));
}

std::string waiting_folder(const std::string& place) {
  std::string data = data_folder();
  if (data.empty()) return data;
  return fmt::format("{}/aplomb/waiting-{:08x}", data,
                     static_cast<std::uint32_t>(hash_of(shown_place(place)) >> 32U));
}

}  // namespace aplomb::store
