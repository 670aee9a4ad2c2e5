#include "cli/views.h"

#include <filesystem>
#include <system_error>

#include "cli/fix_file.h"
#include "cli/output.h"
#include "core/text.h"

namespace aplomb::cli {
namespace {

bool done_or_told(const core::Result<void>& done) {
  if (!done) complain(done.error().text);
  return done.has_value();
}

}  // namespace

bool all_exist(const std::vector<std::string>& paths) {
  bool fine = true;
  never_write(paths);
  for (const std::string& path : paths) {
    std::error_code why;
    if (path == "-" || std::filesystem::exists(path, why)) continue;
    complain(core::sanitize(path) + ": " + (why ? why.message() : "no such file or folder"));
    fine = false;
  }
  return fine;
}

report::RenderOptions for_terminal(std::string_view colour) {
  report::RenderOptions how;
  how.width = terminal_width();
  how.colour = wants_colour(colour);
  how.unicode = is_utf8_locale();
  return how;
}

bool print(std::string_view text) { return done_or_told(write_out(text)); }

bool save(const std::string& path, std::string_view text) {
  return path.empty() || done_or_told(write_file(path, text));
}

bool print_view(const Report& report, const report::RenderOptions& how, std::string_view slug) {
  const report::Renderer* view = report::find_renderer(slug);
  return view != nullptr && print(view->render(report, how));
}

bool save_view(const Report& report, const report::RenderOptions& how, std::string_view slug,
               const std::string& path) {
  if (path.empty()) return true;
  const report::Renderer* view = report::find_renderer(slug);
  return view != nullptr && save(path, view->render(report, how));
}

bool save_fix(const Report& report, const std::string& out) {
  if (out.empty()) return true;
  if (report.verdict == Verdict::healthy) {
    complain("nothing to mend: no configuration was written");
    return true;
  }
  const core::Result<std::string> done = write_fix(report, out);
  complain(core::sanitize_lines(done ? *done : done.error().text));
  return done.has_value();
}

}  // namespace aplomb::cli
