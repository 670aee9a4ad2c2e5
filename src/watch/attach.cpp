#include "watch/attach.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/json_text.h"
#include "core/new_file.h"

namespace aplomb::watch {

namespace fs = std::filesystem;

namespace {

/// What cannot be set from within a Python that runs, and the record of all that is asked for.
core::Result<void> ask_for_determinism(const fs::path& folder, std::uint32_t seed) {
  const std::string number = std::to_string(seed);
  ::setenv("PYTHONHASHSEED", number.c_str(), 0);
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);  // one of the two that torch accepts
  ::setenv("APLOMB_SEED", number.c_str(), 1);
  const nlohmann::ordered_json asked = {
      {"seed", seed},
      {"torch.use_deterministic_algorithms", true},
      {"torch.backends.cudnn.deterministic", true},
      {"torch.backends.cudnn.benchmark", false},
      {"PYTHONHASHSEED", std::getenv("PYTHONHASHSEED")},
      {"CUBLAS_WORKSPACE_CONFIG", std::getenv("CUBLAS_WORKSPACE_CONFIG")},
  };
  using nlohmann::json;
  return core::replace_file((folder / "determinism.json").string(),
                            core::json_text(asked, 2) + "\n");
}

}  // namespace

core::Result<void> attach_python(const std::string& folder, const Attachment& what) {
  std::error_code why;
  const fs::path records = fs::absolute(folder, why);
  const fs::path place = records / "attach";
  // A link that lies there already leads to a folder that nobody has named.
  if (!why && fs::is_symlink(place, why)) why = std::make_error_code(std::errc::not_a_directory);
  if (!why || why == std::errc::no_such_file_or_directory) fs::create_directories(place, why);
  if (why)
    return core::fail(core::ErrorCode::not_writable,
                      "[run] " + place.string() + ": " + why.message());
  if (auto done = core::replace_file((place / "sitecustomize.py").string(), k_attach_text); !done)
    return done;
  // An empty PYTHONPATH must not become a trailing colon: that would be the working folder.
  const char* before = std::getenv("PYTHONPATH");
  const std::string rest = before == nullptr || *before == '\0' ? "" : std::string(":") + before;
  ::setenv("PYTHONPATH", (place.string() + rest).c_str(), 1);
  if (what.steps) {
    const std::string wanted = *what.steps == Attach::guard ? "guard:" : "record:";
    ::setenv("APLOMB_ATTACH", (wanted + records.string()).c_str(), 1);
  }
  return what.seed ? ask_for_determinism(records, *what.seed) : core::Result<void>{};
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
