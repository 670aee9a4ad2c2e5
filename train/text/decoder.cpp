#include "train/text/decoder.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "train/text/byte_level.h"
#include "train/text/normalizer.h"
#include "train/text/sequence.h"
#include "train/text/utf8.h"

namespace aplomb::train::text {

namespace {

using Made = core::Result<std::unique_ptr<const Decoder>>;
using Tokens = std::vector<std::string>;

std::string joined(const Tokens& tokens) {
  std::string out;
  for (const std::string& token : tokens) out += token;
  return out;
}

class ByteLevel : public Decoder {
 public:
  void apply(Tokens& tokens) const override {
    std::string bytes;
    for (const std::string& token : tokens) {
      const auto plain = from_byte_characters(token);
      bytes += plain ? *plain : token;  // an added token stands as it is
    }
    tokens.assign(1, repaired_utf8(bytes));
  }
};

/// <0xE2> <0x96> <0x81> -> the character; bytes that are none become one U+FFFD each.
class ByteFallback : public Decoder {
 public:
  void apply(Tokens& tokens) const override {
    Tokens out;
    std::string bytes;
    const auto flush = [&] {
      if (bytes.empty()) return;
      if (is_utf8(bytes)) {
        out.push_back(bytes);
      } else {
        out.insert(out.end(), bytes.size(), "\uFFFD");
      }
      bytes.clear();
    };
    for (std::string& token : tokens) {
      if (const auto byte = byte_token(token)) {
        bytes += *byte;
        continue;
      }
      flush();
      out.push_back(std::move(token));
    }
    flush();
    tokens = std::move(out);
  }

 private:
  static std::optional<char> byte_token(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || !token.ends_with('>'))
      return std::nullopt;
    unsigned value = 0;
    const char* const end = token.data() + 5;
    if (std::from_chars(token.data() + 3, end, value, 16).ptr != end) return std::nullopt;
    return static_cast<char>(static_cast<unsigned char>(value));
  }
};

class Fuse : public Decoder {
 public:
  void apply(Tokens& tokens) const override { tokens.assign(1, joined(tokens)); }
};

class Replace : public Decoder {
 public:
  Replace(Regex pattern, std::string_view content)
      : pattern_(std::move(pattern)), content_(content) {}
  void apply(Tokens& tokens) const override {
    for (std::string& token : tokens) replace_all(pattern_, content_, token);
  }

 private:
  Regex pattern_;
  std::string content_;
};

/// Takes up to `start` of `content` off the head of each token and up to `stop` off its tail.
class Strip : public Decoder {
 public:
  Strip(std::string_view content, std::int64_t start, std::int64_t stop)
      : content_(content), start_(start), stop_(stop) {}
  void apply(Tokens& tokens) const override {
    for (std::string& token : tokens) {
      std::string_view left(token);
      for (std::int64_t i = 0; i < start_ && left.starts_with(content_); ++i)
        left.remove_prefix(content_.size());
      for (std::int64_t i = 0; i < stop_ && left.ends_with(content_); ++i)
        left.remove_suffix(content_.size());
      token = std::string(left);
    }
  }

 private:
  std::string content_;
  std::int64_t start_;
  std::int64_t stop_;
};

class Metaspace : public Decoder {
 public:
  Metaspace(std::string_view mark, bool prepends) : mark_(mark), prepends_(prepends) {}
  void apply(Tokens& tokens) const override {
    const Regex mark = Regex::literal(mark_);
    for (std::size_t i = 0; i < tokens.size(); ++i)
      replace_all(mark, i == 0 && prepends_ ? "" : " ", tokens[i]);
  }

 private:
  std::string mark_;
  bool prepends_;
};

/// Words end in the suffix: it becomes the blank between them.
class WordSuffix : public Decoder {
 public:
  explicit WordSuffix(std::string_view suffix) : suffix_(suffix) {}
  void apply(Tokens& tokens) const override {
    const Regex suffix = Regex::literal(suffix_);
    for (std::size_t i = 0; i < tokens.size(); ++i)
      replace_all(suffix, i + 1 == tokens.size() ? "" : " ", tokens[i]);
  }

 private:
  std::string suffix_;
};

Made make_metaspace(const Json& json) {
  const bool prefix = flag_member(json, "add_prefix_space", true);
  const std::string_view scheme =
      text_member(json, "prepend_scheme").value_or(prefix ? "always" : "never");
  return std::make_unique<const Metaspace>(text_member(json, "replacement").value_or("\u2581"),
                                           scheme != "never");
}

Made make_replace(const Json& json) {
  core::Result<Regex> pattern = make_pattern(json, "decoder Replace");
  if (!pattern) return tl::unexpected<core::Error>(pattern.error());
  return std::make_unique<const Replace>(std::move(*pattern),
                                         text_member(json, "content").value_or(""));
}

}  // namespace

Made make_decoder(const Json& json) {
  const std::string_view type = text_member(json, "type").value_or("");
  if (type == "ByteLevel") return std::make_unique<const ByteLevel>();
  if (type == "ByteFallback") return std::make_unique<const ByteFallback>();
  if (type == "Fuse") return std::make_unique<const Fuse>();
  if (type == "Metaspace") return make_metaspace(json);
  if (type == "Replace") return make_replace(json);
  if (type == "Sequence") return make_sequence<Decoder, Tokens>(json, "decoder", make_decoder);
  if (type == "Strip")
    return std::make_unique<const Strip>(text_member(json, "content").value_or(" "),
                                         whole_member(json, "start").value_or(0),
                                         whole_member(json, "stop").value_or(0));
  if (type == "BPEDecoder")
    return std::make_unique<const WordSuffix>(text_member(json, "suffix").value_or("</w>"));
  return core::fail(core::ErrorCode::unsupported,
                    fmt::format("decoder \"{}\" is not supported", type));
}

}  // namespace aplomb::train::text
