#include "cli/fix_file.h"

#include <filesystem>

#include "cli/output.h"
#include "core/new_file.h"
#include "fix/fix_run.h"
#include "fix/line_diff.h"

namespace aplomb::cli {
namespace {

std::string told(const fix::RunFix& fix, const std::vector<std::string>& places) {
  std::string text = "fix: " + fix.remedy + "\n";
  if (!fix.doubt.empty()) text += "in doubt: " + fix.doubt + "\n";
  bool by_program = false;
  for (std::size_t i = 0; i < fix.files.size(); ++i) {
    const fix::FileFix& file = fix.files[i];
    by_program = by_program || file.written_by_program;
    text += "wrote " + places[i] + " from " + file.path + "\n";
    text += fix::unified_diff(file.original, file.fixed.text, file.path, places[i]);
  }
  if (by_program) {
    text +=
        "This file is what the trainer wrote down, not what starts the run: make the same "
        "change there.\n";
  }
  if (fix.left_out.empty()) return text;
  std::string names;
  for (const std::string& name : fix.left_out) names += (names.empty() ? "" : ", ") + name;
  text += "not in these files: " + names + "; set it where the run does";
  text += fix.elsewhere.empty() ? ".\n" : ":\n" + fix.elsewhere + "\n";
  return text;
}

}  // namespace

core::Result<std::string> write_fix(const Report& report, const std::string& out) {
  const core::Result<fix::RunFix> fix = fix::plan_fix(report);
  if (!fix) return tl::unexpected(fix.error());
  const auto places = fix::places_of(*fix, report, out);
  if (!places) return tl::unexpected(places.error());
  for (const std::string& place : *places) {
    if (const auto allowed = may_write(place); !allowed) return tl::unexpected(allowed.error());
  }
  for (std::size_t i = 0; i < places->size(); ++i) {
    const std::filesystem::path folder = std::filesystem::path((*places)[i]).parent_path();
    if (!folder.empty()) {
      if (const auto made = core::make_folder(folder.string()); !made)
        return tl::unexpected(made.error());
    }
    if (const auto done = write_file((*places)[i], fix->files[i].fixed.text); !done)
      return tl::unexpected(done.error());
  }
  return told(*fix, *places);
}

}  // namespace aplomb::cli
