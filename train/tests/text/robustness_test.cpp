// Bytes that nobody meant: mutated tokenizer files, templates and data never end the program, and
// what is refused is refused with words. (Run under the sanitizers this is where they look.)
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "train/tests/text/small_model.h"
#include "train/text/chat_template.h"
#include "train/text/data_rows.h"
#include "train/text/dataset.h"
#include "train/text/shuffle.h"

namespace aplomb::train::text {
namespace {

/// A few random edits: bytes changed, pieces doubled, pieces taken out, pieces of `alphabet` put
/// in.
std::string mutated(std::string text, SplitMix& random, const std::vector<std::string>& alphabet) {
  const std::uint64_t edits = 1 + random.below(4);
  for (std::uint64_t i = 0; i < edits; ++i) {
    const auto at = static_cast<std::size_t>(random.below(text.size() + 1));
    const auto size = static_cast<std::size_t>(random.below(12));
    switch (random.below(4)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        text.insert(at, text.substr(at, size));
        break;
      case 2:
        text.erase(at, size);
        break;
      default:
        text.insert(at, alphabet[static_cast<std::size_t>(random.below(alphabet.size()))]);
    }
  }
  return text;
}

class RobustnessTest : public SmallModelTest {};

/// A tokenizer.json with a part of each kind.
constexpr const char* k_tokenizer = R"~(
{"added_tokens": [{"id": 4, "content": "<s>", "special": true, "lstrip": true}],
 "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Prepend", "prepend": "a"},
   {"type": "Replace", "pattern": {"Regex": "[ab]+(?!c)"}, "content": "b"}]},
 "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"String": " "},
   "behavior": "MergedWithNext", "invert": false}, {"type": "Metaspace", "replacement": "_"},
   {"type": "ByteLevel", "add_prefix_space": true, "use_regex": true}]},
 "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}},
   {"Sequence": {"id": "A"}}], "special_tokens": {"<s>": {"ids": [4]}}},
 "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Strip", "content": " ",
   "start": 1, "stop": 0}]},
 "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "_": 3}, "merges": ["a b"],
   "unk_token": "a", "byte_fallback": true, "end_of_word_suffix": "b"}})~";

TEST_F(RobustnessTest, MutatedTokenizersOpenOrSayWhyNot) {
  const std::vector<std::string> alphabet{"\"",    "null",       "{}",       "[]",
                                          "-1",    "4294967297", "\\ud800",  "Removed",
                                          "false", "(",          "\xF0\x9F", "\\u0000"};
  SplitMix random(1);
  int opened = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto tokenizer = Tokenizer::parse(mutated(k_tokenizer, random, alphabet), "t.json");
    if (!tokenizer) {
      EXPECT_FALSE(tokenizer.error().text.empty());
      continue;
    }
    ++opened;
    const auto ids = tokenizer->encode("ab <s> \xFF b\xE2\x82 c");
    tokenizer->decode(ids);
  }
  EXPECT_GT(opened, 100);
  EXPECT_LT(opened, 2900);
}

TEST_F(RobustnessTest, IdsAroundATextAreTokensThatThereAre) {
  std::string without = k_tokenizer;
  without.replace(without.find("added_tokens"), 5, "other");
  const auto tokenizer = Tokenizer::parse(without, "t.json");
  ASSERT_FALSE(tokenizer);
  EXPECT_THAT(tokenizer.error().text, testing::HasSubstr("adds the id 4, and there are 4 tokens"));
}

