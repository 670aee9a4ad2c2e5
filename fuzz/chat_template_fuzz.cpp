/// Fuzzes chat templates: a template, and behind a zero byte what the turns say.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "train/text/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace aplomb;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = input.find('\0');
  const std::string said(end == std::string_view::npos ? "Hello" : input.substr(end + 1));
  const auto chat = train::text::ChatTemplate::make(input.substr(0, end), "<s>", "</s>");
  if (!chat) return 0;
  const std::vector<train::text::ChatTurn> turns = {{"system", "Be brief."},
                                                    {"user", said},
                                                    {"assistant", said + "!"},
                                                    {"user", "And then?"},
                                                    {"assistant", "Nothing."}};
  (void)chat->text({turns[1]}, true);
  const auto spans = chat->render(turns);
  const auto text = chat->text(turns, false);
  if (!spans || !text) return 0;
  std::string joined;
  for (const train::text::TextSpan& span : *spans) joined += span.text;
  if (joined != *text) std::abort();  // the spans are the conversation, in order
  return 0;
}
