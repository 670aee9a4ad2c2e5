#include "watch/attach.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace aplomb::watch {

namespace fs = std::filesystem;

core::Result<void> attach_python(const std::string& folder, Attach how) {
  std::error_code why;
  const fs::path records = fs::absolute(folder, why);
  const fs::path place = records / "attach";
  if (!why) fs::create_directories(place, why);
  if (why)
    return core::fail(core::ErrorCode::not_writable,
                      "[run] " + place.string() + ": " + why.message());
  std::ofstream file(place / "sitecustomize.py", std::ios::binary);
  file << k_attach_text;
  file.close();
  if (!file)
    return core::fail(core::ErrorCode::not_writable,
                      "[run] " + place.string() + "/sitecustomize.py: not written");
  // An empty PYTHONPATH must not become a trailing colon: that would be the working folder.
  const char* before = std::getenv("PYTHONPATH");
  const std::string rest = before == nullptr || *before == '\0' ? "" : std::string(":") + before;
  ::setenv("PYTHONPATH", (place.string() + rest).c_str(), 1);
  const std::string wanted = how == Attach::guard ? "guard:" : "record:";
  ::setenv("APLOMB_ATTACH", (wanted + records.string()).c_str(), 1);
  return {};
}

std::vector<std::string> attached_records(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code why;
  for (fs::directory_iterator each(folder, why), end; !why && each != end; each.increment(why)) {
    if (each->path().extension() == ".aplomb") found.push_back(each->path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace aplomb::watch
