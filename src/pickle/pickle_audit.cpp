#include "pickle/pickle_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/text.h"
#include "pickle/pickle.h"
#include "pickle/program_text.h"
#include "pickle/unpack.h"
#include "pickle/zip_archive.h"

namespace aplomb::pickle {
namespace {

constexpr int k_most_depth = 6;  // archives in archives, pickles in pickles
constexpr std::uint64_t k_most_inflated = 1U << 30U;
constexpr std::uint64_t k_most_packed = 8U << 20U;  // of files that are not named like pickles
constexpr std::uint64_t k_most_pickle_bytes = 1U << 30U;
constexpr std::size_t k_most_streams = 100'000;  // pickles in a row
constexpr std::size_t k_most_tries = 4096;       // places behind junk where a pickle might begin
constexpr std::uint64_t k_most_searched = 256U << 20U;
/// torch/serialization.py: MAGIC_NUMBER 0x1950a86a20f9469cfc6c, as pickle's LONG1 holds it.
constexpr std::string_view k_legacy_magic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);
constexpr std::uint64_t k_tar_block = 512;

std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};  // NOLINT: as bytes
}

std::uint64_t little(std::string_view bytes, std::uint64_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width && at + i < bytes.size(); ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8U * i);
  }
  return value;
}

/// Endings of files that Python loads as pickles, alone or in an archive.
bool ends_like_pickle(std::string_view path) {
  std::string name = core::lower(path);
  for (const std::string_view packed : {".gz", ".z", ".bz2", ".xz", ".lzma", ".lz4", ".zst"}) {
    if (name.ends_with(packed)) name.resize(name.size() - packed.size());
  }
  constexpr std::array<std::string_view, 13> k_endings = {
      ".pkl", ".pickle", ".pt",  ".pth", ".ckpt", ".joblib",   ".p",
      ".pk",  ".dill",   ".pt2", ".ptl", ".th",   ".model.bin"};
  return std::any_of(k_endings.begin(), k_endings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

/// PROTO, its number and an opcode that may follow: raw tensors, too, can begin with 0x80 0x02.
bool begins_like_pickle(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 1 && bytes[1] <= 5 &&
         std::string_view(
             "(c]})NISVFJKMLGTUBCPX0.\x82\x83\x84\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\x95\x96\x97")
                 .find(bytes[2]) != std::string_view::npos;
}

/// Opcodes with which a pickle without a PROTO may begin: whatever needs nothing before it.
bool may_begin_pickle(std::string_view bytes) {
  return !bytes.empty() &&
         std::string_view(
             "(c]}ilt)dNISVFJKMLGpqXTUBCP\x82\x83\x84\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\x95\x96\x97")
                 .find(bytes[0]) != std::string_view::npos;
}

/// Formats whose first byte or two no unpickler takes, so that they are no pickles too.
bool is_other_format(std::string_view bytes) {
  if (bytes.empty() || bytes[0] == '{' || bytes[0] == '[') return true;
  for (const std::string_view magic :
       {std::string_view("\x89HDF"), std::string_view("version https://git-lfs"),
        std::string_view("#!")}) {
    if (bytes.starts_with(magic)) return true;
  }
  return false;
}

/// Formats that can be a pickle at the same time: what is dangerous in them is told, what breaks is
/// not. safetensors: eight bytes of length, then JSON.
bool looks_otherwise(std::string_view bytes) {
  return bytes.starts_with("GGUF") || bytes.starts_with("\x89PNG") ||
         (bytes.size() > 9 && bytes[8] == '{' && little(bytes, 0, 8) < bytes.size());
}

/// Archives that are recognised and not read.
const char* unread_archive(std::string_view bytes) {
  if (bytes.starts_with("7z\xBC\xAF\x27\x1C")) return "7z";
  return bytes.starts_with("Rar!\x1A\x07") ? "rar" : nullptr;
}

/// The name of a call in the source of TorchScript that writes or opens a file, or calls another
/// machine; empty where there is none. Without strings, comments and blanks, which may stand anywhere.
std::string_view call_of_script(std::string_view source) {
  std::string code;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const char each = source[i];
    if (each == '#') {
      i = std::min(source.find('\n', i), source.size());
    } else if (each == '"' || each == '\'') {
      for (++i; i < source.size() && source[i] != each && source[i] != '\n'; ++i)
        i += source[i] == '\\' ? 1 : 0;
    } else if (std::string_view(" \t\r\n\\").find(each) == std::string_view::npos) {
      code += each;
    }
  }
  for (const std::string_view call : {"torch.save(", "aten.save(", "torch.from_file(",
                                      "aten.from_file(", "prim.rpc_", "torch.rpc_", "rpc.rpc_"}) {
    if (code.find(call) != std::string::npos) return call.substr(0, call.find_first_of("(_"));
  }
  return {};
}

std::optional<std::uint64_t> octal(std::string_view field) {
  std::string_view digits = core::trim(field.substr(0, field.find('\0')));
  std::uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  if (std::from_chars(digits.data(), end, value, 8).ec != std::errc()) return std::nullopt;
  return value;
}

/// By the checksum of its first header, as tarfile asks: tars of 1979 have no mark at all.
bool is_tar(std::string_view bytes) {
  if (bytes.size() < k_tar_block) return false;
  if (bytes.substr(257, 5) == "ustar") return true;
  const auto stated = octal(bytes.substr(148, 8));
  if (!stated || *stated == 0) return false;
  std::uint64_t sum = 8U * ' ';
  for (std::size_t i = 0; i < k_tar_block; ++i) {
    if (i < 148 || i >= 156) sum += static_cast<unsigned char>(bytes[i]);
  }
  return sum == *stated;
}

/// Whether a name of a member, or what a link of the archive names, lies outside of the folder that
/// it is unpacked into.
bool leads_out(std::string_view name) {
  if (name.starts_with('/') || name.starts_with('\\')) return true;
  if (name.size() > 2 && name[1] == ':' && (name[2] == '\\' || name[2] == '/')) return true;
  std::int64_t depth = 0;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find_first_of("/\\"), name.size());
    const std::string_view part = name.substr(0, end);
    if (part == "..") --depth;
    if (part != ".." && part != "." && !part.empty()) ++depth;
    if (depth < 0) return true;
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return false;
}

