#pragma once
/// NewFile: a file that comes to stand whole or not at all. The bytes go to a temporary file in the
/// target's folder, made with O_EXCL and O_NOFOLLOW so that nothing laid there before is written
/// through, and commit() gives it the target's name. A target that is a link is followed first: what
/// it leads to is replaced, not the link.
///
///     auto file = NewFile::beside("report.html");
///     ... write to file->descriptor() ...
///     auto done = file->commit();
///
/// Without commit() the temporary file is removed. Errors: not_writable, with the system's reason.

#include <memory>
#include <string>

#include "core/result.h"

namespace aplomb::core {

class NewFile {
 public:
  static Result<std::unique_ptr<NewFile>> beside(const std::string& target);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  int descriptor() const { return descriptor_; }
  Result<void> write(std::string_view bytes);
  Result<void> commit();

 private:
  NewFile(std::string asked, std::string target, std::string temporary, int descriptor);

  std::string asked_;
  std::string target_;
  std::string temporary_;  ///< empty: committed
  int descriptor_;
};

}  // namespace aplomb::core
