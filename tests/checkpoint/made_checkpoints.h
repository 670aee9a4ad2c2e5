#pragma once
/// Checkpoints made in bytes by the tests themselves, and a folder to put them into.

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

namespace aplomb::test {

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "aplomb-ckpt-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TempFolder() {
    std::error_code no_throw;
    std::filesystem::remove_all(path_, no_throw);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }
  std::string write(const std::string& name, std::string_view bytes) const {
    const std::filesystem::path target = path_ / name;
    std::filesystem::create_directories(target.parent_path());
    std::ofstream(target, std::ios::binary) << bytes;
    return target.string();
  }

 private:
  std::filesystem::path path_;
};

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

inline std::string little(std::uint64_t value, int width) {
  std::string out;
  for (int i = 0; i < width; ++i) out += static_cast<char>((value >> (8 * i)) & 0xFFU);
  return out;
}

inline std::string safetensors(std::string_view header, std::string_view data) {
  return little(header.size(), 8) + std::string(header) + std::string(data);
}

template <class Number>
std::string raw(std::initializer_list<Number> numbers) {
  std::string out(numbers.size() * sizeof(Number), '\0');
  std::memcpy(out.data(), std::data(numbers), out.size());
  return out;
}

}  // namespace aplomb::test
