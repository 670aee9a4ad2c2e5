#include "train/text/normalizer.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "train/text/byte_level.h"
#include "train/text/sequence.h"
#include "train/text/unicode.h"
#include "train/text/utf8.h"

namespace aplomb::train::text {

namespace {

using Made = core::Result<std::unique_ptr<const Normalizer>>;

class Form : public Normalizer {
 public:
  explicit Form(NormalForm form) : form_(form) {}
  void apply(std::string& text) const override { normalize(text, form_); }

 private:
  NormalForm form_;
};

class Lowercase : public Normalizer {
 public:
  void apply(std::string& text) const override { to_lower(text); }
};

class ByteCharacters : public Normalizer {
 public:
  void apply(std::string& text) const override { text = to_byte_characters(text); }
};

class StripAccents : public Normalizer {
 public:
  void apply(std::string& text) const override {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const char32_t point = next_valid(text, at);
      if (!is_mark(point)) append_utf8(out, point);
    }
    text = std::move(out);
  }
};

/// sentencepiece's nmt_nfkc rules for controls and odd spaces.
class Nmt : public Normalizer {
 public:
  void apply(std::string& text) const override {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const char32_t point = next_valid(text, at);
      if (dropped(point)) continue;
      append_utf8(out, as_space(point) ? U' ' : point);
    }
    text = std::move(out);
  }

 private:
  static bool dropped(char32_t p) {
    return (p >= 0x01 && p <= 0x08) || p == 0x0B || (p >= 0x0E && p <= 0x1F) || p == 0x7F ||
           p == 0x8F || p == 0x9F;
  }
  static bool as_space(char32_t p) {
    return p == 0x09 || p == 0x0A || p == 0x0C || p == 0x0D || p == 0x1680 ||
           (p >= 0x200B && p <= 0x200F) || p == 0x2028 || p == 0x2029 || p == 0x2581 ||
           p == 0xFEFF || p == 0xFFFD;
  }
};

class Strip : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  void apply(std::string& text) const override {
    std::size_t end = text.size();
    while (right_ && end > 0) {
      std::size_t begin = end;
      if (!is_space(previous_valid(text, begin))) break;
      end = begin;
    }
    std::size_t begin = 0;
    while (left_ && begin < end) {
      std::size_t after = begin;
      if (!is_space(next_valid(text, after))) break;
      begin = after;
    }
    text = text.substr(begin, end - begin);
  }

 private:
  bool left_;
  bool right_;
};

class Prepend : public Normalizer {
 public:
  explicit Prepend(std::string_view what) : what_(what) {}
  void apply(std::string& text) const override {
    if (!text.empty()) text.insert(0, what_);
  }

 private:
  std::string what_;
};

class Replace : public Normalizer {
 public:
  Replace(Regex pattern, std::string_view content)
      : pattern_(std::move(pattern)), content_(content) {}
  void apply(std::string& text) const override { replace_all(pattern_, content_, text); }

 private:
  Regex pattern_;
  std::string content_;
};

Made make_replace(const Json& json) {
  core::Result<Regex> pattern = make_pattern(json, "normalizer Replace");
  if (!pattern) return tl::unexpected<core::Error>(pattern.error());
  const auto content = text_member(json, "content");
  if (!content)
    return core::fail(core::ErrorCode::bad_format, "normalizer Replace has no `content`");
  return std::make_unique<const Replace>(std::move(*pattern), *content);
}

std::optional<NormalForm> form_named(std::string_view type) {
  if (type == "NFC") return NormalForm::nfc;
  if (type == "NFD") return NormalForm::nfd;
  if (type == "NFKC") return NormalForm::nfkc;
  if (type == "NFKD") return NormalForm::nfkd;
  return std::nullopt;
}

}  // namespace

Made make_normalizer(const Json& json) {
  const std::string_view type = text_member(json, "type").value_or("");
  if (const auto form = form_named(type)) return std::make_unique<const Form>(*form);
  if (type == "Lowercase") return std::make_unique<const Lowercase>();
  if (type == "StripAccents") return std::make_unique<const StripAccents>();
  if (type == "ByteLevel") return std::make_unique<const ByteCharacters>();
  if (type == "Nmt") return std::make_unique<const Nmt>();
  if (type == "Strip")
    return std::make_unique<const Strip>(flag_member(json, "strip_left", true),
                                         flag_member(json, "strip_right", true));
  if (type == "Prepend")
    return std::make_unique<const Prepend>(text_member(json, "prepend").value_or(""));
  if (type == "Replace") return make_replace(json);
  if (type == "Sequence")
    return make_sequence<Normalizer, std::string>(json, "normalizer", make_normalizer);
  return core::fail(core::ErrorCode::unsupported,
                    fmt::format("normalizer \"{}\" is not supported", type));
}

core::Result<Regex> make_pattern(const Json& owner, std::string_view part) {
  const auto pattern = member(owner, "pattern");
  if (pattern) {
    if (const auto text = text_member(*pattern, "String")) {
      if (!text->empty()) return Regex::literal(*text);
    }
    if (const auto text = text_member(*pattern, "Regex")) {
      core::Result<Regex> regex = Regex::compile(*text);
      if (!regex)
        return core::fail(regex.error().code, fmt::format("{}: {}", part, regex.error().text));
      return regex;
    }
  }
  return core::fail(core::ErrorCode::bad_format,
                    fmt::format("{} has no `pattern` with a String or a Regex", part));
}

void replace_all(const Regex& pattern, std::string_view content, std::string& text) {
  std::string out;
  std::size_t done = 0;
  for_each_match(pattern, text, [&](const Match& match) {
    out.append(text, done, match.begin - done);
    out += content;
    done = match.end;
  });
  if (done == 0) return;
  out.append(text, done);
  text = std::move(out);
}

}  // namespace aplomb::train::text
