#include "checkpoint/manifest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sha2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <map>
#include <system_error>

#include "core/inside_folder.h"
#include "core/share_work.h"
#include "core/text.h"

namespace aplomb::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_most_files = 200'000;
constexpr std::size_t k_part_bytes = 1U << 20U;
constexpr std::size_t k_digits = 64;

std::string reason(int error) { return std::generic_category().message(error); }

/// Closes a descriptor when it leaves.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

void hash(const std::string& path, FileHash& out) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat about{};
  if (file.number() < 0 || ::fstat(file.number(), &about) != 0) {
    out.why = reason(errno);
    return;
  }
  if (!S_ISREG(about.st_mode)) {
    out.why = "it is no file";
    return;
  }
  SHA2_CTX state;
  SHA256Init(&state);
  std::vector<std::uint8_t> part(k_part_bytes);
  for (;;) {
    const ssize_t got = ::read(file.number(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      out.why = reason(errno);
      return;
    }
    if (got == 0) break;
    SHA256Update(&state, part.data(), static_cast<std::size_t>(got));
  }
  std::array<std::uint8_t, SHA256_DIGEST_LENGTH> digest{};
  SHA256Final(digest.data(), &state);
  for (const std::uint8_t byte : digest) out.sha256 += fmt::format("{:02x}", byte);
}

struct Listed {
  std::vector<std::string> paths;
  std::vector<FileHash> files;
};

Listed list(const std::string& path, const std::string& except) {
  Listed out;
  std::error_code why;
  if (!fs::is_directory(path, why)) {
    out.paths = {path};
    out.files.push_back({fs::path(path).filename().string(), {}, {}});
    return out;
  }
  std::vector<std::string> names;
  fs::recursive_directory_iterator at(path, why);
  for (const fs::recursive_directory_iterator end; !why && at != end; at.increment(why)) {
    std::error_code none;
    if (!at->is_regular_file(none) && !(at->is_symlink(none) && !at->is_directory(none))) continue;
    const std::string file = at->path().string();
    std::error_code differs;
    if (!except.empty() && fs::equivalent(file, except, differs)) continue;
    names.push_back(at->path().lexically_relative(path).generic_string());
    if (names.size() > k_most_files) break;
  }
  // What was not seen is told like a file that cannot be read.
  if (why) out.files.push_back({".", {}, why.message()});
  if (names.size() > k_most_files)
    out.files.push_back({".", {}, fmt::format("there are more than {} files", k_most_files)});
  out.paths.resize(out.files.size(), path);
  std::sort(names.begin(), names.end());
  for (std::string& name : names) {
    std::string whole = (fs::path(path) / name).string();
    FileHash file{std::move(name), {}, {}};
    std::error_code none;
    if (fs::is_symlink(whole, none) && core::leads_outside(path, whole))
      file.why = "it is a link that leads out of the folder, or nowhere";
    out.paths.push_back(std::move(whole));
    out.files.push_back(std::move(file));
  }
  return out;
}

/// As sha256sum writes a name that holds what would end or change its line.
std::string escaped(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else {
      out += c;
    }
  }
  return out;
}

bool unescape(std::string_view text, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return false;
    const char c = text[i];
    if (c != '\\' && c != 'n' && c != 'r') return false;
    out += c == 'n' ? '\n' : c == 'r' ? '\r' : '\\';
  }
  return true;
}

bool is_hash(std::string_view text) {
  return text.size() == k_digits &&
         text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

bool take_line(std::string_view line, FileHash& out) {
  const bool has_escapes = line.starts_with('\\');
  if (has_escapes) line.remove_prefix(1);
  const bool fits = line.size() > k_digits + 2 && is_hash(line.substr(0, k_digits)) &&
                    line[k_digits] == ' ' &&
                    (line[k_digits + 1] == ' ' || line[k_digits + 1] == '*');
  if (!fits) return false;
  out.sha256 = core::lower(line.substr(0, k_digits));
  const std::string_view name = line.substr(k_digits + 2);
  if (has_escapes) return unescape(name, out.name);
  out.name = name;
  return true;
}

}  // namespace

std::vector<FileHash> hash_files(const std::string& path, const std::string& except, int threads) {
  Listed listed = list(path, except);
  std::atomic<std::size_t> next = 0;
  const auto work = [&]() {
    for (std::size_t i = next++; i < listed.files.size(); i = next++) {
      if (listed.files[i].why.empty()) hash(listed.paths[i], listed.files[i]);
    }
  };
  core::share_work(static_cast<int>(std::min<std::size_t>(
                       static_cast<std::size_t>(std::max(threads, 1)), listed.files.size())),
                   work);
  return std::move(listed.files);
}

std::string manifest_text(const std::vector<FileHash>& files) {
  std::string out;
  for (const FileHash& each : files) {
    const std::string name = escaped(each.name);
    out += fmt::format("{}{}  {}\n", name == each.name ? "" : "\\", each.sha256, name);
  }
  return out;
}

core::Result<std::vector<FileHash>> read_manifest(std::string_view text, const std::string& path) {
  std::vector<FileHash> files;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    FileHash one;
    if (!take_line(line, one)) {
      return core::fail(core::ErrorCode::bad_format,
                        fmt::format("[manifest] {}: line {} is no line of sha256sum: {}", path,
                                    number, core::shorten(core::sanitize(line), 80)));
    }
    if (files.size() >= k_most_files) {
      return core::fail(core::ErrorCode::too_large,
                        fmt::format("[manifest] {} names more than {} files", path, k_most_files));
    }
    files.push_back(std::move(one));
  }
  if (files.empty()) {
    return core::fail(core::ErrorCode::bad_format,
                      fmt::format("[manifest] {} names no file", path));
  }
  return files;
}

std::vector<tensors::Finding> compare_with_manifest(const std::string& path,
                                                    const std::vector<FileHash>& recorded,
                                                    const std::vector<FileHash>& present) {
  std::error_code none;
  const bool folder = fs::is_directory(path, none);
  tensors::Findings found;
  const auto tell = [&](const std::string& name, std::string_view what) {
    found.of(folder ? (fs::path(path) / name).string() : path);
    found.add("checkpoint.altered", core::Severity::failed, 0,
              fmt::format("[manifest] {} {}", core::shorten(core::sanitize(name), 160), what));
  };
  std::map<std::string_view, const FileHash*> here;
  for (const FileHash& each : present) here[each.name] = &each;
  std::map<std::string_view, bool> named;
  for (const FileHash& each : recorded) {
    // `./model.safetensors`, as `sha256sum ./*` writes it.
    std::string_view name = each.name;
    while (name.starts_with("./")) name.remove_prefix(2);
    named[name] = true;
    const auto now = here.find(name);
    if (now == here.end()) {
      // Of one file that is judged alone the manifest may name the neighbours too.
      if (folder) tell(std::string(name), "is in the manifest and not there any more");
    } else if (now->second->sha256.empty()) {
      tell(std::string(name), "cannot be compared with the manifest: " + now->second->why);
    } else if (now->second->sha256 != each.sha256) {
      tell(std::string(name), "has other bytes than when the manifest was written");
    }
  }
  for (const FileHash& each : present) {
    if (!named.count(each.name))
      tell(each.name, each.name == "." ? each.why : "is not in the manifest");
  }
  std::vector<tensors::Finding> out = found.list();
  if (found.dropped() > 0) {
    out.push_back({"checkpoint.altered", core::Severity::failed, path, 0,
                   fmt::format("[manifest] and {} further files differ", found.dropped())});
  }
  return out;
}

}  // namespace aplomb::checkpoint
