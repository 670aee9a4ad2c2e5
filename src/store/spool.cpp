#include "store/spool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "core/json_text.h"
#include "store/likeness.h"
#include "store/place.h"

namespace aplomb::store {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t k_most_at_once = 1000;
constexpr const char* k_ending = ".json";

bool write_all(int file, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = ::write(file, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    done += static_cast<std::size_t>(wrote);
  }
  return ::fsync(file) == 0;
}

std::vector<fs::path> waiting(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code why;
  for (fs::directory_iterator each(folder, why); !why && each != fs::directory_iterator();
       each.increment(why)) {
    if (each->path().extension() == k_ending) files.push_back(each->path());
    if (files.size() >= k_most_at_once) break;
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

core::Result<std::string> lay_down(const PastRun& run, const std::string& folder) {
  const auto failed = [&] {
    return core::fail(core::ErrorCode::not_writable,
                      "[store] " + folder + ": " + std::strerror(errno));
  };
  if (const auto made = make_private_folder(folder); !made) return tl::unexpected(made.error());
  const std::string path = folder + "/" + new_id();
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return failed();
  const bool whole = write_all(file, core::json_text(json_of(run)));
  ::close(file);
  if (whole && ::rename(path.c_str(), (path + k_ending).c_str()) == 0) return path + k_ending;
  const auto fault = failed();
  ::unlink(path.c_str());
  return fault;
}

std::size_t send_waiting(RunStore& store, const std::string& folder) {
  std::size_t sent = 0;
  for (const fs::path& each : waiting(folder)) {
    std::ifstream file(each, std::ios::binary);
    const Json value = core::ordered_json_from(file);
    core::Result<PastRun> run = past_run_from(value);
    if (value.is_discarded() || !run) continue;
    // Two processes may send the same one: the store takes it for one run.
    if (!store.add(*std::move(run))) break;
    ::unlink(each.c_str());
    ++sent;
  }
  return sent;
}

}  // namespace aplomb::store
