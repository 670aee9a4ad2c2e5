#pragma once
/// SettingSink: configuration entries of one artifact -> Settings of a Run, through the tables of
/// knowledge/frameworks.
///
///     SettingSink sink(build, source, "deepspeed");
///     for (const ConfigEntry& entry : parse_nested(text)) sink.put(entry);
///
/// A key is looked up as the keyword of its call (`LoraConfig.r`), under its whole path, and under
/// the ends of the path
/// (`trainer.optim.lr`, `optim.lr`, `lr`), the latter only where no part of the path says that
/// something else than the trained model is meant (`critic`, `eval`, ...). Unknown keys are left
/// out, and so are sizes that no model can have: they become a Defect and the setting
/// `model.impossible_size`.

#include <string>
#include <string_view>
#include <unordered_map>

#include "config_text/config_entry.h"
#include "knowledge/setting.h"
#include "record/run_builder.h"

namespace aplomb::config_text {

class SettingSink {
 public:
  /// `framework`: slug of the artifact's framework, empty where unknown.
  SettingSink(record::RunBuilder& build, record::SourceId source, std::string_view framework = {});

  /// How many settings the entry made. One that repeats the value that its setting has already
  /// makes none, but counts.
  std::size_t put(const ConfigEntry& entry,
                  knowledge::KeyScope scope = knowledge::KeyScope::anywhere);

  /// A canonical setting that follows from the text in another way (a statement, an environment
  /// report).
  void put_canonical(std::string_view setting, core::Value value, std::string_view raw_key,
                     std::uint64_t line, std::uint64_t offset);

  /// Of a document of `key: value`, whose sizes are numbers or nothing: another word is a mistake.
  void document(bool is_document) { document_ = is_document; }

  /// Of program code: a bare name is a variable there, not a value (`model_name=name`).
  void code(bool is_code) { code_ = is_code; }

  void framework(std::string_view slug) { framework_ = slug; }
  const std::string& framework() const { return framework_; }
  std::size_t made() const { return made_; }

 private:
  using Assignments = std::vector<knowledge::Assignment>;
  Assignments look_up(const ConfigEntry& entry, std::string_view written,
                      knowledge::KeyScope scope) const;

  record::RunBuilder& build_;
  record::SourceId source_;
  std::string framework_;
  std::unordered_map<std::string, core::Value> last_;  // value that each setting has now
  std::size_t made_ = 0;
  /// Tells of a size that no model can have, and keeps it out.
  void tell_impossible(const ConfigEntry& entry, knowledge::KeyScope scope);

  bool code_ = false;
  bool document_ = false;
};

}  // namespace aplomb::config_text
