#pragma once
/// Views of a Comparison: the terminal's, JSON (schema `aplomb.compare/1`), a self-contained page.

#include <string>

#include "compare/compare.h"
#include "report/renderer.h"

namespace aplomb::report {

std::string compare_text(const compare::Comparison& comparison, const RenderOptions& options);
std::string compare_json(const compare::Comparison& comparison);
std::string compare_html(const compare::Comparison& comparison);

/// What the views say in words. The conclusion, what to do about it, and what "noise" was here.
std::string compare_headline(const compare::Comparison& comparison);
std::string compare_advice(const compare::Comparison& comparison);
std::string compare_noise(const compare::Comparison& comparison);

/// `step 14`, `1.2 M tokens`
std::string show_place(compare::Axis axis, double at);

/// `0.5 (0.4 to 0.6)`; of memory `12 GiB at most`.
std::string show_level(const compare::Level& level, const compare::Level::Side& side);

}  // namespace aplomb::report
