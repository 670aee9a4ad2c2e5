// aplomb_text_tool: the tokenizer by hand and for tests that compare it with its peers.
//
//   aplomb_text_tool encode TOKENIZER [--plain]   texts in, ids out ( --plain: no special tokens)
//   aplomb_text_tool decode TOKENIZER [--skip]    ids in, texts out (--skip: no special tokens)
//   aplomb_text_tool chat TEMPLATE                conversations (JSON) in; out, for each, three
//   texts:
//                                                 the whole, with generation prompt, what counts
//   aplomb_text_tool time TOKENIZER FILE          MB/s over the lines of a file, one thread
//
// Texts on standard input and output: a decimal byte count, a line feed, the bytes. Ids: one line
// of numbers a text.
#include <fmt/format.h>
#include <simdjson.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "train/text/chat_template.h"
#include "train/text/tokenizer.h"

namespace {

using aplomb::train::text::ChatTemplate;
using aplomb::train::text::ChatTurn;
using aplomb::train::text::Encoder;
using aplomb::train::text::Tokenizer;

void encode(const Tokenizer& tokenizer, bool special) {
  Encoder encoder(tokenizer);
  std::string head;
  std::string text;
  std::vector<std::int32_t> ids;
  while (std::getline(std::cin, head)) {
    text.resize(std::stoul(head));
    std::cin.read(text.data(), static_cast<std::streamsize>(text.size()));
    ids.clear();
    encoder.encode(text, special, ids);
    fmt::print("{}\n", fmt::join(ids, " "));
  }
}

void decode(const Tokenizer& tokenizer, bool skip) {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    const std::vector<std::int32_t> ids{std::istream_iterator<std::int32_t>(words), {}};
    const std::string text = tokenizer.decode(ids, skip);
    fmt::print("{}\n{}", text.size(), text);
  }
}

void print_framed(std::string_view text) { fmt::print("{}\n{}", text.size(), text); }

void chat(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto chat_template = ChatTemplate::make(text, "<s>", "</s>");
  simdjson::dom::parser parser;
  std::string head;
  std::string line;
  while (std::getline(std::cin, head)) {
    line.resize(std::stoul(head));
    std::cin.read(line.data(), static_cast<std::streamsize>(line.size()));
    std::vector<ChatTurn> turns;
    for (const auto message : parser.parse(line).get_array())
      turns.push_back({std::string(std::string_view(message["role"])),
                       std::string(std::string_view(message["content"]))});
    if (!chat_template) {
      for (int i = 0; i < 3; ++i) print_framed("error: " + chat_template.error().text);
      continue;
    }
    for (const bool prompt : {false, true}) {
      const auto whole = chat_template->text(turns, prompt);
      print_framed(whole ? *whole : "error: " + whole.error().text);
    }
    const auto spans = chat_template->render(turns);
    std::string counted = spans ? "" : "error: " + spans.error().text;
    for (std::size_t i = 0; spans && i < spans->size(); ++i) {
      if ((*spans)[i].counts) counted += (*spans)[i].text + "\x1E";
    }
    print_framed(counted);
  }
}

void time_lines(const Tokenizer& tokenizer, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::string> lines;
  std::size_t bytes = 0;
  for (std::string line; std::getline(file, line);) {
    bytes += line.size();
    lines.push_back(line);
  }
  Encoder encoder(tokenizer);
  std::vector<std::int32_t> ids;
  std::size_t count = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (const std::string& line : lines) {
    ids.clear();
    encoder.encode(line, true, ids);
    count += ids.size();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  fmt::print("{} tokens, {:.2f} MB/s\n", count, static_cast<double>(bytes) / 1e6 / seconds.count());
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  if (words.size() < 3) {
    std::fputs("usage: aplomb_text_tool encode|decode|chat|time TOKENIZER [...]\n", stderr);
    return 2;
  }
  if (words[1] == "chat") {
    chat(words[2]);
    return 0;
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto tokenizer = Tokenizer::open(words[2]);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (!tokenizer) {
    fmt::print(stderr, "{}\n", tokenizer.error().text);
    return 2;
  }
  const bool flag = words.size() > 3;
  if (words[1] == "encode") encode(*tokenizer, !flag);
  if (words[1] == "decode") decode(*tokenizer, flag);
  if (words[1] == "time" && flag) {
    fmt::print("opened in {:.3f} s, ", seconds.count());
    time_lines(*tokenizer, words[3]);
  }
  return 0;
}
