#include "train/text/pre_tokenizer.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "train/text/byte_level.h"
#include "train/text/normalizer.h"
#include "train/text/regex.h"
#include "train/text/unicode.h"
#include "train/text/utf8.h"

namespace aplomb::train::text {

namespace {

using Made = core::Result<std::unique_ptr<const PreTokenizer>>;

/// Cuts every piece; `find(text, piece, cuts)` gives its matches and what lies between them.
template <class Find>
void cut_all(Pieces& pieces, Behaviour behaviour, Find find) {
  std::vector<Piece> out;
  out.reserve(pieces.list.size() * 2);
  std::vector<Cut> cuts;
  for (const Piece& piece : pieces.list) {
    cuts.clear();
    find(pieces.of(piece), piece.begin, cuts);
    split_piece(piece, cuts, behaviour, out);
  }
  pieces.list = std::move(out);
}

void cuts_of(const Regex& regex, bool invert, std::string_view text, std::size_t offset,
             std::vector<Cut>& cuts) {
  std::size_t done = 0;
  for_each_match(regex, text, [&](const Match& match) {
    if (match.begin > done) cuts.push_back({offset + done, offset + match.begin, invert});
    cuts.push_back({offset + match.begin, offset + match.end, !invert});
    done = match.end;
  });
  if (done < text.size()) cuts.push_back({offset + done, offset + text.size(), invert});
}

/// Rebuilds the text piece by piece: rewrite(piece's text, piece) gives the new text.
template <class Rewrite>
void rewrite_all(Pieces& pieces, Rewrite rewrite) {
  std::string text;
  text.reserve(pieces.text.size() * 2);
  for (Piece& piece : pieces.list) {
    const std::size_t begin = text.size();
    rewrite(pieces.of(piece), piece, text);
    piece.begin = begin;
    piece.end = text.size();
  }
  pieces.text = std::move(text);
}

class Split : public PreTokenizer {
 public:
  Split(Regex regex, Behaviour behaviour, bool invert)
      : regex_(std::move(regex)), behaviour_(behaviour), invert_(invert) {}
  void apply(Pieces& pieces) const override {
    cut_all(pieces, behaviour_,
            [&](std::string_view text, std::size_t offset, std::vector<Cut>& cuts) {
              cuts_of(regex_, invert_, text, offset, cuts);
            });
  }

 private:
  Regex regex_;
  Behaviour behaviour_;
  bool invert_;
};

/// Cuts at single characters that `matches` names.
class SplitAt : public PreTokenizer {
 public:
  using Matches = bool (*)(char32_t);
  SplitAt(Matches matches, Behaviour behaviour) : matches_(matches), behaviour_(behaviour) {}
  void apply(Pieces& pieces) const override {
    cut_all(pieces, behaviour_,
            [&](std::string_view text, std::size_t offset, std::vector<Cut>& cuts) {
              std::size_t done = 0;
              for (std::size_t at = 0; at < text.size();) {
                const std::size_t begin = at;
                if (!matches_(next_valid(text, at))) continue;
                if (begin > done) cuts.push_back({offset + done, offset + begin, false});
                cuts.push_back({offset + begin, offset + at, true});
                done = at;
              }
              if (done < text.size()) cuts.push_back({offset + done, offset + text.size(), false});
            });
  }

 private:
  Matches matches_;
  Behaviour behaviour_;
};

/// `\w+|[^\w\s]+`, all else removed.
class Whitespace : public PreTokenizer {
 public:
  void apply(Pieces& pieces) const override {
    cut_all(pieces, Behaviour::removed,
            [](std::string_view text, std::size_t offset, std::vector<Cut>& cuts) {
              Kind last = Kind::space;
              for (std::size_t at = 0; at < text.size();) {
                const std::size_t begin = at;
                const Kind kind = kind_of(next_valid(text, at));
                if (begin > 0 && kind == last) {
                  cuts.back().end = offset + at;
                } else {
                  cuts.push_back({offset + begin, offset + at, kind == Kind::space});
                }
                last = kind;
              }
            });
  }