class Audit {
 public:
  explicit Audit(tensors::Findings& out) : out_(out) {}

  /// `expected`: what cannot be read as a pickle is said.
  void blob(std::string_view bytes, const std::string& where, bool expected, int depth) {
    if (depth > k_most_depth) {
      return inconclusive(where, 0, "archives and pickles inside each other beyond what is read");
    }
    if (bytes.empty()) return;
    if (bytes.starts_with("PK\x03\x04") || bytes.starts_with("PK\x05\x06")) {
      return zip(bytes, where, depth);
    }
    if (depth == 0 || expected) zip_behind(bytes, where, depth);
    if (is_other_format(bytes)) {
      if (expected && bytes.front() != '{' && bytes.front() != '[') hidden(bytes, 0, where, depth);
      return;
    }
    if (bytes.starts_with("\x93NUMPY")) return npy(bytes, where, depth);
    if (is_tar(bytes)) tar(bytes, where, depth);
    if (is_tar(bytes) || looks_otherwise(bytes)) expected = false;
    if (packed_with(bytes) != nullptr &&
        (expected || (depth == 0 && bytes.size() <= k_most_packed) || holds_archive(bytes))) {
      return unpacked(bytes, where, expected || holds_archive(bytes), depth);
    }
    if (expected) {
      if (const char* name = unread_archive(bytes); name != nullptr) {
        return inconclusive(where, 0, fmt::format("it is packed with {}, which is not read", name));
      }
    }
    if (!begins_like_pickle(bytes) && !expected && !may_begin_pickle(bytes)) return;
    streams(bytes, where, expected, depth);
  }

