#include "train/text/sample_text.h"

#include <fmt/format.h>

#include <utility>

#include "core/pair_table.h"
#include "core/text.h"

namespace aplomb::train::text {

namespace {

using Made = tl::expected<SampleText, RowFault>;

tl::unexpected<RowFault> fault(SampleFault what, std::string text) {
  return tl::unexpected<RowFault>(RowFault{.fault = what, .text = std::move(text)});
}

bool is_list(const Json& row, std::string_view key) { return array_member(row, key).has_value(); }

std::optional<std::string_view> answer_of(const Json& row) {
  if (const auto text = text_member(row, "completion")) return text;
  return text_member(row, "response");
}

/// The prompt that Stanford's Alpaca was trained with, and most instruction data since.
std::string alpaca_prompt(std::string_view instruction, std::string_view input) {
  if (core::trim(input).empty())
    return fmt::format(
        "Below is an instruction that describes a task. Write a response that appropriately "
        "completes the request.\n\n### Instruction:\n{}\n\n### Response:\n",
        instruction);
  return fmt::format(
      "Below is an instruction that describes a task, paired with an input that provides further "
      "context. Write a response that appropriately completes the request.\n\n### "
      "Instruction:\n{}\n\n### Input:\n{}\n\n### Response:\n",
      instruction, input);
}

Made from_instruction(const Json& row) {
  const auto instruction = text_member(row, "instruction");
  auto output = text_member(row, "output");
  if (!output) output = text_member(row, "response");
  if (!instruction || !output)
    return fault(SampleFault::unknown_fields, "needs the texts `instruction` and `output`");
  if (core::trim(*output).empty()) return fault(SampleFault::empty, "`output` is empty");
  SampleText made;
  made.parts = {{alpaca_prompt(*instruction, text_member(row, "input").value_or("")), false},
                {std::string(*output), true}};
  return made;
}

Made from_text(const Json& row) {
  const auto text = text_member(row, "text");
  if (!text) return fault(SampleFault::unknown_fields, "needs the text `text`");
  if (core::trim(*text).empty()) return fault(SampleFault::empty, "`text` is empty");
  SampleText made;
  made.parts = {{std::string(*text), true}};
  return made;
}

std::string role_named(std::string_view name) {
  if (name == "human") return "user";
  if (name == "gpt" || name == "bot" || name == "model" || name == "chatgpt") return "assistant";
  return std::string(name);
}

/// "content": a text, or [{"type": "text", "text": ...}].
std::optional<std::string> content_of(const Json& message) {
  auto text = text_member(message, "content");
  if (!text) text = text_member(message, "value");
  if (text) return std::string(*text);
  const auto list = array_member(message, "content");
  if (!list) return std::nullopt;
  std::string all;
  for (const Json each : *list) {
    const auto part = text_member(each, "text");
    if (!part) return std::nullopt;
    all += *part;
  }
  return all;
}

tl::expected<std::vector<ChatTurn>, RowFault> turns_of(const Json& row, std::string_view key) {
  std::vector<ChatTurn> turns;
  const auto list = array_member(row, key);
  if (!list) return fault(SampleFault::unknown_fields, fmt::format("needs the list `{}`", key));
  for (const Json each : *list) {
    auto role = text_member(each, "role");
    if (!role) role = text_member(each, "from");
    auto content = content_of(each);
    if (!role || !content)
      return fault(
          SampleFault::unknown_fields,
          fmt::format("message {} of `{}` needs a `role` and a text as `content` (it has {})",
                      turns.size(), key, field_names(each)));
    turns.push_back({.role = role_named(*role), .content = std::move(*content)});
  }
  return turns;
}

Made from_turns(const std::vector<ChatTurn>& turns, std::size_t first_counted,
                const ChatTemplate* chat) {
  if (turns.empty()) return fault(SampleFault::empty, "the conversation has no messages");
  bool answered = false;
  for (std::size_t i = first_counted; i < turns.size(); ++i)
    answered = answered || (turns[i].role == "assistant" && !core::trim(turns[i].content).empty());
  if (!answered) return fault(SampleFault::all_masked, "the assistant says nothing");
  core::Result<std::vector<TextSpan>> parts = chat->render(turns);
  if (!parts) return fault(SampleFault::unreadable, parts.error().text);
  SampleText made;
  made.parts = std::move(*parts);
  made.special_tokens = false;
  made.ends = false;
  // Of a prompt that is itself a conversation, earlier answers do not count.
  std::size_t before = 0;
  for (std::size_t i = 0; i < first_counted; ++i) before += turns[i].role == "assistant" ? 1U : 0U;
  for (TextSpan& part : made.parts) {
    if (!part.counts || before == 0) continue;
    part.counts = false;
    --before;
  }
  return made;
}

Made from_chat(const Json& row, const ChatTemplate* chat) {
  const auto turns = turns_of(row, is_list(row, "messages") ? "messages" : "conversations");
  if (!turns) return tl::unexpected<RowFault>(turns.error());
  return from_turns(*turns, 0, chat);
}

Made from_prompt(const Json& row, const ChatTemplate* chat) {
  if (is_list(row, "prompt")) {
    auto turns = turns_of(row, "prompt");
    if (!turns) return tl::unexpected<RowFault>(turns.error());
    const std::size_t prompts = turns->size();
    const auto answer = turns_of(row, is_list(row, "completion") ? "completion" : "response");
    if (!answer) return tl::unexpected<RowFault>(answer.error());
    turns->insert(turns->end(), answer->begin(), answer->end());
    return from_turns(*turns, prompts, chat);
  }
  const auto prompt = text_member(row, "prompt");
  const auto answer = answer_of(row);
  if (!prompt || !answer)
    return fault(SampleFault::unknown_fields, "needs the texts `prompt` and `completion`");
  if (core::trim(*answer).empty()) return fault(SampleFault::empty, "the completion is empty");
  SampleText made;
  made.parts = {{std::string(*prompt), false}, {std::string(*answer), true}};
  return made;
}

}  // namespace

DataFormat format_of(const Json& row) {
  if (is_list(row, "messages") || is_list(row, "conversations")) return DataFormat::chat;
  if (member(row, "prompt") && (member(row, "completion") || member(row, "response")))
    return DataFormat::prompt_completion;
  if (member(row, "instruction") && (member(row, "output") || member(row, "response")))
    return DataFormat::instruction;
  if (member(row, "text")) return DataFormat::text;
  return DataFormat::automatic;
}

std::string_view format_name(DataFormat format) {
  static constexpr std::pair<DataFormat, std::string_view> k_names[] = {
      {DataFormat::automatic, "automatic"},
      {DataFormat::instruction, "instruction"},
      {DataFormat::prompt_completion, "prompt and completion"},
      {DataFormat::chat, "chat"},
      {DataFormat::text, "text"}};
  return core::second_of(k_names, format).value_or("?");
}

Made sample_text(const Json& row, DataFormat format, const ChatTemplate* chat) {
  const bool conversation = format == DataFormat::chat ||
                            (format == DataFormat::prompt_completion && is_list(row, "prompt"));
  if (conversation && chat == nullptr)
    return fault(SampleFault::unknown_fields,
                 "a conversation, but the model's folder has no chat template; put its "
                 "chat_template.jinja there, or write rows with `prompt` and `completion`");
  switch (format) {
    case DataFormat::instruction:
      return from_instruction(row);
    case DataFormat::prompt_completion:
      return from_prompt(row, chat);
    case DataFormat::chat:
      return from_chat(row, chat);
    case DataFormat::text:
      return from_text(row);
    case DataFormat::automatic:
      break;
  }
  return fault(SampleFault::unknown_fields,
               fmt::format("has the fields {}; known are messages, conversations, prompt + "
                           "completion, instruction (+ input) + output, text: rename them",
                           field_names(row)));
}

std::string field_names(const Json& row) {
  simdjson::dom::object fields;
  if (row.get_object().get(fields) != simdjson::SUCCESS) return "no fields (it is no object)";
  std::string names;
  std::size_t count = 0;
  for (const auto field : fields) {
    if (++count > 12) return names + "...";
    names += fmt::format("{}`{}`", names.empty() ? "" : ", ",
                         core::sanitize(core::shorten(field.key, 40)));
  }
  return names.empty() ? "no fields" : names;
}

}  // namespace aplomb::train::text
