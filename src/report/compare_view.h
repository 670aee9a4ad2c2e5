#pragma once
/// Views of a Comparison: the terminal's and JSON (schema `aplomb.compare/1`).

#include <string>

#include "compare/compare.h"
#include "report/renderer.h"

namespace aplomb {

std::string compare_text(const compare::Comparison& comparison, const RenderOptions& options);
std::string compare_json(const compare::Comparison& comparison);

/// What both views say in words. The conclusion, what to do about it, and what "noise" was here.
std::string compare_headline(const compare::Comparison& comparison);
std::string compare_advice(const compare::Comparison& comparison);
std::string compare_noise(const compare::Comparison& comparison);

/// `step 14`, `1.2 M tokens`
std::string show_place(compare::Axis axis, double at);

}  // namespace aplomb
