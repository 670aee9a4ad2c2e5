#include <fmt/format.h>

#include "core/text.h"
#include "sources/code_facts.h"
#include "sources/config_support.h"
#include "sources/heard_words.h"
#include "sources/nested_text.h"
#include "sources/reader.h"
#include "sources/setting_sink.h"
#include "sources/statements.h"
#include "sources/unpacked_names.h"

namespace aplomb {
namespace {

const ReaderSpec& the_spec() {
  static const ReaderSpec spec = {"python-config",
                                  "Python that configures or trains: nanoGPT's `name = value` "
                                  "files, OpenMMLab's dicts, training scripts",
                                  "optimizer = dict(type='SGD', lr=0.02)\nargs = "
                                  "TrainingArguments(bf16=True, learning_rate=2e-5)",
                                  {"never executed", "keyword lists over many lines",
                                   "type annotations", "values that are expressions"}};
  return spec;
}

void add_unpacked(std::string_view text, std::vector<ConfigEntry>& entries) {
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    for (ConfigEntry& each : unpacked_names(text.substr(at, end - at), ++number, at))
      entries.push_back(std::move(each));
    at = end + 1;
  }
}

class PythonConfigReader final : public Reader {
 public:
  const ReaderSpec& spec() const override { return the_spec(); }

  double sniff(const Sniff& artifact) const override {
    const bool text = artifact.head.find('\0') == std::string_view::npos &&
                      artifact.size <= k_largest_config_bytes;
    return text && file_name(artifact.path).ends_with(".py") ? 0.9 : 0;
  }

  void read(ByteStream& bytes, RunBuilder& build, SourceId source) const override {
    const std::string text = read_config_text(bytes, build, source);
    auto entries = parse_nested(text);
    add_unpacked(text, entries);
    const std::string framework(framework_of_script(entries, build.source(source).path, text));
    put_entries(std::move(entries), framework, build, source, true);
    SettingSink sink(build, source, framework);
    CodeReader code;
    HeardWords words;
    std::uint64_t number = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view line = std::string_view(text).substr(at, end - at);
      const LiteralHits hits = find_literals(line);
      ++number;
      if (!trim(line).starts_with('#'))
        apply_statements(hits.statements, line, true, number, at, sink);
      code.line(line, number, at);
      words.line(line, number, at);
      at = end + 1;
    }
    code.finish(build, source);
    words.finish(build, source);
  }
};

}  // namespace

std::unique_ptr<Reader> make_python_config_reader() {
  return std::make_unique<PythonConfigReader>();
}

}  // namespace aplomb
