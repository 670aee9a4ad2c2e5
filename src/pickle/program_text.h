#pragma once
/// What of a checkpoint is program text and no pickle: chat templates (Jinja), Keras's Lambda layers,
/// the modules that a configuration has transformers load or hydra call, machine code. Nothing is
/// executed.
///
///   code.template  (failed)   a template that reaches for Python's own attributes, or runs commands
///   code.lambda    (failed)   a configuration of Keras that holds marshalled Python code
///   code.remote    (warning, note)  a configuration that names modules of a repository to be run
///
///     std::vector<tensors::Finding> found;
///     audit_code(bytes, "out/tokenizer_config.json", found);

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensors/finding.h"

namespace aplomb::pickle {

/// By the file's name and its first bytes; files of other kinds give nothing.
void audit_code(std::span<const std::byte> bytes, const std::string& path,
                std::vector<tensors::Finding>& out);

/// What in a Jinja template is no template's business; empty where there is nothing. Templates run
/// with the rights of whoever renders them; only some loaders use Jinja's sandbox.
std::string reach_of_template(std::string_view source);

}  // namespace aplomb::pickle