 private:
  void inconclusive(const std::string& where, std::uint64_t at, const std::string& why) {
    out_.add(
        "pickle.inconclusive", core::Severity::warning, at,
        fmt::format("[pickle] {}cannot be followed to its end, so it cannot be called safe: {}",
                    shown(where), why));
  }
  void outside(const std::string& where, std::uint64_t at, const std::string& name) {
    if (!leads_out(name) || said_outside_) return;
    said_outside_ = true;
    out_.add("code.path", core::Severity::failed, at,
             fmt::format("[code] {}names {}: who unpacks it without a filter writes outside of the "
                         "folder",
                         shown(where), core::shorten(core::sanitize(name), 120)));
  }
  void suspicious(std::uint64_t at, const std::string& what) {
    out_.add("pickle.suspicious", core::Severity::warning, at, "[pickle] " + what);
  }
  static std::string shown(const std::string& where) {
    return where.empty() ? "it " : core::shorten(core::sanitize(where), 120) + " ";
  }

  static bool has_kind(const tensors::Findings& findings, std::string_view kind) {
    const auto& list = findings.list();
    return std::any_of(list.begin(), list.end(),
                       [&](const tensors::Finding& each) { return each.kind == kind; });
  }
  static bool has(const PickleDocument& document, std::string_view kind) {
    return has_kind(document.findings, kind);
  }

  void take(const PickleDocument& document, const std::string& where, int depth) {
    for (const tensors::Finding& each : document.findings.list()) {
      const std::string in =
          where.empty() ? "" : fmt::format(" (in {})", core::shorten(core::sanitize(where), 120));
      out_.add(each.kind, each.severity, each.offset, each.text + in);
    }
    for (std::size_t i = 0; i < document.inside.size() && i < k_most_streams; ++i) {
      blob(document.inside[i], where, true, depth + 1);
    }
  }

  /// One pickle after another, to the end or to what is none.
  void streams(std::string_view bytes, const std::string& where, bool expected, int depth) {
    const bool sure = expected || begins_like_pickle(bytes);
    if (bytes.size() > k_most_pickle_bytes && !sure) return;
    std::uint64_t at = 0;
    bool legacy = false;
    PickleDocument object;
    for (std::size_t count = 0; at < bytes.size(); ++count) {
      if (count >= k_most_streams) return inconclusive(where, at, "pickles without end");
      const std::string_view rest = bytes.substr(at, k_most_pickle_bytes);
      // Padding behind the last pickle, and the text file that the first word made look like one.
      if (count > 0 && !begins_like_pickle(rest) && !may_begin_pickle(rest)) {
        return hidden(bytes, at, where, depth);
      }
      PickleDocument document = read_pickle(rest, where, at);
      if (document.fault) {
        const bool danger = has(document, "pickle.dangerous");
        // Raw tensors begin like anything: what was seen in them counts only where it is certain.
        if (sure || danger) {
          take(document, where, depth);
        }
        if (count == 0 ? sure || danger : begins_like_pickle(rest) || danger) {
          inconclusive(where, at, document.fault->text);
        }
        if (sure) hidden(bytes, at + 1, where, depth);
        return;
      }
      take(document, where, depth);
      if (count == 0) {
        legacy = document.at(document.root).kind == PickleKind::bytes &&
                 document.at(document.root).text == k_legacy_magic;
      }
      at += document.end;
      if (legacy && count == 3) object = std::move(document);
      if (legacy && count == 4) {
        if (!skip_storages(bytes, document, object, at)) {
          return inconclusive(where, at, "the storages behind its pickles are cut");
        }
      }
    }
  }

