#include "checkpoint/folder_audit.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "pickle/pickle_audit.h"
#include "tensors/mapped_file.h"

namespace aplomb::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_most_files = 20'000;
constexpr int k_most_depth = 8;

/// What was not looked at is not called harmless.
void leave_out(const std::string& path, const std::string& why,
               std::vector<tensors::Finding>& out) {
  out.push_back({"pickle.inconclusive", core::Severity::warning, path, 0,
                 fmt::format("[pickle] {} was not looked at: {}", path, why)});
}

}  // namespace

core::Result<bool> audit_file(const std::string& path, std::vector<tensors::Finding>& out) {
  const auto mapped = tensors::MappedFile::open(path);
  if (!mapped) return tl::unexpected(mapped.error());
  const tensors::Findings found = pickle::audit_pickles((*mapped)->bytes(), path);
  out.insert(out.end(), found.list().begin(), found.list().end());
  return !found.list().empty();
}

bool audit_folder(const std::string& folder, const std::string& except,
                  std::vector<tensors::Finding>& out) {
  std::error_code why;
  if (!fs::is_directory(folder, why)) return false;
  std::size_t files = 0;
  bool any = false;
  fs::recursive_directory_iterator at(folder, why);
  for (const fs::recursive_directory_iterator end; !why && at != end; at.increment(why)) {
    std::error_code none;
    const std::string path = at->path().string();
    if (at->is_symlink(none)) continue;
    if (at->is_directory(none)) {
      const bool elsewhere = (!except.empty() && path == except) || at->path().filename() == ".git";
      const bool deep = at.depth() >= k_most_depth;
      const bool closed = !elsewhere && !deep && ::access(path.c_str(), R_OK | X_OK) != 0;
      if (elsewhere || deep || closed) at.disable_recursion_pending();
      if (deep && !elsewhere)
        leave_out(path, fmt::format("it lies more than {} folders deep", k_most_depth), out);
      if (closed) leave_out(path, "it may not be read", out);
      any = any || ((deep || closed) && !elsewhere);
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
    const core::Result<bool> found = audit_file(path, out);
    if (!found) leave_out(path, found.error().text, out);
    any = any || !found || *found;
  }
  if (why) leave_out(folder, why.message() + "; files behind it were not looked at either", out);
  return any || why;
}

}  // namespace aplomb::checkpoint
