#include "checkpoint/folder_audit.h"

#include <fmt/format.h>

#include <filesystem>

#include "pickle/pickle_audit.h"
#include "tensors/mapped_file.h"

namespace aplomb::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_most_files = 20'000;
constexpr int k_most_depth = 8;

}  // namespace

bool audit_file(const std::string& path, std::vector<tensors::Finding>& out) {
  const auto mapped = tensors::MappedFile::open(path);
  if (!mapped) return false;
  const tensors::Findings found = pickle::audit_pickles((*mapped)->bytes(), path);
  out.insert(out.end(), found.list().begin(), found.list().end());
  return !found.list().empty();
}

bool audit_folder(const std::string& folder, const std::string& except,
                  std::vector<tensors::Finding>& out) {
  std::error_code why;
  std::size_t files = 0;
  bool any = false;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, why);
  for (const fs::recursive_directory_iterator end; !why && at != end; at.increment(why)) {
    std::error_code none;
    const std::string path = at->path().string();
    if (at->is_symlink(none)) continue;
    if (at->is_directory(none)) {
      const bool left_out = (!except.empty() && path == except) || at.depth() >= k_most_depth ||
                            at->path().filename() == ".git";
      if (left_out) at.disable_recursion_pending();
      continue;
    }
    if (!at->is_regular_file(none)) continue;
    if (++files > k_most_files) {
      out.push_back(
          {"pickle.inconclusive", core::Severity::warning, folder, 0,
           fmt::format("[pickle] {} holds more than {} files; the others were not looked at",
                       folder, k_most_files)});
      return true;
    }
    any = audit_file(path, out) || any;
  }
  return any;
}

}  // namespace aplomb::checkpoint