TEST_F(RobustnessTest, MutatedTemplatesRenderOrSayWhyNot) {
  const std::string base =
      "{%- set ns = namespace(a=1) -%}{% for m in messages[1:] if m.role != 'x' %}{{ m['content'] "
      "| trim "
      "~ loop.index }}{% if loop.last and not (ns.a == 2) %}{{ [1, 2][::-1] | join(', ') }}{% elif "
      "x is "
      "defined %}{{ {'a': 1} | tojson }}{% else %}{% set ns.a = ns.a + 1 %}{% endif %}{% endfor "
      "%}{% macro "
      "f(a, b='c') %}{{ a + b }}{% endmacro %}{{ f('z') }}{# no #}{{ 'a,b'.split(',')[0] if true "
      "else 3 }}";
  const std::vector<std::string> alphabet{
      "{{", "}}",   "{%", "%}",   "(",        ")",           "[", "]",
      "'",  "-",    "|",  " in ", " is not ", "{% endif %}", ":", "999999999999999999999",
      "**", " if ", "%"};
  SplitMix random(2);
  int parsed = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto chat = ChatTemplate::make(mutated(base, random, alphabet), "<s>", "</s>");
    if (!chat) {
      EXPECT_THAT(chat.error().text, testing::HasSubstr("line "));
      continue;
    }
    ++parsed;
    const auto spans = chat->render({{"user", "a"}, {"assistant", "b"}});
    EXPECT_TRUE(spans || !spans.error().text.empty());
  }
  EXPECT_GT(parsed, 100);
  EXPECT_LT(parsed, 3900);
}

TEST_F(RobustnessTest, ATemplateMakesNoValueThatContainsItselfOrHasNoEnd) {
  const auto said = [](std::string_view text) {
    const auto chat = ChatTemplate::make(text, "<s>", "</s>");
    if (!chat) return chat.error().text;
    const auto rendered = chat->text({{"user", "a"}}, false);
    return rendered ? *rendered : rendered.error().text;
  };
  const auto nested = testing::HasSubstr("a namespace cannot hold a namespace");
  EXPECT_THAT(said("{% set n = namespace(a=1) %}{% set n.x = n %}{{ n }}"), nested);
  EXPECT_THAT(said("{% set n = namespace(a=1) %}{% set n.x = [{'n': n}] %}{{ n | tojson }}"),
              nested);
  EXPECT_THAT(said("{% set n = namespace() %}{% set m = namespace(n=n) %}{{ m }}"), nested);
  EXPECT_THAT(said("{% set n = namespace(x=1) %}{% for i in range(5000) %}{% set n.x = [n.x] %}"
                   "{% endfor %}{{ n.x }}"),
              testing::HasSubstr("its lists are nested more than 100 deep"));
  EXPECT_THAT(said("{% set n = namespace(x='xxxxxxxxxx') %}{% for i in range(64) %}"
                   "{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}"),
              testing::HasSubstr("a value takes more than 64 MiB"));
  EXPECT_THAT(said("{% set n = namespace(x='xxxxxxxxxx') %}{% for i in range(64) %}"
                   "{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x }}"),
              testing::HasSubstr("a value takes more than 64 MiB"));
  EXPECT_THAT(said("{% set d = {'a': 1} %}{% set d.a = 2 %}"),
              testing::HasSubstr("d is no namespace"));
  EXPECT_EQ(said("{% set n = namespace(x=[]) %}{% for i in range(3) %}{% set n.x = n.x + [i] %}"
                 "{% endfor %}{{ n.x }}"),
            "[0, 1, 2]");
}

TEST_F(RobustnessTest, MutatedDataIsReadOrNamed) {
  std::string base =
      "{\"messages\": [{\"role\": \"user\", \"content\": \"hi \\u00e9\"}, "
      "{\"role\": \"assistant\", \"content\": \"yo\"}]}\n";
  base += base + base;
  const std::vector<std::string> alphabet{"\"", "{",  "}",    "[",    "]",      ",",
                                          "\n", "\\", "null", "\xC3", "\\ud83d"};
  SplitMix random(3);
  int opened = 0;
  for (int i = 0; i < 1500; ++i) {
    const auto path =
        write("data.json",
              mutated(i % 2 == 0 ? base : "{\"data\": [" + base.substr(0, base.size() / 3) + "]}",
                      random, alphabet));
    const auto data =
        Dataset::open({path}, codec(), {.max_length = 16, .most_defects = 1, .threads = 1});
    if (!data) {
      EXPECT_FALSE(data.error().text.empty());
      continue;
    }
    ++opened;
    for (std::uint64_t sample = 0; sample < data->size(); ++sample)
      EXPECT_LE(data->length(sample), 16);
  }
  EXPECT_GT(opened, 300);
}

}  // namespace
}  // namespace aplomb::train::text
