/// Reader of configuration in YAML: axolotl, LLaMA-Factory, accelerate, torchtune, verl and hydra,
/// llm-foundry, W&B, any other.
///
///     base_model: meta-llama/Llama-3.2-1B
///     learning_rate: 2e-5
///     bf16: auto
///
/// Oddities: `${...}` references; W&B's `{value: ...}` wrappers; several documents; `auto` for a
/// value; tabs and other mistakes, before which all is kept, and behind which it is read line by
/// line.

#include <fmt/format.h>

#include "config_text/config_support.h"
#include "config_text/yaml_text.h"
#include "core/text.h"
#include "log_text/settings_scan.h"
#include "sources/reader.h"

namespace aplomb::sources {
namespace {

const ReaderSpec& config_yaml_spec() {
  static const ReaderSpec spec = {
      "config-yaml",
      "configuration in YAML: axolotl, LLaMA-Factory, accelerate, torchtune, verl and hydra, "
      "llm-foundry, W&B, any other",
      "base_model: meta-llama/Llama-3.2-1B\nsequence_len: 2048\nlearning_rate: 2e-5\nbf16: auto",
      {"`${...}` references", "`{value: ...}` wrappers of W&B", "several documents",
       "tabs and other mistakes: what stands before is kept, the rest is read line by line",
       "values of `auto`"}};
  return spec;
}

/// Share of the lines that look like `key: value`, `key:` or `- item`, comments and empty lines
/// left out.
double yaml_share(std::string_view head) {
  std::size_t lines = 0;
  std::size_t fitting = 0;
  for (std::size_t at = 0; at < head.size() && lines < 200;) {
    const std::size_t end = std::min(head.find('\n', at), head.size());
    const std::string_view line = core::trim(head.substr(at, end - at));
    at = end + 1;
    if (line.empty() || line.front() == '#') continue;
    ++lines;
    const std::size_t colon = line.find(':');
    const bool pair = colon != std::string_view::npos && colon > 0 && line.find(' ') >= colon &&
                      (colon + 1 == line.size() || line[colon + 1] == ' ');
    fitting += pair || line.starts_with("- ") ? 1 : 0;
  }
  return lines == 0 ? 0 : static_cast<double>(fitting) / static_cast<double>(lines);
}

class ConfigYamlReader final : public Reader {
 public:
  const ReaderSpec& spec() const override { return config_yaml_spec(); }

  double sniff(const Sniff& artifact) const override {
    const std::string_view name = config_text::file_name(artifact.path);
    if (artifact.size > config_text::k_largest_config_bytes ||
        artifact.head.find('\0') != std::string_view::npos)
      return 0;
    const double share = yaml_share(artifact.head);
    if (name.ends_with(".yaml") || name.ends_with(".yml")) return share > 0.3 ? 0.9 : 0.3;
    return 0;
  }

  void read(input::ByteStream& bytes, record::RunBuilder& build,
            record::SourceId source) const override {
    const std::string text = config_text::read_config_text(bytes, build, source);
    config_text::YamlText yaml = config_text::parse_yaml(text);
    config_text::unwrap_values(yaml.entries);
    const std::string_view framework =
        config_text::framework_of(yaml.entries, build.source(source).path, "yaml");
    // What the parser had not finished when it stopped is read again.
    const std::uint64_t next = yaml.entries.empty() ? 1 : yaml.entries.back().line + 1;
    config_text::put_entries(std::move(yaml.entries), framework, build, source);
    if (yaml.error.empty()) return;
    build.defect({source, 0, "bad-yaml", core::Severity::warning,
                  fmt::format("[config-yaml] line {}: {}; what stands before it was read as YAML, "
                              "the rest line by line",
                              yaml.error_line, yaml.error)});
    read_lines(text, next, build, source);
  }

 private:
  static void read_lines(std::string_view text, std::uint64_t from, record::RunBuilder& build,
                         record::SourceId source) {
    log_text::SettingScanner scanner(log_text::TextKind::declared);
    std::uint64_t number = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      if (++number >= from) scanner.line(text.substr(at, end - at), number, at, build, source);
      at = end + 1;
    }
    scanner.finish(build, source);
  }
};

}  // namespace

std::unique_ptr<Reader> make_config_yaml_reader() { return std::make_unique<ConfigYamlReader>(); }

}  // namespace aplomb::sources
