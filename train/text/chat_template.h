#pragma once
/// ChatTemplate: the chat template of a model (Jinja), and which part of what it writes the
/// assistant says.
///
///     auto chat = ChatTemplate::make(codec.chat_template, codec.bos_token, codec.eos_token);
///     auto parts = chat->render({{"user", "Hi"}, {"assistant", "Hello."}});
///
/// What the assistant says begins where the template's generation prompt ends (that is what the
/// model will be given at inference) and ends with its end of turn; a line feed that only separates
/// turns does not count. A template that marks it with {% generation %} is taken at its word.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace aplomb::train::text {

struct TextSpan {
  std::string text;
  bool counts = false;  ///< in the loss
};

struct ChatTurn {
  std::string role;  ///< system | user | assistant | tool
  std::string content;
};

namespace jinja {
class Program;
}

class ChatTemplate {
 public:
  /// Errors: a template that does not parse, with line and reason. Here and in turns, bytes that
  /// are no UTF-8 are read as U+FFFD.
  static core::Result<ChatTemplate> make(std::string_view text, std::string_view bos_token,
                                         std::string_view eos_token);

  /// The whole conversation. Errors: what the template itself refuses (roles out of turn...), a
  /// construct that is not supported, an assistant's turn that cannot be found in the text.
  core::Result<std::vector<TextSpan>> render(const std::vector<ChatTurn>& turns) const;
  /// The text alone.
  core::Result<std::string> text(const std::vector<ChatTurn>& turns, bool generation_prompt) const;

 private:
  std::shared_ptr<const train::text::jinja::Program> program_;
  std::string bos_;
  std::string eos_;
};

}  // namespace aplomb::train::text
