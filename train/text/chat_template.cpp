#include "train/text/chat_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/text.h"
#include "train/text/jinja.h"
#include "train/text/utf8.h"

namespace aplomb::train::text {

namespace {

/// Stands at the end of one turn's text to find it again in the output. Private-use characters: no
/// template looks for them.
constexpr std::string_view k_mark = "\uE0A7\uE0A9\uE0A7";

std::size_t common_prefix(std::string_view a, std::string_view b) {
  const auto ends = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<std::size_t>(ends.first - a.begin());
}

/// `turns` up to `count`, with the mark behind the words of turn `marked`.
std::vector<ChatTurn> with_mark(const std::vector<ChatTurn>& turns, std::size_t count,
                                std::size_t marked) {
  std::vector<ChatTurn> made(turns.begin(), turns.begin() + static_cast<std::ptrdiff_t>(count));
  std::string& content = made[marked].content;
  content.insert(content.find_last_not_of(" \t\r\n") + 1, k_mark);
  return made;
}

/// A text that the mark cuts in two.
struct Marked {
  std::string before;
  std::string after;
};
std::optional<Marked> cut_at_mark(const std::string& text) {
  const std::size_t at = text.find(k_mark);
  if (at == std::string::npos || text.find(k_mark, at + 1) != std::string::npos)
    return std::nullopt;
  return Marked{.before = text.substr(0, at), .after = text.substr(at + k_mark.size())};
}

/// The first `agreed` characters of `rest` are how a turn ends; they may reach into the tag that
/// follows (`<|end|>` and `</s>` begin alike), and blanks behind a tag only separate turns.
std::string_view end_of_turn(std::string_view rest, std::size_t agreed) {
  std::string_view end = rest.substr(0, agreed);
  for (const auto& [open, close] : {std::pair('<', '>'), std::pair('[', ']')}) {
    const std::size_t begin = end.rfind(open);
    const bool whole =
        begin == std::string_view::npos || end.find(close, begin) != std::string_view::npos;
    if (!whole) end = end.substr(0, begin);
  }
  return core::trim(end).empty() ? end : end.substr(0, end.find_last_not_of(" \t\r\n") + 1);
}

struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Ranges as they ended; of one within another ({% generation %} in itself) the inner one holds.
std::vector<TextSpan> spans(const std::string& text, const std::vector<Range>& counted) {
  std::vector<TextSpan> made;
  std::size_t done = 0;
  for (const Range& range : counted) {
    if (range.begin < done) continue;
    made.push_back({text.substr(done, range.begin - done), false});
    made.push_back({text.substr(range.begin, range.end - range.begin), true});
    done = range.end;
  }
  made.push_back({text.substr(done), false});
  std::erase_if(made, [](const TextSpan& span) { return span.text.empty(); });
  return made;
}

}  // namespace

core::Result<ChatTemplate> ChatTemplate::make(std::string_view text, std::string_view bos_token,
                                              std::string_view eos_token) {
  auto program = train::text::jinja::Program::parse(repaired_utf8(text));
  if (!program)
    return core::fail(
        program.error().code,
        fmt::format("chat template, {}; simplify the template, or write the data as `prompt` "
                    "and `completion`",
                    program.error().text));
  ChatTemplate made;
  made.program_ = std::move(*program);
  made.bos_ = repaired_utf8(bos_token);
  made.eos_ = repaired_utf8(eos_token);
  return made;
}

namespace {

core::Result<train::text::jinja::Output> run(const train::text::jinja::Program& program,
                                             const std::vector<ChatTurn>& turns,
                                             bool generation_prompt, const std::string& bos,
                                             const std::string& eos) {
  train::text::jinja::List messages;
  // The interpreter's texts are UTF-8 throughout: it goes through them by code points.
  for (const ChatTurn& turn : turns) {
    messages.emplace_back(train::text::jinja::Mapping{{"role", repaired_utf8(turn.role)},
                                                      {"content", repaired_utf8(turn.content)}});
  }
  return program.render({{"messages", std::move(messages)},
                         {"add_generation_prompt", generation_prompt},
                         {"tools", train::text::jinja::None()},
                         {"documents", train::text::jinja::None()},
                         {"bos_token", bos},
                         {"eos_token", eos}});
}

/// Where in `full` what turn `turn` says stands, its end of turn included.
class TurnFinder {
 public:
  TurnFinder(const ChatTemplate& chat, const std::vector<ChatTurn>& turns, const std::string& full)
      : chat_(chat), turns_(turns), full_(full) {}

