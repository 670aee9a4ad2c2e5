#include "train/text/added_tokens.h"

#include <algorithm>
#include <utility>

#include "train/text/unicode.h"
#include "train/text/utf8.h"

namespace aplomb::train::text {

namespace {

bool is_single_word(std::string_view text, std::size_t begin, std::size_t end) {
  if (begin > 0) {
    std::size_t at = begin;
    if (is_word(previous_valid(text, at))) return false;
  }
  std::size_t at = end;
  return end == text.size() || !is_word(next_valid(text, at));
}

std::size_t with_blanks_before(std::string_view text, std::size_t begin) {
  while (begin > 0) {
    std::size_t at = begin;
    if (!is_space(previous_valid(text, at))) break;
    begin = at;
  }
  return begin;
}

std::size_t with_blanks_after(std::string_view text, std::size_t end) {
  while (end < text.size()) {
    std::size_t at = end;
    if (!is_space(next_valid(text, at))) break;
    end = at;
  }
  return end;
}

}  // namespace

void TokenMatcher::add(std::string content, std::size_t token) {
  if (content.empty()) return;
  auto& bucket = by_first_byte_[static_cast<unsigned char>(content.front())];
  bucket.push_back(static_cast<std::uint32_t>(contents_.size()));
  contents_.push_back({std::move(content), token});
  std::stable_sort(bucket.begin(), bucket.end(), [&](std::uint32_t a, std::uint32_t b) {
    return contents_[a].text.size() > contents_[b].text.size();
  });
}

std::optional<TokenMatcher::Found> TokenMatcher::find(std::string_view text,
                                                      std::size_t from) const {
  for (std::size_t at = from; at < text.size(); ++at) {
    const auto& bucket = by_first_byte_[static_cast<unsigned char>(text[at])];
    for (const std::uint32_t i : bucket) {
      const Content& content = contents_[i];
      if (text.compare(at, content.text.size(), content.text) == 0)
        return Found{.begin = at, .end = at + content.text.size(), .token = content.token};
    }
  }
  return std::nullopt;
}

void split_at_tokens(std::string_view text, const TokenMatcher& matcher,
                     const std::vector<AddedToken>& tokens, std::vector<TextPart>& out) {
  std::size_t done = 0;
  std::size_t from = 0;
  while (!matcher.empty()) {
    const auto found = matcher.find(text, from);
    if (!found) break;
    from = found->end;
    const AddedToken& token = tokens[found->token];
    if (token.single_word && !is_single_word(text, found->begin, found->end)) continue;
    std::size_t begin = found->begin;
    std::size_t end = found->end;
    if (token.lstrip) begin = std::max(with_blanks_before(text, begin), done);
    if (token.rstrip) end = with_blanks_after(text, end);
    if (done < begin) out.push_back({.begin = done, .end = begin, .id = std::nullopt});
    out.push_back({.begin = begin, .end = end, .id = token.id});
    done = end;
  }
  if (done < text.size()) out.push_back({.begin = done, .end = text.size(), .id = std::nullopt});
}

}  // namespace aplomb::train::text
