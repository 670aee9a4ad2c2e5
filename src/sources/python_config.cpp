/// Reader of Python that configures or trains: nanoGPT's `name = value` files, OpenMMLab's dicts,
/// training scripts. Nothing of it is executed.
///
///     optimizer = dict(type='SGD', lr=0.02)
///     args = TrainingArguments(bf16=True, learning_rate=2e-5)
///
/// Oddities: keyword lists over many lines; type annotations; values that are expressions.

#include <fmt/format.h>

#include <cctype>
#include <utility>

#include "config_text/config_support.h"
#include "config_text/nested_text.h"
#include "config_text/setting_sink.h"
#include "config_text/unpacked_names.h"
#include "core/text.h"
#include "program/code_facts.h"
#include "prose/statements.h"
#include "prose/text_features.h"
#include "sources/reader.h"

namespace aplomb::sources {
namespace {

const ReaderSpec& python_config_spec() {
  static const ReaderSpec spec = {"python-config",
                                  "Python that configures or trains: nanoGPT's `name = value` "
                                  "files, OpenMMLab's dicts, training scripts",
                                  "optimizer = dict(type='SGD', lr=0.02)\nargs = "
                                  "TrainingArguments(bf16=True, learning_rate=2e-5)",
                                  {"never executed", "keyword lists over many lines",
                                   "type annotations", "values that are expressions"}};
  return spec;
}

void add_unpacked(std::string_view text, std::vector<config_text::ConfigEntry>& entries) {
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    for (config_text::ConfigEntry& each :
         config_text::unpacked_names(text.substr(at, end - at), ++number, at))
      entries.push_back(std::move(each));
    at = end + 1;
  }
}

/// `DPOConfig(`, `KTOTrainer(`: what is learnt from pairs says so by the class alone.
std::string_view method_of_call(std::string_view line) {
  static constexpr std::pair<std::string_view, std::string_view> k_calls[] = {
      {"DPOConfig(", "dpo"},  {"DPOTrainer(", "dpo"},  {"KTOConfig(", "kto"},
      {"KTOTrainer(", "kto"}, {"ORPOConfig(", "orpo"}, {"ORPOTrainer(", "orpo"}};
  for (const auto& [call, method] : k_calls) {
    const std::size_t at = line.find(call);
    const bool whole = at != std::string_view::npos &&
                       (at == 0 || std::isalnum(static_cast<unsigned char>(line[at - 1])) == 0);
    if (whole && line.find("class ") == std::string_view::npos) return method;
  }
  return {};
}

class PythonConfigReader final : public Reader {
 public:
  const ReaderSpec& spec() const override { return python_config_spec(); }

  double sniff(const Sniff& artifact) const override {
    const bool text = artifact.head.find('\0') == std::string_view::npos &&
                      artifact.size <= config_text::k_largest_config_bytes;
    return text && config_text::file_name(artifact.path).ends_with(".py") ? 0.9 : 0;
  }

  void read(input::ByteStream& bytes, record::RunBuilder& build,
            record::SourceId source) const override {
    const std::string text = config_text::read_config_text(bytes, build, source);
    auto entries = config_text::parse_nested(text);
    add_unpacked(text, entries);
    const std::string framework(
        config_text::framework_of_script(entries, build.source(source).path, text));
    config_text::put_entries(std::move(entries), framework, build, source, true);
    config_text::SettingSink sink(build, source, framework);
    program::CodeReader code;
    prose::TextFeatures words;
    std::uint64_t number = 0;
    bool told_method = false;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string_view line = std::string_view(text).substr(at, end - at);
      const prose::LiteralHits hits = prose::find_literals(line);
      ++number;
      const std::string_view method = told_method ? std::string_view() : method_of_call(line);
      if (!method.empty() && !core::trim(line).starts_with('#')) {
        sink.put_canonical("train.method", std::string(method), method, number, at);
        told_method = true;
      }
      if (!core::trim(line).starts_with('#'))
        prose::apply_statements(hits.statements, line, true, number, at, sink);
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

}  // namespace aplomb::sources
