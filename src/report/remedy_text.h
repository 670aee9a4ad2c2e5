#pragma once
/// A remedy's Settings in the words of the user's framework.

#include <map>
#include <string>
#include <string_view>

#include "diagnosis/diagnosis.h"
#include "record/run.h"

namespace aplomb::report {

/// Framework slug -> the change in its own keys. `generic` (in the user's own keys where a file states
/// them, else in words, one `name: value` a line) is always there; empty where the remedy changes no
/// setting.
std::map<std::string, std::string> render_remedy(const diagnosis::Remedy& remedy,
                                                 const record::Run& run);

/// The remedy as a sentence: begins with a capital letter, unless the first word is code
/// (`pin_memory=True`, `torch.compile`); a leading "or" is the list's to say. Sanitized.
std::string as_sentence(std::string_view text);

}  // namespace aplomb::report
