#pragma once
/// Canonical settings -> a framework's own keys and syntax: what a remedy tells the user to write.
///
///     render_settings("axolotl", {{"optim.lr", 2e-5}, {"precision.compute", "bf16"}})
///       -> learning_rate: 2.0e-05
///          bf16: true
///          fp16: false
///
/// The tables of knowledge/frameworks serve both ways: what is written here reads back as the same
/// settings.

#include <string>
#include <string_view>
#include <vector>

#include "knowledge/spell.h"
#include "knowledge/written_key.h"

namespace aplomb::knowledge {

/// The settings in the framework's own syntax, or in `syntax` where one is given (`flags` for
/// Hugging Face's command line). Keys that belong to another file or call stand in a block of their
/// own under a comment. `method` is what is trained for (train.method): it decides the class where a
/// framework has several (`GRPOConfig`). Settings without a key are left out. Empty where nothing can be written.
std::string render_settings(std::string_view framework, const std::vector<SettingValue>& settings,
                            std::string_view syntax = {}, const Versions& versions = {},
                            std::string_view method = {}, const OwnKeys& own = {});

/// The same for a program of no known framework, a line each: under the user's own key where a file
/// of theirs states the setting (`learning_rate: 3.0e-06`), else in words (`learning rate: 3e-06`).
std::string say_settings(const std::vector<SettingValue>& settings, const OwnKeys& own = {});

}  // namespace aplomb::knowledge