  /// Eight bytes that count elements, and the elements, of every storage that the list of keys has.
  static bool skip_storages(std::string_view bytes, const PickleDocument& keys,
                            const PickleDocument& object, std::uint64_t& at) {
    std::unordered_map<std::string_view, std::uint64_t> widths;
    for (const PickleStorage& each : object.storages) {
      if (each.type != nullptr) {
        widths.emplace(each.view_of.empty() ? each.key : each.view_of, each.type->bits / 8);
      }
    }
    for (const NodeId id : keys.at(keys.root).items) {
      const auto width = widths.find(keys.at(id).text);
      std::uint64_t size = 0;
      if (width == widths.end() || bytes.size() - at < 8 ||
          __builtin_mul_overflow(little(bytes, at, 8), width->second, &size) ||
          size > bytes.size() - at - 8) {
        return false;
      }
      at += 8 + size;
    }
    return true;
  }

  /// Pickles behind junk: tried wherever one might begin, and only what is dangerous counts.
  void hidden(std::string_view bytes, std::uint64_t from, const std::string& where, int depth) {
    static constexpr std::array<std::string_view, 14> k_beginnings = {
        "\x80\x02", "\x80\x03",      "\x80\x04",       "\x80\x05",    "cos\n",
        "cposix\n", "csubprocess\n", "c__builtin__\n", "cbuiltins\n", "cnt\n",
        "csys\n",   "crunpy\n",      "cimportlib\n",   "cpty\n"};
    const std::string_view part =
        bytes.substr(0, from + std::min(k_most_searched, bytes.size() - from));
    std::size_t tries = 0;
    for (const std::string_view beginning : k_beginnings) {
      for (std::size_t at = part.find(beginning, from); at != std::string_view::npos;
           at = part.find(beginning, at + 1)) {
        if (++tries > k_most_tries) {
          return inconclusive(where, at, "too many places where a pickle might begin");
        }
        const PickleDocument document = read_pickle(part.substr(at), where, at);
        if (!has(document, "pickle.dangerous")) continue;
        take(document, where, depth);
        suspicious(at, fmt::format("{}has a pickle behind bytes that are none, at byte {}",
                                   shown(where), at));
        return;
      }
    }
  }

  /// A zip archive behind something else: Python's zipfile reads those.
  void zip_behind(std::string_view bytes, const std::string& where, int depth) {
    constexpr std::uint64_t k_tail = 65535 + 22;
    const std::uint64_t from = bytes.size() > k_tail ? bytes.size() - k_tail : 0;
    const std::size_t end = bytes.rfind("PK\x05\x06");
    if (end == std::string_view::npos || end < from || bytes.size() - end < 22) return;
    const std::uint64_t size = little(bytes, end + 12, 4);
    const std::uint64_t offset = little(bytes, end + 16, 4);
    if (size + offset > end || little(bytes, end - size, 4) != 0x02014b50) return;
    suspicious(end, fmt::format("{}is a zip archive behind something else", shown(where)));
    zip(bytes.substr(end - size - offset), where, depth);
  }

  /// Whether what is packed begins as an archive or a pickle does: model.tar.gz, whatever its size.
  static bool holds_archive(std::string_view bytes) {
    constexpr std::uint64_t k_head = 4096;
    constexpr std::size_t k_packed_head = 1U << 20U;  // blocks of bzip2 are 900 kB
    std::string head;
    unpack(bytes.substr(0, k_packed_head), k_head, head);
    return is_tar(head) || head.starts_with("PK\x03\x04") || begins_like_pickle(head);
  }

  void unpacked(std::string_view bytes, const std::string& where, bool expected, int depth) {
    std::string out;
    const std::uint64_t left = k_most_inflated - std::min(k_most_inflated, inflated_);
    const bool whole = unpack(bytes, left, out);
    inflated_ += out.size();
    if (!whole && expected) {
      inconclusive(where, 0,
                   fmt::format("it is packed with {}, and damaged or larger than what is read",
                               packed_with(bytes)));
    }
    blob(out, where, expected, depth + 1);
  }

