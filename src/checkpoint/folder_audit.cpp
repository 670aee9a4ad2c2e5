#include "checkpoint/folder_audit.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "pickle/pickle_audit.h"
#include "pickle/program_text.h"
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
  const std::size_t before = out.size();
  out.insert(out.end(), found.list().begin(), found.list().end());
  std::vector<tensors::Finding> code;
  pickle::audit_code((*mapped)->bytes(), path, code);
  for (tensors::Finding& each : code) {  // what a member of it said already is not said twice
    const bool told =
        std::any_of(found.list().begin(), found.list().end(),
                    [&](const tensors::Finding& one) { return one.kind == each.kind; });
    if (!told) out.push_back(std::move(each));
  }
  return out.size() > before;
}

namespace {

/// Whether a folder is gone into; one that is left out for its depth or its rights is a finding.
bool goes_into(const fs::recursive_directory_iterator& at, const std::string& except,
               std::vector<tensors::Finding>& out) {
  const std::string path = at->path().string();
  const bool elsewhere = (!except.empty() && path == except) || at->path().filename() == ".git";
  if (elsewhere) return false;
  if (at.depth() >= k_most_depth) {
    leave_out(path, fmt::format("it lies more than {} folders deep", k_most_depth), out);
    return false;
  }
  if (::access(path.c_str(), R_OK | X_OK) == 0) return true;
  leave_out(path, "it may not be read", out);
  return false;
}

void audit_of_folder(const std::string& path, std::vector<tensors::Finding>& out) {
  const core::Result<bool> found = audit_file(path, out);
  if (!found) leave_out(path, found.error().text, out);
}

}  // namespace

bool audit_folder(const std::string& folder, const std::string& except,
                  std::vector<tensors::Finding>& out) {
  std::error_code why;
  if (!fs::is_directory(folder, why)) return false;
  const std::size_t before = out.size();
  std::size_t files = 0;
  fs::recursive_directory_iterator at(folder, why);
  for (const fs::recursive_directory_iterator end; !why && at != end; at.increment(why)) {
    std::error_code none;
    if (at->is_symlink(none)) continue;
    if (at->is_directory(none)) {
      if (!goes_into(at, except, out)) at.disable_recursion_pending();
      continue;
    }
    if (!at->is_regular_file(none)) continue;
    if (++files > k_most_files) {
      leave_out(folder, fmt::format("what comes behind its first {} files", k_most_files), out);
      return true;
    }
    audit_of_folder(at->path().string(), out);
  }
  if (why) leave_out(folder, why.message() + "; files behind it were not looked at either", out);
  return out.size() > before;
}

}  // namespace aplomb::checkpoint
