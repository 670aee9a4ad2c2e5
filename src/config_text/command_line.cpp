#include "config_text/command_line.h"

#include <algorithm>

#include "config_text/nested_text.h"
#include "core/letters.h"
#include "core/text.h"

namespace aplomb::config_text {
namespace {

struct Word {
  std::string_view text;  // quotes around the whole taken off
  std::size_t start = 0;  // of the word as written
  std::size_t size = 0;
  std::uint64_t line = 0;
  bool quoted = false;
};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
using core::is_digit;
using core::is_name_start;

/// Where the word that starts at `at` ends: at a blank or line break outside of quotes.
std::size_t word_end(std::string_view text, std::size_t at) {
  char quote = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
      if (c == '\n') return at;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (is_blank(c) || c == '\n') {
      return at;
    } else if (c == '\\' &&
               (at + 1 == text.size() || text[at + 1] == '\n' || text[at + 1] == '\r')) {
      return at;
    }
  }
  return at;
}

std::vector<Word> split_words(std::string_view text, std::uint64_t line) {
  std::vector<Word> words;
  for (std::size_t at = 0; at < text.size() && words.size() < k_most_entries;) {
    const char c = text[at];
    if (c == '\n') ++line;
    if (is_blank(c) || c == '\n' || c == '\\') {
      ++at;
      continue;
    }
    if (c == '#' && (at == 0 || is_blank(text[at - 1]) || text[at - 1] == '\n')) {  // a comment
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    const std::size_t end = std::max(word_end(text, at), at + 1);
    Word word{text.substr(at, end - at), at, end - at, line, false};
    const char first = word.text.front();
    if (word.text.size() >= 2 && (first == '"' || first == '\'') && word.text.back() == first) {
      word.text = word.text.substr(1, word.text.size() - 2);
      word.quoted = true;
    }
    words.push_back(word);
    at = end;
  }
  return words;
}

/// `--flag`, `-lr`, `-j`; but no negative number, no lone dashes, no bullet.
bool is_flag(const Word& word) {
  const std::string_view text = word.text;
  if (word.quoted || text.size() < 2 || text[0] != '-') return false;
  const std::size_t dashes = text.find_first_not_of('-');
  return dashes != std::string_view::npos && dashes <= 2 && is_name_start(text[dashes]);
}

/// The sign of a `key=value` word, or npos: the key must be a (dotted) name.
std::size_t equals_in(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return std::string_view::npos;
  std::string_view key = text.substr(0, equals);
  while (!key.empty() && (key.front() == '+' || key.front() == '~')) key.remove_prefix(1);
  const bool named =
      !key.empty() && is_name_start(key.front()) && std::all_of(key.begin(), key.end(), [](char c) {
        return is_name_start(c) || is_digit(c) || c == '.' || c == '-' || c == '/' || c == '@';
      });
  return named ? equals : std::string_view::npos;
}

std::string path_of(std::string_view flag) {
  const std::size_t dashes = flag.find_first_not_of('-');
  const std::string_view name = flag.substr(dashes);
  return dashes == 1 && name.size() == 1 ? "cli." + std::string(name) : std::string(name);
}

class CommandParser {
 public:
  CommandParser(std::string_view text, std::uint64_t line, std::uint64_t offset)
      : base_(offset), words_(split_words(text, line)) {
    script_ = std::any_of(words_.begin(), words_.end(),
                          [](const Word& word) { return word.text.ends_with(".py"); });
  }

  std::vector<ConfigEntry> parse() {
    for (std::size_t i = 0; i < words_.size();) {
      const Word& word = words_[i];
      if (is_flag(word)) {
        i = flag(i);
        if (!script_ && entries_.back().path.starts_with("cli.")) entries_.pop_back();
        continue;
      }
      if (const std::size_t equals = equals_in(word.text);
          equals != std::string_view::npos && !word.quoted) {
        const std::size_t key = std::min(word.text.find_first_not_of("+~"), equals);
        assigned(word, std::string(word.text.substr(key, equals - key)), equals);
      }
      ++i;
    }
    return std::move(entries_);
  }

 private:
  /// `key=value` in one word; `equals` counts from the word's start.
  void assigned(const Word& word, std::string path, std::size_t equals) {
    const std::string_view value = word.text.substr(equals + 1);
    const auto framed = [value](char open, char close) {
      return value.size() >= 2 && value.front() == open && value.back() == close;
    };
    const bool quoted = framed('"', '"') || framed('\'', '\'');
    const bool list = framed('[', ']');  // hydra: `key=[a,b]`
    ConfigEntry entry{std::move(path),
                      {},
                      std::string(value),
                      word.line,
                      base_ + word.start + equals + 1,
                      value.size(),
                      quoted,
                      list,
                      false,
                      false};
    if (quoted || list) entry.text = std::string(value.substr(1, value.size() - 2));
    if (list) std::erase_if(entry.text, [](char c) { return c == '"' || c == '\'' || c == ' '; });
    entries_.push_back(std::move(entry));
  }

  /// The flag at `i` with what follows it; the index of the next word to look at.
  std::size_t flag(std::size_t i) {
    const Word& word = words_[i];
    if (const std::size_t equals = word.text.find('='); equals != std::string_view::npos) {
      assigned(word, path_of(word.text.substr(0, equals)), equals);
      entries_.back().is_flag = true;
      return i + 1;
    }
    ConfigEntry entry{path_of(word.text),
                      {},
                      "true",
                      word.line,
                      base_ + word.start + word.size,
                      0,
                      false,
                      false,
                      true,
                      false};
    std::size_t next = i + 1;
    const auto is_value = [this](std::size_t at) {
      return at < words_.size() && !is_flag(words_[at]) && words_[at].text != "&&" &&
             words_[at].text != "|" && words_[at].text != ">" && words_[at].text != "2>&1" &&
             words_[at].text != ";";
    };
    std::vector<ConfigEntry> inside;
    if (is_value(next)) {
      entry.text = std::string(words_[next].text);
      entry.offset = base_ + words_[next].start;
      entry.size = words_[next].size;
      entry.line = words_[next].line;
      entry.quoted = words_[next].quoted;
      // `--gradient_checkpointing_kwargs '{"use_reentrant": false}'`
      if (entry.quoted && entry.text.starts_with('{')) {
        inside = parse_nested(words_[next].text, entry.line, entry.offset + 1);
        for (ConfigEntry& each : inside) each.path = entry.path + "." + each.path;
      }
      ++next;
      for (std::size_t further = next; is_value(further) && further < next + 32; ++further) {
        entry.is_list = true;
        entry.text += ',';
        entry.text += words_[further].text;
      }
    }
    entries_.push_back(std::move(entry));
    std::move(inside.begin(), inside.end(), std::back_inserter(entries_));
    return next;  // further values are looked at again: `train.py key=value` may stand there
  }

  std::uint64_t base_;
  bool script_ =
      false;  ///< a Python script is run: its one-letter flags are those of PyTorch's examples
  std::vector<Word> words_;
  std::vector<ConfigEntry> entries_;
};

}  // namespace

bool looks_like_command(std::string_view line) {
  std::string_view start = core::trim(line);
  // `CUDA_VISIBLE_DEVICES=0 python ...`: assignments in front are passed over.
  for (std::size_t end = start.find(' '); end != std::string_view::npos; end = start.find(' ')) {
    const std::size_t equals = start.find('=');
    const bool assignment =
        equals < end && equals > 0 &&
        std::all_of(start.begin(), start.begin() + static_cast<std::ptrdiff_t>(equals),
                    [](char c) { return (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c); });
    if (!assignment) break;
    start = core::trim(start.substr(end));
  }
  if (start.size() > 2 && start.substr(0, 2) == "--" && is_name_start(start[2])) return true;
  for (std::size_t at = line.find(" --"); at != std::string_view::npos;
       at = line.find(" --", at + 1)) {
    if (at + 3 < line.size() && is_name_start(line[at + 3])) return true;
  }
  static constexpr std::string_view k_programs[] = {
      "python ", "python3 ",          "torchrun ", "deepspeed ", "accelerate launch", "mpirun ",
      "srun ",   "llamafactory-cli ", "swift ",    "tune run",   "axolotl ",          "yolo ",
      "export "};
  return std::any_of(
      std::begin(k_programs), std::end(k_programs), [start](std::string_view program) {
        return start.starts_with(program) ||
               (start.starts_with("$ ") && core::trim(start.substr(2)).starts_with(program));
      });
}

std::vector<ConfigEntry> parse_command(std::string_view text, std::uint64_t line,
                                       std::uint64_t offset) {
  return CommandParser(text, line, offset).parse();
}

}  // namespace aplomb::config_text