  /// Arrays of objects are pickles behind the header.
  void npy(std::string_view bytes, const std::string& where, int depth) {
    const bool wide = bytes.size() > 12 && bytes[6] >= 2;
    const std::uint64_t length = wide ? little(bytes, 8, 4) : little(bytes, 8, 2);
    const std::uint64_t begin = (wide ? 12U : 10U) + length;
    if (begin > bytes.size()) return inconclusive(where, 0, "its header is cut");
    const std::string_view header = bytes.substr(0, begin);
    // What numpy writes; other spellings of the same it reads as well.
    const bool is_usual = header.find_first_of("\"\\#") == std::string_view::npos;
    if (header.find("O'") != std::string_view::npos ||
        header.find("O8'") != std::string_view::npos) {
      streams(bytes.substr(begin), where, true, depth);
    } else if (!is_usual || header.find('O') != std::string_view::npos ||
               header.find("object") != std::string_view::npos) {
      if (!is_usual) suspicious(0, shown(where) + "has a header as numpy writes none");
      streams(bytes.substr(begin), where, begins_like_pickle(bytes.substr(begin)), depth);
    }
  }

  void tar(std::string_view bytes, const std::string& where, int depth) {
    std::uint64_t at = 0;
    std::map<std::string, std::size_t> names;
    while (at + k_tar_block <= bytes.size()) {
      const std::string_view head = bytes.substr(at, k_tar_block);
      if (head.find_first_not_of('\0') == std::string_view::npos) {  // the end, or a gap
        at += k_tar_block;
        continue;
      }
      const std::string name(head.substr(0, std::min<std::size_t>(head.find('\0'), 100)));
      const auto size = octal(head.substr(124, 12));
      if (!is_tar(head) || !size || *size > bytes.size() - at - k_tar_block) {
        return inconclusive(where, at, "a tar archive that is cut");
      }
      const std::string_view content = bytes.substr(at + k_tar_block, *size);
      const char type = head[156];
      if (type == '1' || type == '2') {  // a hard link's target stands from the archive's root
        const std::string to(
            head.substr(157, std::min<std::size_t>(head.find('\0', 157), 257) - 157));
        const std::size_t folder =
            type == '2' && !to.starts_with('/') ? name.rfind('/') : name.npos;
        outside(where, at, folder == name.npos ? to : name.substr(0, folder + 1) + to);
      }
      // Long names, and the records `30 path=...` of pax, stand in members of their own.
      const bool is_of_next = type == 'L' || type == 'K' || type == 'x' || type == 'g';
      outside(where, at, name);
      if (is_of_next) {
        const std::size_t key = type == 'x' || type == 'g' ? content.find("path=") : 0;
        const std::size_t begin = key == 0 ? 0 : std::min(key, content.size() - 5) + 5;
        if (key != std::string_view::npos && begin <= content.size()) {
          const std::string_view rest = content.substr(begin);
          outside(where, at, std::string(rest.substr(0, rest.find_first_of({"\0\n", 2}))));
        }
      } else {
        if (++names[name] == 2)
          suspicious(at, fmt::format("two members are named {}", shown(name)));
        // torch 0.1: sys_info, pickle, tensors, storages.
        const bool expected = ends_like_pickle(name) || name == "pickle" || name == "sys_info";
        blob(content, inside(where, name), expected, depth + 1);
        code(content, where, name);
      }
      at += k_tar_block + (*size + k_tar_block - 1) / k_tar_block * k_tar_block;
    }
  }

  /// Program text in a member: configurations, templates.
  void code(std::string_view bytes, const std::string& where, const std::string& name) {
    std::vector<tensors::Finding> found;
    audit_code(as_bytes(bytes), name.substr(name.rfind(' ') + 1), found);
    for (const tensors::Finding& each : found) {
      out_.add(each.kind, each.severity, each.offset,
               fmt::format("{} (in {})", each.text,
                           core::shorten(core::sanitize(inside(where, name)), 120)));
    }
  }

  static std::string inside(const std::string& where, const std::string& name) {
    return where.empty() ? name : where + ": " + name;
  }

