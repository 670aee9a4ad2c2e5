#include "discovery/file_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/inside_folder.h"
#include "core/text.h"

namespace aplomb::discovery {
namespace {

namespace fs = std::filesystem;

constexpr int k_most_depth = 24;

template <std::size_t N>
bool among(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

using core::is_digit;

bool is_passed_over(std::string_view folder) {
  static constexpr std::array<std::string_view, 15> k_names = {
      ".git",   ".hg",      ".svn",      "node_modules", "__pycache__",   ".venv",
      "venv",   ".tox",     ".idea",     ".mypy_cache",  "site-packages", ".ipynb_checkpoints",
      ".cache", "__MACOSX", "latest-run"};  // W&B's link to the newest of its folders
  return among(folder, k_names);
}

/// Keeps each folder once, however many links lead to it: by device and inode.
class Walker {
 public:
  Walker(Search& out, std::string root, std::size_t most, bool follow)
      : out_(out), root_(std::move(root)), most_(most), follow_(follow) {}

  void walk(const fs::path& folder, int depth) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    if (error || !seen_.insert(real.string()).second) return;
    if (core::is_kernel_tree(real.string())) {
      out_.troubles.push_back({folder.string(), "[search] " + folder.string() +
                                                    ": the kernel's own files are not read"});
      return;
    }
    fs::directory_iterator entries(folder, error);
    if (error) {
      trouble(folder, error);
      return;
    }
    std::vector<fs::path> folders;
    for (const fs::directory_iterator end; !error && entries != end; entries.increment(error)) {
      take(*entries, folders);
    }
    if (error) trouble(folder, error);
    std::sort(folders.begin(), folders.end(), [](const fs::path& a, const fs::path& b) {
      return natural_less(a.string(), b.string());
    });
    for (const fs::path& below : folders) {
      if (depth < k_most_depth) {
        walk(below, depth + 1);
      } else {
        ++out_.left_out;
      }
    }
  }

 private:
  void take(const fs::directory_entry& entry, std::vector<fs::path>& folders) {
    std::error_code error;
    if (entry.is_symlink(error)) {
      const std::string path = entry.path().string();
      if (core::is_kernel_tree(path) || (!follow_ && core::leads_outside(root_, path))) {
        if (++out_.links_out == 1) out_.first_link = path;
        return;
      }
    }
    if (entry.is_directory(error)) {
      if (!is_passed_over(entry.path().filename().string())) folders.push_back(entry.path());
      return;
    }
    if (error || !entry.is_regular_file(error))
      return;  // devices, pipes, sockets, links to nothing
    if (out_.files.size() >= most_) {
      ++out_.left_out;
      return;
    }
    const std::uintmax_t bytes = entry.file_size(error);
    FoundFile file{entry.path().string(), error ? 0 : static_cast<std::uint64_t>(bytes),
                   FileUse::read};
    file.use = use_of(file.path);
    out_.files.push_back(std::move(file));
  }

  void trouble(const fs::path& folder, const std::error_code& error) {
    out_.troubles.push_back(
        {folder.string(), fmt::format("[search] cannot list {}: {}; likely no permission",
                                      folder.string(), error.message())});
  }

  Search& out_;
  std::string root_;
  std::size_t most_;
  bool follow_;
  std::set<std::string> seen_;
};

}  // namespace

FileUse use_of(const std::string& path) {
  static constexpr std::array<std::string_view, 22> k_weights = {
      ".safetensors", ".bin",  ".pt",     ".pth",       ".ckpt", ".gguf",  ".ggml",   ".h5",
      ".keras",       ".hdf5", ".onnx",   ".msgpack",   ".npz",  ".npy",   ".distcp", ".pdparams",
      ".pdopt",       ".nemo", ".tflite", ".pdiparams", ".pkl",  ".joblib"};
  static constexpr std::array<std::string_view, 40> k_no_evidence = {
      ".py",   ".pyc",     ".pyi",   ".so",   ".o",        ".a",   ".c",     ".cc",
      ".cpp",  ".cu",      ".cuh",   ".h",    ".hpp",      ".js",  ".ts",    ".css",
      ".html", ".ipynb",   ".png",   ".jpg",  ".jpeg",     ".gif", ".svg",   ".webp",
      ".pdf",  ".mp4",     ".wav",   ".mp3",  ".zip",      ".tar", ".tgz",   ".7z",
      ".whl",  ".parquet", ".arrow", ".lock", ".tfrecord", ".spm", ".model", ".docx"};
  const std::string name = fs::path(path).filename().string();
  const std::string ending = core::lower(fs::path(name).extension().string());
  // A profiler's trace is named worker0.pt.trace.json: only the last ending counts.
  if (among(ending, k_weights) || name == "optimizer.state") return FileUse::checkpoint;
  // A tokenizer's words are no settings, whatever their names.
  if (name == "tokenizer.json" || name == "vocab.json") return FileUse::leave;
  // What W&B writes down of itself is not said by the run: its own errors would be the run's.
  if (name.starts_with("debug") && ending == ".log" && path.find("wandb/") != std::string::npos)
    return FileUse::leave;
  if (among(ending, k_no_evidence) || name.ends_with(".tar.gz")) return FileUse::leave;
  return FileUse::read;
}

namespace {

/// A folder's content comes before its neighbours with a longer name.
int rank_of(char c) { return c == '/' ? 0 : static_cast<unsigned char>(c); }

/// The number that `text` holds at `at`, without leading zeros; `at` moves behind it.
std::string_view take_number(std::string_view text, std::size_t& at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  while (at + 1 < end && text[at] == '0') ++at;
  const std::string_view digits = text.substr(at, end - at);
  at = end;
  return digits;
}

}  // namespace

bool natural_less(const std::string& a, const std::string& b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string_view x = take_number(a, i);
      const std::string_view y = take_number(b, j);
      if (x != y) return x.size() != y.size() ? x.size() < y.size() : x < y;
      continue;
    }
    const int x = rank_of(a[i++]);
    const int y = rank_of(b[j++]);
    if (x != y) return x < y;
  }
  if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
  return a < b;  // equal but for leading zeros: some order, always the same
}

namespace {

/// A repository holds scripts by the dozen; who gathers what a run left adds the loop, the loss,
/// the collate function. A script of training is some hundred lines.
constexpr std::size_t k_few_scripts = 8;
constexpr std::uint64_t k_script_bytes = 65536;

bool is_script(const FoundFile& file) { return core::lower(file.path).ends_with(".py"); }

}  // namespace

void take_few_scripts(std::vector<FoundFile>& files) {
  const auto scripts = std::count_if(files.begin(), files.end(), is_script);
  if (scripts > static_cast<std::ptrdiff_t>(k_few_scripts)) return;
  for (FoundFile& file : files) {
    if (is_script(file) && file.bytes <= k_script_bytes) file.use = FileUse::read;
  }
}

Search search_folder(const std::string& root, std::size_t most_files, bool follow_links) {
  Search found;
  Walker(found, root, most_files, follow_links).walk(root, 0);
  take_few_scripts(found.files);
  std::sort(found.files.begin(), found.files.end(),
            [](const FoundFile& a, const FoundFile& b) { return natural_less(a.path, b.path); });
  return found;
}

}  // namespace aplomb::discovery
