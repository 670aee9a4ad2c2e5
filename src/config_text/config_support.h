#pragma once
/// What the readers of configuration files share: reading a file of sane size, choosing the
/// framework by its keys, turning entries into Settings.

#include <string>
#include <string_view>
#include <vector>

#include "config_text/config_entry.h"
#include "input/byte_stream.h"
#include "record/run_builder.h"

namespace aplomb::config_text {

/// A configuration beyond this is none: the largest real ones hold a chat template or a list of
/// tokens.
inline constexpr std::uint64_t k_largest_config_bytes = 16ULL << 20U;

/// The text of the artifact, at most k_largest_config_bytes; a Defect says what was left out or
/// broke.
std::string read_config_text(input::ByteStream& bytes, record::RunBuilder& build,
                             record::SourceId source);

/// File name of a path: `out/ds_config.json` -> `ds_config.json`.
std::string_view file_name(std::string_view path);

/// The framework that the entries' keys belong to, by their tables; by the name of the file where
/// that is decisive
/// (`adapter_config.json`); empty where nothing tells.
std::string_view framework_of(const std::vector<ConfigEntry>& entries, std::string_view path,
                              std::string_view syntax);

/// The same for a Python script, by its calls as well: keys of `LoraConfig` and `from_pretrained`
/// outnumber those of the trainer in many.
std::string_view framework_of_script(const std::vector<ConfigEntry>& entries, std::string_view path,
                                     std::string_view text);

/// How many of the entries some table knows.
std::size_t known_keys(const std::vector<ConfigEntry>& entries, std::string_view framework);

/// `${path}` as the whole value of an entry (OmegaConf, hydra) is replaced by the value at that
/// path; a value that stays unknown stays as it is.
void resolve_references(std::vector<ConfigEntry>& entries);

/// W&B wraps every value, `lr: {desc: null, value: 0.1}`: the wrappers are taken out of the paths
/// where most values have one.
void unwrap_values(std::vector<ConfigEntry>& entries);

/// Trackers dump the model's configuration together with the trainer's arguments, and with it what
/// `generate` defaults to (`max_length: 20`): those entries are taken out where such a dump is
/// seen.
void drop_generation_defaults(std::vector<ConfigEntry>& entries);

/// Puts every entry; command lines kept in lists (`args: ["--lr", "1e-4"]` of W&B's metadata,
/// hydra's overrides) are read as such. Sets the source's framework. The number of settings made.
std::size_t put_entries(std::vector<ConfigEntry> entries, std::string_view framework,
                        record::RunBuilder& build, record::SourceId source, bool code = false);

}  // namespace aplomb::config_text