  core::Result<Range> find(std::size_t turn) const {
    const auto whole = marked(turns_.size(), turn);
    if (!whole) return tl::unexpected<core::Error>(whole.error());
    if (whole->before + whole->after != full_) return lost(turn);
    const std::size_t words_end = whole->before.size();
    // What would be there if the conversation ended here is the turn's end; what else follows in
    // `full_` belongs to the next turn.
    const auto last = marked(turn + 1, turn);
    if (!last) return tl::unexpected<core::Error>(last.error());
    const std::string_view rest = std::string_view(full_).substr(words_end);
    const std::string_view end = end_of_turn(rest, common_prefix(last->after, rest));
    const auto prompt =
        chat_.text({turns_.begin(), turns_.begin() + static_cast<std::ptrdiff_t>(turn)}, true);
    if (!prompt) return tl::unexpected<core::Error>(prompt.error());
    const std::size_t begin = common_prefix(*prompt, full_);
    if (begin > words_end) return lost(turn);
    return Range{.begin = begin, .end = words_end + end.size()};
  }

  static tl::unexpected<core::Error> lost(std::size_t turn) {
    return core::fail(
        core::ErrorCode::unsupported,
        fmt::format("chat template: what the assistant says in message {} does not stand in "
                    "the text as it was given (the template leaves it out or rewrites it); "
                    "mark it with {{% generation %}} in the template",
                    turn));
  }

 private:
  core::Result<Marked> marked(std::size_t count, std::size_t turn) const {
    const auto text = chat_.text(with_mark(turns_, count, turn), false);
    if (!text) return tl::unexpected<core::Error>(text.error());
    auto cut = cut_at_mark(*text);
    if (!cut) return lost(turn);
    return std::move(*cut);
  }

  const ChatTemplate& chat_;
  const std::vector<ChatTurn>& turns_;
  const std::string& full_;
};

}  // namespace

core::Result<std::string> ChatTemplate::text(const std::vector<ChatTurn>& turns,
                                             bool generation_prompt) const {
  core::Result<train::text::jinja::Output> output =
      run(*program_, turns, generation_prompt, bos_, eos_);
  if (!output) return tl::unexpected<core::Error>(output.error());
  return std::move(output->text);
}

core::Result<std::vector<TextSpan>> ChatTemplate::render(const std::vector<ChatTurn>& turns) const {
  core::Result<train::text::jinja::Output> output = run(*program_, turns, false, bos_, eos_);
  if (!output) return tl::unexpected<core::Error>(output.error());
  std::vector<Range> counted;
  for (const auto& [begin, end] : output->generated) counted.push_back({begin, end});
  if (!counted.empty()) return spans(output->text, counted);
  const TurnFinder finder(*this, turns, output->text);
  for (std::size_t i = 0; i < turns.size(); ++i) {
    if (turns[i].role != "assistant") continue;
    const core::Result<Range> range = finder.find(i);
    if (!range) return tl::unexpected<core::Error>(range.error());
    // What stands before a turn depends on those behind it: no place in the text is the turn's own.
    if (!counted.empty() && range->begin < counted.back().end) return TurnFinder::lost(i);
    counted.push_back(*range);
  }
  return spans(output->text, counted);
}

}  // namespace aplomb::train::text
