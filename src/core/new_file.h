#pragma once
/// NewFile: a file that comes to stand whole or not at all. The bytes go to a temporary file in the
/// target's folder, made with O_EXCL and O_NOFOLLOW so that nothing laid there before is written
/// through, and commit() gives it the target's name. A target that is a link is followed first: what
/// it leads to is replaced, not the link, unless Links::replace is said: for files in folders whose
/// content the user has not named one by one.
///
///     auto file = NewFile::beside("report.html");
///     ... write to file->descriptor() ...
///     auto done = file->commit();
///
/// Without commit() the temporary file is removed. Errors: not_writable, with the system's reason.
///
/// A process that may write nothing itself (sandbox/sandbox.h) has a FileMaker: then the temporary
/// file is opened, named and removed by another process, and only its descriptor is here.

#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"

namespace aplomb::core {

/// Who opens and names files in place of this process.
class FileMaker {
 public:
  struct Made {
    int descriptor = -1;  ///< the caller's to close
    int id = -1;
  };
  virtual ~FileMaker() = default;
  virtual Result<Made> make(const std::string& target) = 0;
  virtual Result<void> commit(int id) = 0;
  virtual void drop(int id) = 0;
  virtual Result<void> make_folder(const std::string& path) = 0;
  virtual void remove(const std::string& path) = 0;
};

/// From here on files are made through `maker` (null: by this process). It must outlive its use.
void make_files_through(FileMaker* maker);

/// Makes a folder and those above it where they are not there. Errors: not_writable.
Result<void> make_folder(const std::string& path);

/// Removes a file that this process made, if it is there.
void remove_file(const std::string& path);

class NewFile {
 public:
  enum class Links { follow, replace };
  static Result<std::unique_ptr<NewFile>> beside(const std::string& target,
                                                 Links links = Links::follow);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  int descriptor() const { return descriptor_; }
  Result<void> write(std::string_view bytes);
  Result<void> commit();

 private:
  NewFile(std::string asked, std::string target, std::string temporary, int descriptor, int id);

  std::string asked_;
  std::string target_;
  std::string temporary_;  ///< empty: committed, or the maker's
  int descriptor_;
  int id_;  ///< of the maker; -1: none, or committed
};

/// A file of these bytes in the place of what has this name, be it a link.
Result<void> replace_file(const std::string& path, std::string_view bytes);

}  // namespace aplomb::core