  void zip(std::string_view bytes, const std::string& where, int depth) {
    const auto directory = read_zip_directory(as_bytes(bytes), where);
    const std::uint64_t before = bytes_before_archive(bytes);
    const bool broken =
        !directory || before > 0 || has_kind(directory->findings, "checkpoint.truncated");
    if (broken && depth <= k_most_depth && several(bytes, where, depth)) return;
    if (!directory) {
      inconclusive(where, 0, "an archive without a directory");
      return unlisted(bytes, {}, where, depth);
    }
    if (before > 0 && depth <= k_most_depth) {
      suspicious(0, fmt::format("{}is a zip archive behind something else", shown(where)));
      zip(bytes.substr(before), where, depth + 1);
    }
    std::vector<ZipEntry> listed = directory->entries;
    for (const ZipEntry& entry : directory->unread) {
      listed.push_back(entry);
      inconclusive(inside(where, entry.name), entry.header,
                   "a member that is encrypted, damaged or packed in a way that is not read");
    }
    std::map<std::string_view, std::size_t> names;
    for (const ZipEntry& entry : directory->entries) {
      if (++names[entry.name] == 2) {
        suspicious(
            entry.header,
            fmt::format(
                "two members of the archive are named {}: loaders differ in which one they take",
                core::shorten(core::sanitize(entry.name), 120)));
      }
      const std::string_view local =
          bytes.substr(std::min<std::uint64_t>(entry.header + 30, bytes.size()),
                       little(bytes, entry.header + 26, 2));
      if (local != entry.name) {
        suspicious(entry.header,
                   fmt::format("the member {} of the archive has another name in its own header",
                               core::shorten(core::sanitize(entry.name), 120)));
      }
      outside(where, entry.header, std::string(entry.name));
      member(bytes, entry, where, depth);
    }
    unlisted(bytes, listed, where, depth);
  }

  /// How far the directory lies behind the place that the end record names, as in a file that has
  /// something before the archive. The records of zip64 stand between the two.
  static std::uint64_t bytes_before_archive(std::string_view bytes) {
    constexpr std::uint64_t k_zip64_records = 56 + 20;
    const std::size_t end = bytes.rfind("PK\x05\x06");
    if (end == std::string_view::npos || bytes.size() - end < 22) return 0;
    std::uint64_t until = end;
    if (end >= 20 && bytes.substr(end - 20, 4) == "PK\x06\x07") until -= k_zip64_records;
    const std::uint64_t stated = little(bytes, end + 12, 4) + little(bytes, end + 16, 4);
    const bool in_zip64 =
        little(bytes, end + 12, 4) == 0xFFFFFFFF || little(bytes, end + 16, 4) == 0xFFFFFFFF;
    return in_zip64 || stated >= until ? 0 : until - stated;
  }

  /// Archives one behind the other, as torch's distributed checkpoints write them into one file.
  bool several(std::string_view bytes, const std::string& where, int depth) {
    constexpr std::size_t k_record = 22;
    std::uint64_t from = 0;
    std::size_t whole = 0;
    std::size_t tries = 0;
    for (std::size_t end = bytes.find("PK\x05\x06");
         end != std::string_view::npos && tries < k_most_tries;
         end = bytes.find("PK\x05\x06", end + 4), ++tries) {
      const std::string_view part = bytes.substr(from, end + k_record - from);
      const auto directory = read_zip_directory(as_bytes(part), where);
      if (!directory || has_kind(directory->findings, "checkpoint.truncated")) continue;
      if (part.size() == bytes.size()) return false;
      zip(part, where, depth + 1);
      ++whole;
      from = end + k_record;
    }
    if (whole > 0 && from < bytes.size()) blob(bytes.substr(from), where, true, depth + 1);
    return whole > 0;
  }

