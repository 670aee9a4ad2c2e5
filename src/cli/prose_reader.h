#pragma once
/// `diagnose --reader URL`: asks an endpoint of the user's own what a text says (OpenAI's
/// /chat/completions, as llama.cpp, vLLM and Ollama have it). What comes back is taken apart within
/// the sandbox, by api/declared_text.h.

#include <aplomb/diagnose.h>

#include <string>
#include <vector>

#include "arguments/arguments.h"
#include "core/result.h"

namespace aplomb::cli {

class ProseReader {
 public:
  void declare(const arguments::Verb& verb);
  /// Whether the endpoint may be asked. Errors: bad_usage.
  core::Result<void> check() const;
  /// Of those named files that people wrote. What fails is told, and the rest goes on.
  std::vector<DeclaredText> ask(const std::vector<std::string>& paths) const;

 private:
  std::string url_;
  std::string host_;
  std::string model_ = "default";
};

}  // namespace aplomb::cli