 private:
  enum class Kind { space, word, other };
  static Kind kind_of(char32_t point) {
    if (is_word(point)) return Kind::word;
    return is_space(point) ? Kind::space : Kind::other;
  }
};

class AddPrefixSpace : public PreTokenizer {
 public:
  void apply(Pieces& pieces) const override {
    rewrite_all(pieces, [](std::string_view text, const Piece&, std::string& out) {
      if (!text.starts_with(' ')) out += ' ';
      out += text;
    });
  }
};

class ByteCharacters : public PreTokenizer {
 public:
  void apply(Pieces& pieces) const override {
    rewrite_all(pieces, [](std::string_view text, const Piece&, std::string& out) {
      out += to_byte_characters(text);
    });
  }
};

enum class PrependScheme { always, never, first };

class Metaspace : public PreTokenizer {
 public:
  Metaspace(std::string_view mark, PrependScheme scheme, bool split)
      : mark_(mark), scheme_(scheme), split_(split), regex_(Regex::literal(mark)) {}
  void apply(Pieces& pieces) const override {
    rewrite_all(pieces, [&](std::string_view text, const Piece& piece, std::string& out) {
      const bool prepends =
          scheme_ == PrependScheme::always || (scheme_ == PrependScheme::first && piece.at_start);
      if (prepends && !text.starts_with(mark_) && !text.starts_with(' ')) out += mark_;
      for (const char c : text) {
        if (c == ' ') {
          out += mark_;
        } else {
          out += c;
        }
      }
    });
    if (!split_) return;
    cut_all(pieces, Behaviour::merged_with_next,
            [&](std::string_view text, std::size_t offset, std::vector<Cut>& cuts) {
              cuts_of(regex_, false, text, offset, cuts);
            });
  }

 private:
  std::string mark_;
  PrependScheme scheme_;
  bool split_;
  Regex regex_;
};

class Steps : public PreTokenizer {
 public:
  explicit Steps(std::vector<std::unique_ptr<const PreTokenizer>> steps)
      : steps_(std::move(steps)) {}
  void apply(Pieces& pieces) const override {
    for (const auto& step : steps_) step->apply(pieces);
  }

