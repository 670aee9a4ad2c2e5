#include "store/likeness.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <iterator>

namespace aplomb::store {
namespace {

/// Of the symptoms that either run has so many must be of both.
constexpr double k_like = 0.5;

}  // namespace

std::set<std::string> troubles(const PastRun& run) {
  std::set<std::string> out;
  for (const PastSymptom& each : run.symptoms) {
    if (each.severity != "note") out.insert(each.id);
  }
  return out;
}

std::vector<std::string> shared(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::vector<std::string> out;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

bool are_alike(const std::set<std::string>& a, const std::set<std::string>& b) {
  const std::size_t both = shared(a, b).size();
  const std::size_t either = a.size() + b.size() - both;
  return either == 0 || static_cast<double>(both) >= k_like * static_cast<double>(either);
}

std::string new_id() {
  std::uint32_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number)
    number = static_cast<std::uint32_t>(hash_of(fmt::format("{} {}", ::getpid(), ::clock())));
  return fmt::format("{:08x}", number);
}

Helped helped_of(std::string_view word) {
  for (const Helped each : {Helped::yes, Helped::no, Helped::worse}) {
    if (word == name(each)) return each;
  }
  return Helped::unknown;
}

std::string words_of(const PastRun& run) {
  std::string out = run.name + '\n' + run.program + '\n' + run.host + '\n' + run.verdict + '\n' +
                    run.headline + '\n' + date_of(run.began) + '\n';
  for (const std::string& each : run.paths) out += each + '\n';
  const auto add = [&out](const std::string& name, const std::string& value) {
    out.append(name).append(" ").append(value).append("\n");
  };
  for (const PastCause& each : run.causes) add(each.id, each.title);
  for (const PastSymptom& each : run.symptoms) add(each.id, each.summary);
  for (const auto& [name, value] : run.settings) add(name, value);
  for (const auto& [name, value] : run.environment) add(name, value);
  return out;
}

std::uint64_t hash_of(std::string_view text) {  // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

std::string host_pseudonym(const std::string& salt) {
  std::string name(256, '\0');
  if (::gethostname(name.data(), name.size() - 1) != 0) return "host";
  return fmt::format("host-{:08x}",
                     static_cast<std::uint32_t>(hash_of(salt + name.c_str()) >> 32U));
}

}  // namespace aplomb::store
