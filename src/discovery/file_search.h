#pragma once
/// The files below a folder that may be artifacts of a training run, in a stable order. Follows no
/// loop of links, opens nothing, and leaves out what is no evidence (sources of libraries, caches,
/// version control).

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace aplomb::discovery {

/// What is done with a file, told from its name alone.
enum class FileUse {
  read,        ///< may be an artifact: its first bytes decide
  checkpoint,  ///< weights or other large tensors: listed
  leave,       ///< no evidence of a run (programs, pictures, archives): listed as unknown
};
FileUse use_of(const std::string& path);

struct FoundFile {
  std::string path;
  std::uint64_t bytes = 0;
  FileUse use = FileUse::read;
};

struct Search {
  std::vector<FoundFile> files;  ///< sorted by path, numbers in names compared as numbers
  struct Trouble {
    std::string path;
    std::string text;
  };
  std::vector<Trouble> troubles;  ///< folders that could not be opened
  std::size_t left_out = 0;       ///< files beyond `most_files`, folders beyond the deepest
  std::size_t links_out = 0;      ///< symbolic links that lead out of the folder
  std::string first_link;         ///< one of them
};

/// Makes Python scripts artifacts to be read where `files` holds only a few small ones.
void take_few_scripts(std::vector<FoundFile>& files);

/// `most_files` bounds the files listed, and with them the time and memory this takes.
/// Links that lead out of `root` are not followed unless `follow_links`; /proc, /sys and /dev never.
Search search_folder(const std::string& root, std::size_t most_files, bool follow_links = false);

/// `checkpoint-900` before `checkpoint-1000`.
bool natural_less(const std::string& a, const std::string& b);

}  // namespace aplomb::discovery
