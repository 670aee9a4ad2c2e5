/// Reader of configuration in JSON: DeepSpeed, PEFT adapters, Hugging Face models and tokenizers,
/// W&B metadata, any other.
///
///     {"zero_optimization": {"stage": 3}, "bf16": {"enabled": "auto"}}
///
/// Oddities: comments and trailing commas; templates with bare words for values; `auto` for a
/// value; megabytes of added tokens; a file cut in the middle.

#include <fmt/format.h>

#include "config_text/config_support.h"
#include "config_text/nested_text.h"
#include "core/text.h"
#include "sources/reader.h"

namespace aplomb::sources {
namespace {

const ReaderSpec& config_json_spec() {
  static const ReaderSpec spec = {
      "config-json",
      "configuration in JSON: DeepSpeed, PEFT adapters, Hugging Face models and tokenizers, W&B "
      "metadata, any other",
      R"({"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}, "bf16": {"enabled": "auto"}})",
      {"comments and trailing commas", "templates with bare words for values", "cut in the middle",
       "`auto` for a value", "megabytes of added tokens"}};
  return spec;
}

/// Files of JSON that hold no configuration, by name.
bool holds_none(std::string_view name) {
  constexpr std::string_view k_others[] = {"tokenizer.json",
                                           "vocab.json",
                                           "trainer_state.json",
                                           "package.json",
                                           "model.safetensors.index.json",
                                           "pytorch_model.bin.index.json"};
  for (const std::string_view other : k_others) {
    if (name == other) return true;
  }
  return name.ends_with(".ipynb");
}

bool named_like_config(std::string_view name) {
  constexpr std::string_view k_pieces[] = {"config",         "args",      "params",
                                           "zero",           "deepspeed", "special_tokens_map",
                                           "wandb-metadata", "settings",  "arguments"};
  for (const std::string_view piece : k_pieces) {
    if (core::icontains(name, piece)) return true;
  }
  return false;
}

class ConfigJsonReader final : public Reader {
 public:
  const ReaderSpec& spec() const override { return config_json_spec(); }

  double sniff(const Sniff& artifact) const override {
    const std::string_view head = core::trim(artifact.head);
    const std::string_view name = config_text::file_name(artifact.path);
    const bool object = head.size() > 1 && head.front() == '{';
    if (!object || holds_none(name) || artifact.size > config_text::k_largest_config_bytes)
      return 0;
    // A line that is an object, with more below it (another one, a progress bar), is a record of a
    // log; a history of records is a trainer's state.
    const std::size_t first_end = head.find('\n');
    const bool records =
        first_end != std::string_view::npos && core::trim(head.substr(0, first_end)).ends_with('}');
    if (records || head.find("\"log_history\"") != std::string_view::npos) return 0;
    const bool json_name =
        name.ends_with(".json") || name.ends_with(".jsonc") || name.ends_with(".json5");
    if (named_like_config(name) && json_name) return 0.85;
    const auto entries = config_text::parse_nested(artifact.head);
    const std::size_t known =
        config_text::known_keys(entries, config_text::framework_of(entries, artifact.path, "json"));
    if (known >= 3 && 4 * known >= entries.size()) return 0.6;
    return known >= 1 && json_name ? 0.15 : 0;
  }

  void read(input::ByteStream& bytes, record::RunBuilder& build,
            record::SourceId source) const override {
    const std::string text = config_text::read_config_text(bytes, build, source);
    const auto entries = config_text::parse_nested(text);
    config_text::put_entries(entries,
                             config_text::framework_of(entries, build.source(source).path, "json"),
                             build, source);
    const int open = config_text::open_brackets(text);
    if (open <= 0) return;
    build.defect(
        {source, text.size(), "truncated", core::Severity::note,
         fmt::format(
             "[config-json] {} brackets are open at the end; likely the file was cut; what stands "
             "before it was read",
             open)});
  }
};

}  // namespace

std::unique_ptr<Reader> make_config_json_reader() { return std::make_unique<ConfigJsonReader>(); }

}  // namespace aplomb::sources
