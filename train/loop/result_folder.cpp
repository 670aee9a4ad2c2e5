#include "train/loop/result_folder.h"

#include <filesystem>
#include <functional>

#include "train/loop/atomic_folder.h"
#include "train/loop/data_setup.h"

namespace aplomb::train::loop {
namespace {

namespace fs = std::filesystem;

// What a tokenizer consists of, as AutoTokenizer looks for it.
constexpr const char* k_tokenizer_files[] = {"tokenizer.json",          "tokenizer_config.json",
                                             "special_tokens_map.json", "added_tokens.json",
                                             "chat_template.jinja",     "generation_config.json"};

core::Result<void> copy_tokenizer(const fs::path& from, const fs::path& to) {
  const fs::path folder = fs::is_directory(from) ? from : from.parent_path();
  for (const char* name : k_tokenizer_files) {
    std::error_code why;
    if (!fs::exists(folder / name, why)) continue;
    fs::copy_file(folder / name, to / name, fs::copy_options::overwrite_existing, why);
    if (why)
      return core::fail(core::ErrorCode::not_writable,
                        "[result] " + (to / name).string() + ": " + why.message());
  }
  return {};
}

core::Result<std::string> save_into(
    const std::string& place, const std::string& tokenizer,
    const std::function<core::Result<void>(const std::string&)>& write) {
  auto folder = AtomicFolder::begin(place);
  if (!folder) return tl::unexpected(folder.error());
  if (auto done = write(folder->path()); !done) return tl::unexpected(done.error());
  if (auto done = copy_tokenizer(tokenizer, folder->path()); !done)
    return tl::unexpected(done.error());
  if (auto done = folder->commit(); !done) return tl::unexpected(done.error());
  return place;
}

}  // namespace

core::Result<std::string> save_result(LlamaTrainee& trainee, const TrainOptions& options) {
  const std::string tokenizer = tokenizer_folder(options);
  const std::string place =
      options.output.output_dir + (trainee.has_adapter() ? "/adapter" : "/model");
  auto saved =
      save_into(place, tokenizer, [&](const std::string& folder) { return trainee.save(folder); });
  if (!saved || !options.output.merge_adapter || !trainee.has_adapter()) return saved;
  const auto merged =
      save_into(options.output.output_dir + "/merged", tokenizer,
                [&](const std::string& folder) { return trainee.save_merged(folder); });
  if (!merged) return merged;
  return saved;
}

}  // namespace aplomb::train::loop
