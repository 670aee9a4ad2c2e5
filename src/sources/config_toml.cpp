/// Reader of configuration in TOML: torchtitan, kohya sd-scripts, any other.
///
///     [optimizer]
///     name = "AdamW"
///     lr = 3e-4
///
/// Oddities: dotted and quoted keys; tables of arrays; after a mistake nothing is read, and that
/// is said.

#include <fmt/format.h>

#include "config_text/config_support.h"
#include "config_text/toml_text.h"
#include "core/text.h"
#include "sources/reader.h"

namespace aplomb::sources {
namespace {

const ReaderSpec& config_toml_spec() {
  static const ReaderSpec spec = {
      "config-toml",
      "configuration in TOML: torchtitan, kohya sd-scripts, any other",
      "[optimizer]\nname = \"AdamW\"\nlr = 3e-4",
      {"dotted and quoted keys", "tables of arrays", "a mistake: said, and nothing is read"}};
  return spec;
}

class ConfigTomlReader final : public Reader {
 public:
  const ReaderSpec& spec() const override { return config_toml_spec(); }

  double sniff(const Sniff& artifact) const override {
    const std::string_view name = config_text::file_name(artifact.path);
    const bool text = artifact.head.find('\0') == std::string_view::npos &&
                      artifact.size <= config_text::k_largest_config_bytes;
    return text && name.ends_with(".toml") ? 0.9 : 0;
  }

  void read(input::ByteStream& bytes, record::RunBuilder& build,
            record::SourceId source) const override {
    const std::string text = config_text::read_config_text(bytes, build, source);
    config_text::TomlText toml = config_text::parse_toml(text);
    const std::string_view framework =
        config_text::framework_of(toml.entries, build.source(source).path, "toml");
    config_text::put_entries(std::move(toml.entries), framework, build, source);
    if (toml.error.empty()) return;
    build.defect(
        {source, 0, "bad-toml", core::Severity::warning,
         fmt::format("[config-toml] line {}: {}; mend that line", toml.error_line, toml.error)});
  }
};

}  // namespace

std::unique_ptr<Reader> make_config_toml_reader() { return std::make_unique<ConfigTomlReader>(); }

}  // namespace aplomb::sources
