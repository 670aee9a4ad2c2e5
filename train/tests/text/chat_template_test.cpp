#include "train/text/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aplomb::train::text {
namespace {

using testing::HasSubstr;

constexpr const char* k_chatml =
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + "
    "'<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% "
    "endif %}";

std::string counted(const std::vector<TextSpan>& spans) {
  std::string text;
  for (const TextSpan& span : spans) text += span.counts ? "[" + span.text + "]" : span.text;
  return text;
}

TEST(ChatTemplate, CountsWhatTheAssistantSaysWithItsEndOfTurn) {
  const auto chat = ChatTemplate::make(k_chatml, "", "<|im_end|>");
  ASSERT_TRUE(chat) << chat.error().text;
  const auto spans =
      chat->render({{"user", "Hi"}, {"assistant", "Yo"}, {"user", "?"}, {"assistant", "!"}});
  ASSERT_TRUE(spans) << spans.error().text;
  EXPECT_EQ(counted(*spans),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n[Yo<|im_end|>]\n"
            "<|im_start|>user\n?<|im_end|>\n<|im_start|>assistant\n[!<|im_end|>]\n");
}

TEST(ChatTemplate, ALineFeedThatAloneEndsATurnCounts) {
  const auto chat = ChatTemplate::make(
      "{% for m in messages %}{{ m.role + ': ' + m.content + '\n' }}{% endfor %}{% if "
      "add_generation_prompt %}assistant: {% endif %}",
      "", "");
  ASSERT_TRUE(chat);
  const auto spans = chat->render({{"user", "Hi"}, {"assistant", "Yo"}});
  ASSERT_TRUE(spans) << spans.error().text;
  EXPECT_EQ(counted(*spans), "user: Hi\nassistant: [Yo\n]");
}

TEST(ChatTemplate, WhatATemplateRefusesIsAnErrorWithItsWords) {
  const auto chat = ChatTemplate::make("{{ raise_exception('no system role here') }}", "", "");
  ASSERT_TRUE(chat);
  const auto spans = chat->render({{"system", "x"}});
  ASSERT_FALSE(spans);
  EXPECT_THAT(spans.error().text, HasSubstr("no system role here"));
}

TEST(ChatTemplate, AnAnswerThatTheTemplateLeavesOutIsAnError) {
  const auto chat = ChatTemplate::make(
      "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}", "", "");
  ASSERT_TRUE(chat);
  const auto spans = chat->render({{"user", "a"}, {"assistant", "b"}});
  ASSERT_FALSE(spans);
  EXPECT_THAT(spans.error().text, HasSubstr("message 1"));
}

TEST(ChatTemplate, BrokenTemplatesAreErrorsWithALine) {
  for (const char* text :
       {"{{", "{% if x %}", "{% for x in %}{% endfor %}", "{{ 'a }}", "{% endif %}",
        "{% include 'x' %}", "{{ a b }}", "{{ [1, }}", "{% set %}", "{{ x | }}", "{# never ends",
        "{% macro m( %}", "{{ a..b }}", "\n\n{{ ) }}"}) {
    const auto chat = ChatTemplate::make(text, "", "");
    ASSERT_FALSE(chat) << text;
    EXPECT_THAT(chat.error().text, HasSubstr("line ")) << text;
  }
  const std::string deep = "{{ " + std::string(100000, '(') + " }}";
  EXPECT_FALSE(ChatTemplate::make(deep, "", ""));
  const std::string minus = "{{ " + std::string(100000, '-') + "1 }}";
  EXPECT_FALSE(ChatTemplate::make(minus, "", ""));
}

TEST(ChatTemplate, FaultsOfARunningTemplateAreErrorsNotCrashes) {
  for (const char* text :
       {"{{ missing.member }}", "{{ 1 // 0 }}", "{{ 'a' - 1 }}", "{{ 3 | frobnicate }}",
        "{{ f() }}", "{% for x in 5 %}{% endfor %}", "{{ 1 < 'a' }}", "{{ range(1000000) }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "{% set a, b = [1] %}",
        "{{ 'a'[::0] }}"}) {
    const auto chat = ChatTemplate::make(text, "", "");
    ASSERT_TRUE(chat) << text << chat.error().text;
    EXPECT_FALSE(chat->text({{"user", "x"}}, false)) << text;
  }
}

TEST(ChatTemplate, BytesThatAreNoTextAreReadAsReplacementCharacters) {
  const auto chat = ChatTemplate::make(
      "{% for m in messages %}{{ m.content | trim }}{{ 'a\xe1' | trim "
      "}}{% endfor %}",
      "", "");
  ASSERT_TRUE(chat) << chat.error().text;
  const auto text = chat->text({{"user", "b\xf0"}}, false);
  ASSERT_TRUE(text) << text.error().text;
  EXPECT_EQ(*text,
            "b\xEF\xBF\xBD"
            "a\xEF\xBF\xBD");
}

TEST(ChatTemplate, TurnsThatStandBehindAllOthersAreNotFoundTwice) {
  const auto chat = ChatTemplate::make(
      "{% for m in messages %}.{% endfor %}{% for m in messages %}<{{ m.content }}>{% endfor %}",
      "", "");
  ASSERT_TRUE(chat) << chat.error().text;
  const auto spans =
      chat->render({{"user", "a"}, {"assistant", "b"}, {"user", "c"}, {"assistant", "d"}});
  ASSERT_FALSE(spans);
  EXPECT_NE(spans.error().text.find("generation"), std::string::npos);
}

TEST(ChatTemplate, EndlessOutputIsAnErrorNotAFullMemory) {
  const std::string line = "{{ '" + std::string(10000, 'x') + "' }}";
  const std::string loops = "{% for i in range(99999) %}" + line + "{% endfor %}";
  const auto chat = ChatTemplate::make(loops, "", "");
  ASSERT_TRUE(chat);
  const auto text = chat->text({{"user", "x"}}, false);
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().text, HasSubstr("64 MiB"));
}

}  // namespace
}  // namespace aplomb::train::text