  void member(std::string_view bytes, const ZipEntry& entry, const std::string& where, int depth) {
    const bool expected = ends_like_pickle(entry.name);
    const std::string name = inside(where, entry.name);
    if (entry.stored) return content(bytes.substr(entry.offset, entry.size), name, expected, depth);
    if (inflated_ >= k_most_inflated) {
      if (expected) inconclusive(name, entry.offset, "too much is compressed");
      return;
    }
    const auto unpacked = inflate_entry(as_bytes(bytes), entry, k_most_inflated - inflated_);
    if (unpacked) {
      inflated_ += unpacked->size();
      return content(*unpacked, name, expected, depth);
    }
    if (expected) inconclusive(name, entry.offset, unpacked.error().text);
  }

  void content(std::string_view bytes, const std::string& name, bool expected, int depth) {
    // torch.load takes an archive of TorchScript as well, and runs the __setstate__ of its code/.
    if (name.ends_with(".py") && name.find("code/") != std::string::npos) {
      if (const std::string_view call = call_of_script(bytes); !call.empty()) {
        out_.add("pickle.dangerous", core::Severity::failed, 0,
                 fmt::format("[pickle] {}is TorchScript that calls {}, which writes or opens files "
                             "or calls other machines: loading or running it does so",
                             shown(name), call));
      }
      return;
    }
    blob(bytes, name, expected, depth + 1);
    code(bytes, "", name);
  }

  /// Members that the directory does not list: readers that walk the file from its start see them.
  void unlisted(std::string_view bytes, const std::vector<ZipEntry>& entries,
                const std::string& where, int depth) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> known;
    known.reserve(entries.size());
    for (const ZipEntry& entry : entries)
      known.emplace_back(entry.header, entry.offset + entry.packed);
    std::sort(known.begin(), known.end());
    std::uint64_t at = 0;
    for (std::size_t i = 0; i <= known.size(); ++i) {
      const std::uint64_t until = i < known.size() ? known[i].first : bytes.size();
      for (std::size_t found = bytes.substr(0, until).find("PK\x03\x04", at);
           found != std::string_view::npos && found + 30 <= until && until > at;
           found = bytes.substr(0, until).find("PK\x03\x04", found + 4)) {
        stray(bytes, found, where, depth, !entries.empty());
        if (++strays_ > tensors::Findings::k_most) return;
      }
      if (i < known.size()) at = std::max(at, known[i].second);
    }
  }

  void stray(std::string_view bytes, std::uint64_t at, const std::string& where, int depth,
             bool has_directory) {
    ZipEntry entry;
    const std::uint64_t method = little(bytes, at + 8, 2);
    entry.header = at;
    entry.packed = little(bytes, at + 18, 4);
    entry.size = little(bytes, at + 22, 4);
    entry.stored = method == 0;
    entry.offset = at + 30 + little(bytes, at + 26, 2) + little(bytes, at + 28, 2);
    if (entry.offset > bytes.size()) return;
    entry.name =
        std::string(bytes.substr(at + 30, std::min<std::uint64_t>(little(bytes, at + 26, 2), 300)));
    if (has_directory) {
      suspicious(at, fmt::format("the archive holds a member {} that its directory does not list",
                                 core::shorten(core::sanitize(entry.name), 120)));
    }
    const std::uint64_t left = bytes.size() - entry.offset;
    if (entry.stored && (entry.packed == 0 || entry.packed > left))
      entry.packed = entry.size = left;
    if ((method == 0 || method == 8) && entry.packed <= left) member(bytes, entry, where, depth);
  }

  tensors::Findings& out_;
  std::uint64_t inflated_ = 0;
  bool said_outside_ = false;
  std::size_t strays_ = 0;
};

}  // namespace

tensors::Findings audit_pickles(std::span<const std::byte> bytes, const std::string& path) {
  tensors::Findings found;
  found.of(path);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              bytes.size());  // NOLINT: as text
  Audit(found).blob(text, "", ends_like_pickle(path), 0);
  return found;
}

}  // namespace aplomb::pickle
