#pragma once
/// Canonical settings (knowledge/settings.yaml) and how a framework's `key = value` becomes them.
///
///     for (const Assignment& a : read_setting("deepspeed", "zero_optimization.stage", "3"))
///       ...                                   // a.spec->name == "dist.zero_stage", a.value == 3.0
///
/// Keys are compared without regard to case; `-` and blanks count as `_`; leading dashes are
/// dropped. Safe to use from several threads; the tables are built at first use. A lookup costs
/// about 100 ns.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/value.h"
#include "knowledge/framework.h"

namespace aplomb::knowledge {

/// What a setting's written value must look like to count.
enum class SettingType {
  truth,    ///< true / false / yes / no / 1 / 0
  number,   ///< any finite number, also `1_000`, `5 * 8`, `2**16`
  count,    ///< a number that is no fraction, also `7B`, `4,194,304`
  bytes,    ///< `80GB`, `24576MiB`; a bare number is bytes
  seconds,  ///< `1800`, `timedelta(minutes=30)`, `30min`
  word,     ///< one of the spec's words or a synonym; others only where `open`
  version,  ///< the version at the head: `2.1.0+cu118 (True)` -> `2.1.0+cu118`
  text,     ///< as it stands
  texts,    ///< a list, kept as `a,b,c`
};

struct SettingSpec {
  std::string name;     ///< `optim.lr`
  std::string meaning;  ///< one line for people
  std::string said;     ///< its name in a sentence (`learning rate`), where the meaning is longer
  std::string unit;     ///< empty where it has none
  SettingType type = SettingType::text;
  bool open = false;  ///< of `word`: words that the table does not hold are kept, in lower case
  bool numeric =
      false;  ///< of `text`: may be a number; others that are one say something else (a metric)
  std::string overruled_by;     ///< a setting that frameworks obey instead where it is not 0:
                                ///< `schedule.warmup_steps` of `schedule.warmup_frac`
  std::optional<double> least;  ///< of a number: what lies below or above is no value
  std::optional<double> most;
  std::vector<std::pair<std::string, std::string>>
      words;  ///< spelling (lower case) -> canonical word

  bool holds(std::string_view word) const;  ///< whether `word` is one of them, in any case
};

/// Every canonical setting, in the table's order.
const std::vector<SettingSpec>& setting_specs();
const SettingSpec* find_setting_spec(std::string_view name);

/// The written value as the setting's type understands it; nothing where it does not fit (`auto`,
/// `null`, `${lr}`) or lies outside of `least` and `most`.
std::optional<core::Value> parse_value(const SettingSpec& spec, std::string_view written);

/// Why a size cannot be what is written, as the end of a sentence (`is above
/// 10000`); empty where it can, says nothing, or the setting has no bounds. A document states sizes
/// plainly: with `document` a word that is no number is told as well.
std::string impossible_size(const SettingSpec& spec, std::string_view written, bool document);

/// One canonical setting that a written `key = value` makes.
struct Assignment {
  const SettingSpec* spec = nullptr;
  core::Value value;
  const Framework* framework = nullptr;  ///< whose table knew the key
};

/// How far to look for a key that the framework's own table does not hold.
enum class KeyScope {
  own,       ///< the framework, those named in its `also`, and `common`
  anywhere,  ///< then also keys that mean the same in every table that has them (words of one piece
             ///< excluded)
};

/// Everything that `key = written` sets. Empty: the key is unknown, or its value says nothing
/// (`auto`).
std::vector<Assignment> read_setting(std::string_view framework, std::string_view key,
                                     std::string_view written, KeyScope scope = KeyScope::anywhere);

/// What the key sets, whatever its value; empty where it is unknown.
std::vector<const SettingSpec*> settings_of_key(std::string_view framework, std::string_view key,
                                                KeyScope scope = KeyScope::anywhere);

/// Whether any table of the scope holds the key, whatever its value.
bool knows_setting_key(std::string_view framework, std::string_view key,
                       KeyScope scope = KeyScope::anywhere);

/// The framework whose own table fits these keys best (each key counts the more the fewer tables
/// have it; `syntax` of the artifact counts in its favour); empty where another table fits about as
/// well, or fewer than `least` keys stand in any one table.
std::string_view framework_by_keys(const std::vector<std::string_view>& keys,
                                   std::string_view syntax, std::size_t least = 2);

/// The key as the tables compare it: `--Per-Device Batch` -> `per_device_batch`.
std::string fold_key(std::string_view key);

}  // namespace aplomb::knowledge
