#include "train/text/post_processor.h"

#include <fmt/format.h>

#include <string_view>

namespace aplomb::train::text {

namespace {

/// The ids of the template's special token `name`, appended.
core::Result<void> append_special(const Json& json, std::string_view name,
                                  std::vector<std::int32_t>& out) {
  const auto table = member(json, "special_tokens");
  const auto entry = table ? member(*table, name) : std::nullopt;
  const auto ids = entry ? array_member(*entry, "ids") : std::nullopt;
  if (!ids)
    return core::fail(
        core::ErrorCode::bad_format,
        fmt::format("post_processor TemplateProcessing: no ids for the token \"{}\"", name));
  for (const Json each : *ids) {
    std::int64_t id = 0;
    if (each.get_int64().get(id) != simdjson::SUCCESS || id < 0 || id > INT32_MAX)
      return core::fail(
          core::ErrorCode::bad_format,
          fmt::format("post_processor TemplateProcessing: \"{}\" has no valid id", name));
    out.push_back(static_cast<std::int32_t>(id));
  }
  return {};
}

/// {"single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", ...}}],
///  "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}}
core::Result<Surroundings> read_template(const Json& json) {
  const auto single = array_member(json, "single");
  if (!single)
    return core::fail(core::ErrorCode::bad_format,
                      "post_processor TemplateProcessing has no list `single`");
  Surroundings made;
  int sequences = 0;
  for (const Json each : *single) {
    if (member(each, "Sequence")) {
      ++sequences;
      continue;
    }
    const auto token = member(each, "SpecialToken");
    const auto name = token ? text_member(*token, "id") : std::nullopt;
    if (!name)
      return core::fail(
          core::ErrorCode::bad_format,
          "post_processor TemplateProcessing: a part of `single` is neither a SpecialToken "
          "nor a Sequence");
    const core::Result<void> added =
        append_special(json, *name, sequences == 0 ? made.before : made.after);
    if (!added) return tl::unexpected<core::Error>(added.error());
  }
  if (sequences != 1)
    return core::fail(
        core::ErrorCode::unsupported,
        fmt::format("post_processor TemplateProcessing: `single` has the text {} times, "
                    "not once",
                    sequences));
  return made;
}

/// {"sep": ["</s>", 2], "cls": ["<s>", 0]}
core::Result<Surroundings> read_cls_sep(const Json& json, std::string_view type) {
  const auto id_of = [&](std::string_view key) -> std::int64_t {
    std::int64_t id = -1;
    const auto pair = array_member(json, key);
    if (!pair || pair->at(1).get_int64().get(id) != simdjson::SUCCESS || id > INT32_MAX) return -1;
    return id;
  };
  const std::int64_t cls = id_of("cls");
  const std::int64_t sep = id_of("sep");
  if (cls < 0 || sep < 0)
    return core::fail(core::ErrorCode::bad_format,
                      fmt::format("post_processor {} has no ids in `cls` and `sep`", type));
  return Surroundings{.before = {static_cast<std::int32_t>(cls)},
                      .after = {static_cast<std::int32_t>(sep)}};
}

}  // namespace

core::Result<Surroundings> read_post_processor(const Json& json) {
  const std::string_view type = text_member(json, "type").value_or("");
  if (type == "ByteLevel") return Surroundings{};  // moves offsets only
  if (type == "TemplateProcessing") return read_template(json);
  if (type == "BertProcessing" || type == "RobertaProcessing") return read_cls_sep(json, type);
  if (type != "Sequence")
    return core::fail(core::ErrorCode::unsupported,
                      fmt::format("post_processor \"{}\" is not supported", type));
  const auto list = array_member(json, "processors");
  if (!list)
    return core::fail(core::ErrorCode::bad_format,
                      "post_processor Sequence has no list `processors`");
  Surroundings all;
  for (const Json each : *list) {
    const core::Result<Surroundings> one = read_post_processor(each);
    if (!one) return one;
    all.before.insert(all.before.begin(), one->before.begin(), one->before.end());
    all.after.insert(all.after.end(), one->after.begin(), one->after.end());
  }
  return all;
}

}  // namespace aplomb::train::text
