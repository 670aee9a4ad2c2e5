#pragma once
/// Folder: a place for the files of one test.

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace aplomb::test {

/// A folder for one test, gone with the object.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "aplomb-test-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code no_throw;
    std::filesystem::remove_all(path_, no_throw);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  /// Folders in `name` are made.
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return *this / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace aplomb::test