 private:
  std::vector<std::unique_ptr<const PreTokenizer>> steps_;
};

using StepList = std::vector<std::unique_ptr<const PreTokenizer>>;

core::Result<void> add_steps(const Json& json, StepList& steps);

/// GPT-2's words (tokenizers, pre_tokenizers/byte_level.rs).
constexpr std::string_view k_gpt2_words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

core::Result<void> add_byte_level(const Json& json, StepList& steps) {
  if (flag_member(json, "add_prefix_space", true))
    steps.push_back(std::make_unique<const AddPrefixSpace>());
  if (flag_member(json, "use_regex", true)) {
    core::Result<Regex> words = Regex::compile(k_gpt2_words);
    if (!words) return tl::unexpected<core::Error>(words.error());
    steps.push_back(std::make_unique<const Split>(std::move(*words), Behaviour::isolated, false));
  }
  steps.push_back(std::make_unique<const ByteCharacters>());
  return {};
}

core::Result<void> add_split(const Json& json, StepList& steps) {
  core::Result<Regex> pattern = make_pattern(json, "pre_tokenizer Split");
  if (!pattern) return tl::unexpected<core::Error>(pattern.error());
  const std::string_view name = text_member(json, "behavior").value_or("");
  const auto behaviour = behaviour_named(name);
  if (!behaviour)
    return core::fail(core::ErrorCode::unsupported,
                      fmt::format("pre_tokenizer Split: behavior \"{}\" is not supported", name));
  steps.push_back(std::make_unique<const Split>(std::move(*pattern), *behaviour,
                                                flag_member(json, "invert", false)));
  return {};
}

core::Result<void> add_metaspace(const Json& json, StepList& steps) {
  // Older files say add_prefix_space (bool) in place of prepend_scheme.
  const bool prefix = flag_member(json, "add_prefix_space", true);
  const std::string_view scheme =
      text_member(json, "prepend_scheme").value_or(prefix ? "always" : "never");
  PrependScheme kind = PrependScheme::always;
  if (scheme == "never") kind = PrependScheme::never;
  if (scheme == "first") kind = PrependScheme::first;
  const std::string_view mark = text_member(json, "replacement").value_or("\u2581");
  if (mark.empty())
    return core::fail(core::ErrorCode::bad_format,
                      "pre_tokenizer Metaspace has an empty `replacement`");
  steps.push_back(std::make_unique<const Metaspace>(mark, kind, flag_member(json, "split", true)));
  return {};
}

core::Result<void> add_punctuation(const Json& json, StepList& steps) {
  const std::string_view name = text_member(json, "behavior").value_or("Isolated");
  const auto behaviour = behaviour_named(name);
  if (!behaviour)
    return core::fail(
        core::ErrorCode::unsupported,
        fmt::format("pre_tokenizer Punctuation: behavior \"{}\" is not supported", name));
  steps.push_back(std::make_unique<const SplitAt>(is_punctuation, *behaviour));
  return {};
}

core::Result<void> add_sequence(const Json& json, StepList& steps) {
  const auto list = array_member(json, "pretokenizers");
  if (!list)
    return core::fail(core::ErrorCode::bad_format,
                      "pre_tokenizer Sequence has no list `pretokenizers`");
  for (const Json each : *list) {
    core::Result<void> added = add_steps(each, steps);
    if (!added) return added;
  }
  return {};
}

core::Result<void> add_character_split(const Json& json, StepList& steps) {
  const std::string_view delimiter = text_member(json, "delimiter").value_or("");
  if (delimiter.empty())
    return core::fail(core::ErrorCode::bad_format,
                      "pre_tokenizer CharDelimiterSplit has no `delimiter`");
  steps.push_back(
      std::make_unique<const Split>(Regex::literal(delimiter), Behaviour::removed, false));
  return {};
}

core::Result<void> add_steps(const Json& json, StepList& steps) {
  const std::string_view type = text_member(json, "type").value_or("");
  if (type == "ByteLevel") return add_byte_level(json, steps);
  if (type == "Split") return add_split(json, steps);
  if (type == "Metaspace") return add_metaspace(json, steps);
  if (type == "Punctuation") return add_punctuation(json, steps);
  if (type == "Sequence") return add_sequence(json, steps);
  if (type == "CharDelimiterSplit") return add_character_split(json, steps);
  if (type == "Digits") {
    const bool each = flag_member(json, "individual_digits", false);
    steps.push_back(std::make_unique<const SplitAt>(
        is_number, each ? Behaviour::isolated : Behaviour::contiguous));
  } else if (type == "Whitespace") {
    steps.push_back(std::make_unique<const Whitespace>());
  } else if (type == "WhitespaceSplit") {
    steps.push_back(std::make_unique<const SplitAt>(is_space, Behaviour::removed));
  } else if (type == "BertPreTokenizer") {
    steps.push_back(std::make_unique<const SplitAt>(is_space, Behaviour::removed));
    steps.push_back(std::make_unique<const SplitAt>(is_punctuation, Behaviour::isolated));
  } else {
    return core::fail(core::ErrorCode::unsupported,
                      fmt::format("pre_tokenizer \"{}\" is not supported", type));
  }
  return {};
}

}  // namespace

core::Result<PreTokenizing> make_pre_tokenizing(const Json& json) {
  StepList steps;
  const core::Result<void> added = add_steps(json, steps);
  if (!added) return tl::unexpected<core::Error>(added.error());
  PreTokenizing made;
  if (!steps.empty() && dynamic_cast<const ByteCharacters*>(steps.back().get()) != nullptr) {
    made.on_bytes = true;
    steps.pop_back();
  }
  if (!steps.empty()) made.steps = std::make_unique<const Steps>(std::move(steps));
  return made;
}

}  // namespace aplomb::train::text
