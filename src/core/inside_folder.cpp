#include "core/inside_folder.h"

#include <filesystem>
#include <string_view>

namespace aplomb::core {
namespace {

namespace fs = std::filesystem;

bool lies_in(const std::string& folder, const std::string& path) {
  return path == folder || folder == "/" ||
         (path.size() > folder.size() && path.compare(0, folder.size(), folder) == 0 &&
          path[folder.size()] == '/');
}

}  // namespace

bool leads_outside(const std::string& root, const std::string& path) {
  std::error_code why;
  const fs::path real_root = fs::canonical(root, why);
  if (why) return true;
  const fs::path real = fs::canonical(path, why);
  if (why) return true;
  if (lies_in(real_root.string(), real.string())) return false;
  // models--org--name/snapshots/HASH/model.safetensors -> ../../blobs/HASH
  for (fs::path at = real_root; at.has_parent_path() && at != at.parent_path();
       at = at.parent_path()) {
    if (at.filename() == "snapshots") {
      return !lies_in((at.parent_path() / "blobs").string(), real.string());
    }
  }
  return true;
}

bool is_kernel_tree(const std::string& path) {
  std::error_code why;
  const std::string real = fs::weakly_canonical(path, why).string();
  for (const char* tree : {"/proc", "/sys", "/dev"}) {
    if (lies_in(tree, real)) return true;
  }
  return false;
}

}  // namespace aplomb::core
