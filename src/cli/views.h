#pragma once
/// What the commands that end in a report do alike: its views printed and saved, the remedies
/// written. A reason is told on standard error before a function returns false.

#include <aplomb/report.h>

#include <string>
#include <string_view>
#include <vector>

#include "report/renderer.h"

namespace aplomb::cli {

/// Whether each of `paths` exists; `-` is standard input and always does. They are inputs from then
/// on, which nothing writes to (output.h).
bool all_exist(const std::vector<std::string>& paths);

/// What standard output can show; `colour` as in wants_colour().
report::RenderOptions for_terminal(std::string_view colour);

bool print(std::string_view text);
/// Nothing is written, and all is well, where `path` is empty.
bool save(const std::string& path, std::string_view text);

/// Views by the slug of their renderer: terminal, findings, html, json, sarif.
bool print_view(const Report& report, const report::RenderOptions& how, std::string_view slug);
bool save_view(const Report& report, const report::RenderOptions& how, std::string_view slug,
               const std::string& path);

/// `--fix OUT` (fix_file.h), and the changes told; an empty `out` asks for nothing.
bool save_fix(const Report& report, const std::string& out);

}  // namespace aplomb::cli
