#include "cli/here.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/output.h"
#include "cli/views.h"
#include "core/text.h"
#include "discovery/collect.h"
#include "discovery/file_kind.h"
#include "discovery/file_search.h"
#include "input/byte_stream.h"
#include "sources/reader.h"

namespace aplomb::cli {
namespace {

constexpr std::size_t k_most_files = 5000;  // searched
constexpr std::size_t k_most_looked = 400;  // opened for their first bytes
constexpr std::size_t k_names_shown = 3;    // of a kind
constexpr double k_sure = 0.3;  // any text is a log by 0.1: no more than that is not said to be one

struct Kind {
  std::vector<std::string> names;
  std::uint64_t bytes = 0;
};

/// What lies here, by the reader that would read it; `checkpoint` for weights.
struct Around {
  std::map<std::string, Kind> kinds;
  std::size_t files = 0;
  std::size_t unread = 0;  ///< files of which nothing says what they are
};

std::string first_bytes(const std::string& path) {
  std::string head;
  auto bytes = input::open_bytes(path);
  if (!bytes) return head;
  while (head.size() < sources::Sniff::k_head_bytes) {
    const std::string_view part = (*bytes)->next();
    if (part.empty()) break;
    head += part.substr(0, sources::Sniff::k_head_bytes - head.size());
  }
  return head;
}

bool ends_as_log(std::string_view path) {
  return path.ends_with(".log") || path.ends_with(".out") || path.ends_with(".err") ||
         path.find("log") != std::string_view::npos;
}

std::string kind_of_file(const discovery::FoundFile& file) {
  const std::string head = first_bytes(file.path);
  if (head.empty()) return "";
  const sources::Sniff artifact{file.path, head, file.bytes};
  if (discovery::kind_of(artifact) != discovery::FileKind::evidence) return "";
  const sources::Reader* best = discovery::surest_reader(artifact);
  if (best == nullptr || (best->sniff(artifact) < k_sure && !ends_as_log(file.path))) return "";
  return best->spec().slug;
}

Around look(const std::string& folder) {
  Around around;
  std::size_t looked = 0;
  for (const discovery::FoundFile& file : discovery::search_folder(folder, k_most_files).files) {
    ++around.files;
    std::string kind;
    if (file.use == discovery::FileUse::checkpoint) {
      kind = "checkpoint";
    } else if (file.use == discovery::FileUse::read && looked < k_most_looked) {
      ++looked;
      kind = kind_of_file(file);
    }
    if (kind.empty()) {
      ++around.unread;
      continue;
    }
    Kind& of = around.kinds[kind];
    of.bytes += file.bytes;
    of.names.push_back(file.path.starts_with("./") ? file.path.substr(2) : file.path);
  }
  return around;
}

bool is_configuration(std::string_view kind) {
  return kind.starts_with("config") || kind == "python-config" || kind == "settings-text";
}

std::string table(const Around& around) {
  std::string out;
  for (const auto& [kind, of] : around.kinds) {
    std::string names;
    for (std::size_t i = 0; i < std::min(of.names.size(), k_names_shown); ++i)
      names += (i == 0 ? "" : ", ") + core::sanitize(of.names[i]);
    if (of.names.size() > k_names_shown)
      names += fmt::format(" and {} more", of.names.size() - k_names_shown);
    out += fmt::format("  {:<16} {}, {}\n", kind, names,
                       core::show_bytes(static_cast<double>(of.bytes)));
  }
  return out;
}

std::string offers(const Around& around) {
  std::string out;
  const auto offer = [&out](const std::string& command, std::string_view what) {
    out += fmt::format("  {:<34} {}\n", command, what);
  };
  const bool ran = std::any_of(around.kinds.begin(), around.kinds.end(), [](const auto& each) {
    return !is_configuration(each.first) && each.first != "checkpoint";
  });
  if (ran) offer("aplomb diagnose .", "what went wrong, why, and what to change");
  const bool configured =
      std::any_of(around.kinds.begin(), around.kinds.end(),
                  [](const auto& each) { return is_configuration(each.first); });
  if (configured) offer("aplomb check .", "what to change before it runs");
  if (around.kinds.count("config-json") > 0)
    offer("aplomb plan .", "what it will need on each GPU");
  if (around.kinds.count("checkpoint") > 0)
    offer("aplomb ckpt scan .", "weights that are NaN, frozen or dangerous to load");
  if (ran) offer("aplomb bundle . --out run.tar.gz", "one redacted archive for a bug report");
  return out;
}

}  // namespace

int look_around() {
  const Around around = look(".");
  std::string text;
  if (around.kinds.empty()) {
    text = fmt::format(
        "aplomb says why a deep-learning training run went wrong, and how to mend it.\n\n"
        "Nothing in this folder{} looks like what a training run leaves.\n\n"
        "  {:<34} {}\n  {:<34} {}\n  {:<34} {}\n",
        around.files == 0 ? "" : fmt::format(" ({} files)", around.files),
        "aplomb diagnose PATH...", "what went wrong with a run, from whatever it left",
        "aplomb demo", "a tiny training, broken, diagnosed and mended", "aplomb --help",
        "every command");
  } else {
    text = fmt::format(
        "In this folder, of {} {}:\n\n{}\nWhat can be done with it (files are only read):\n\n{}",
        around.files, around.files == 1 ? "file" : "files", table(around), offers(around));
  }
  return print(text) ? k_exit_healthy : k_exit_usage;
}

}  // namespace aplomb::cli
