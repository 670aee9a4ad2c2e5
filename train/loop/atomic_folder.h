#pragma once
/// AtomicFolder: a folder that is there as a whole or not at all, whenever the process is killed:
/// everything is written to `NAME.tmp-PID`, synced to the disk, and renamed.
///
///     auto folder = AtomicFolder::begin("out/checkpoint-200");
///     ... write files into folder->path() ...
///     auto done = folder->commit();
///
/// Destroyed before commit(): what was written is removed, what stood at the place stays. Linux.

#include <string>
#include <vector>

#include "core/result.h"

namespace aplomb::train::loop {

class AtomicFolder {
 public:
  static core::Result<AtomicFolder> begin(std::string place);
  ~AtomicFolder();
  AtomicFolder(AtomicFolder&& other) noexcept;
  AtomicFolder& operator=(AtomicFolder&&) = delete;

  const std::string& path() const { return temporary_; }
  /// Syncs every file below the folder and puts it in place; one that stands there already is
  /// exchanged in one step and then removed.
  core::Result<void> commit();

 private:
  AtomicFolder(std::string place, std::string temporary)
      : place_(std::move(place)), temporary_(std::move(temporary)) {}
  std::string place_;
  std::string temporary_;  ///< empty: committed
};

/// Removes what earlier, killed processes have left of unfinished folders in `parent`.
void remove_unfinished(const std::string& parent);

/// Writes a file whole: text, fsync. The file must not matter before the call returns.
core::Result<void> write_synced(const std::string& path, std::string_view bytes);

/// Removes a folder so that no half of it is ever taken for a whole one: it is renamed first.
void remove_whole(const std::string& folder);

}  // namespace aplomb::train::loop
