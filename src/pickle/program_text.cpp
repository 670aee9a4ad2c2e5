#include "pickle/program_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/text.h"
#include "input/json_cursor.h"
#include "pickle/pickle_globals.h"
#include "pickle/zip_archive.h"

namespace aplomb::pickle {
namespace {

using input::JsonCursor;

constexpr std::uint64_t k_most_json = 64U << 20U;  // of configurations; tokenizer.json is no one
constexpr std::uint64_t k_most_searched = 256U << 20U;

/// The parts of a template that Jinja evaluates: between `{{` and `}}`, `{%` and `%}`.
std::string evaluated(std::string_view source) {
  std::string code;
  for (std::size_t at = 0; at + 1 < source.size();) {
    const std::size_t open = source.find('{', at);
    if (open == std::string_view::npos || open + 1 >= source.size()) break;
    const char kind = source[open + 1];
    if (kind != '{' && kind != '%' && kind != '#') {
      at = open + 1;
      continue;
    }
    const std::string_view end = kind == '{' ? "}}" : kind == '%' ? "%}" : "#}";
    const std::size_t close = std::min(source.find(end, open + 2), source.size());
    if (kind != '#') code.append(source.substr(open + 2, close - open - 2)).append("\n");
    at = std::min(close + 2, source.size());
  }
  return code;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// `word` as a whole one, with `next` behind it (blanks aside) where that is not 0.
bool has_word(std::string_view code, std::string_view word, char next = 0) {
  for (std::size_t at = code.find(word); at != std::string_view::npos;
       at = code.find(word, at + 1)) {
    std::size_t end = at + word.size();
    if ((at > 0 && is_word(code[at - 1])) || (end < code.size() && is_word(code[end]))) continue;
    while (end < code.size() && code[end] == ' ') ++end;
    if (next == 0 || (end < code.size() && code[end] == next)) return true;
  }
  return false;
}

/// `.__class__`, `["__globals__"]`: any name between two underscores on each side.
std::string dunder_in(std::string_view code) {
  for (std::size_t at = code.find("__"); at != std::string_view::npos;
       at = code.find("__", at + 2)) {
    std::size_t end = at + 2;
    while (end < code.size() && is_word(code[end])) ++end;
    const std::string_view name = code.substr(at, end - at);
    if (name.size() > 4 && name.ends_with("__")) return std::string(name);
  }
  return {};
}

struct Told {
  const std::string& path;
  std::vector<tensors::Finding>& out;

  void say(const char* kind, core::Severity severity, std::uint64_t at,
           const std::string& text) const {
    const bool twice = std::any_of(out.begin(), out.end(), [&](const tensors::Finding& each) {
      return each.kind == kind && each.path == path;
    });
    if (!twice) out.push_back({kind, severity, path, at, "[code] " + text});
  }
  void judge_template(std::string_view source, std::uint64_t at) const {
    const std::string reach = reach_of_template(source);
    if (reach.empty()) return;
    say("code.template", core::Severity::failed, at,
        fmt::format("its chat template has {}: whoever renders it outside of Jinja's sandbox runs "
                    "what it says",
                    core::shorten(core::sanitize(reach), 60)));
  }
};

/// Every text of a JSON document, with the nearest key above it.
template <class Take>
void each_text(std::string_view text, const Take& take) {
  JsonCursor json(text);
  struct Level {
    bool is_object;
    std::string key;
  };
  std::vector<Level> open;
  do {
    std::string_view member;
    std::string key = open.empty() ? std::string() : open.back().key;
    if (!open.empty()) {
      const bool more = open.back().is_object ? json.next_member(member) : json.next_element();
      if (!more) {
        open.pop_back();
        continue;
      }
      // `auto_map: {"AutoModel": ...}` and `chat_template: [{"name": ..., "template": ...}]` stay so.
      const bool keeps = key == "auto_map" || key == "chat_template";
      if (open.back().is_object && !keeps) key = std::string(member);
    }
    const JsonCursor::Kind kind = json.peek();
    if (kind == JsonCursor::Kind::object || kind == JsonCursor::Kind::array) {
      const bool is_object = kind == JsonCursor::Kind::object;
      if (is_object ? json.enter_object() : json.enter_array()) open.push_back({is_object, key});
    } else if (kind == JsonCursor::Kind::text) {
      take(key, std::string(json.text().value_or("")));
    } else if (kind == JsonCursor::Kind::truth) {
      take(key, json.truth().value_or(false) ? "true" : "false");
    } else {
      json.skip();
    }
  } while (!open.empty() && !json.bad());
}

void audit_configuration(std::string_view text, const Told& told) {
  each_text(text, [&](const std::string& key, const std::string& value) {
    if (key == "chat_template") return told.judge_template(value, 0);
    if (key == "auto_map") {
      const std::size_t apart = value.find("--");
      const bool elsewhere = apart != std::string::npos;
      const std::string from =
          elsewhere ? "the repository " + value.substr(0, apart) : "the files beside it";
      told.say("code.remote", elsewhere ? core::Severity::warning : core::Severity::note, 0,
               fmt::format("it has its model made by {}, a program of {}: loading it with "
                           "trust_remote_code=True runs that",
                           core::shorten(core::sanitize(value), 80),
                           core::shorten(core::sanitize(from), 80)));
    }
    if (key == "trust_remote_code" && value == "true") {
      told.say("code.remote", core::Severity::warning, 0,
               "it asks for trust_remote_code: programs of its repository would be run");
    }
  });
}

/// The value of `"key": "..."` from `at` on; moves `at` behind it. Configurations of Keras stand in
/// files of HDF5 as they are.
std::string_view next_value(std::string_view text, std::string_view key, std::size_t& at) {
  const std::string quoted = '"' + std::string(key) + '"';
  while ((at = text.find(quoted, at)) != std::string_view::npos) {
    at += quoted.size();
    std::size_t begin = at;
    const auto skip = [&](std::string_view what) {
      while (begin < text.size() && what.find(text[begin]) != std::string_view::npos) ++begin;
    };
    skip(" :\n\t\r");
    if (begin >= text.size() || text[begin] != '"') continue;
    const std::size_t end = text.find('"', begin + 1);
    if (end == std::string_view::npos) continue;
    return text.substr(begin + 1, end - begin - 1);
  }
  at = text.size();
  return {};
}

void audit_keras(std::string_view text, const Told& told) {
  const auto is_one = [&](std::string_view key, std::string_view value) {
    for (std::size_t at = 0; at < text.size();) {
      if (next_value(text, key, at) == value) return true;
    }
    return false;
  };
  if (is_one("class_name", "__lambda__") || is_one("function_type", "lambda")) {
    told.say("code.lambda", core::Severity::failed, 0,
             "it has a Lambda layer with Python code (marshalled bytecode): loading it with "
             "safe_mode=False, or with Keras 2, runs that");
  } else if (is_one("class_name", "Lambda")) {
    told.say("code.lambda", core::Severity::warning, 0,
             "it has a Lambda layer, which calls a function by its name");
  }
  // `{"module": "subprocess", "class_name": "function", "config": "Popen"}` imports what it names.
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view module = next_value(text, "module", at);
    if (module.empty() || module == "builtins") continue;
    if (meaning_of(module, "it").trust != Trust::dangerous) continue;
    told.say("code.lambda", core::Severity::failed, 0,
             fmt::format("its configuration names {}, which runs code or writes files",
                         core::shorten(core::sanitize(module), 60)));
  }
}

/// `tokenizer.chat_template` (and those with a name) of GGUF: type 8, a length of 64 bits, the text.
void audit_gguf(std::string_view bytes, const Told& told) {
  constexpr std::string_view k_key = "tokenizer.chat_template";
  const std::string_view head = bytes.substr(0, k_most_searched);
  for (std::size_t at = head.find(k_key); at != std::string_view::npos;
       at = head.find(k_key, at + 1)) {
    std::size_t end = at + k_key.size();
    while (end < head.size() && (head[end] == '.' || is_word(head[end]))) ++end;
    if (head.size() - end < 12 || head.substr(end, 4) != std::string_view("\x08\0\0\0", 4))
      continue;
    std::uint64_t size = 0;
    for (std::size_t i = 0; i < 8; ++i)
      size |= static_cast<std::uint64_t>(static_cast<unsigned char>(head[end + 4 + i])) << (8U * i);
    told.judge_template(head.substr(end + 12, std::min<std::uint64_t>(size, head.size())),
                        end + 12);
  }
}

/// Whether a dotted name is one of Python's own that runs, writes or starts something. Libraries'
/// loggers and datasets are named in honest configurations.
bool names_what_runs(std::string_view dotted) {
  const std::size_t dot = dotted.rfind('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view module = dotted.substr(0, dot);
  return !is_of_known_library(module) &&
         meaning_of(module, dotted.substr(dot + 1)).trust == Trust::dangerous;
}

/// `_target_: os.system`, which hydra and NeMo import and call; `!!python/object/apply:os.system`.
void audit_targets(std::string_view text, const Told& told) {
  constexpr std::string_view k_key = "_target_";
  const auto is_name = [](char c) { return is_word(c) || c == '.'; };
  for (std::size_t at = text.find(k_key); at != std::string_view::npos;
       at = text.find(k_key, at + 1)) {
    std::size_t begin = at + k_key.size();
    while (begin < text.size() && std::string_view(" \t\"':").find(text[begin]) != text.npos)
      ++begin;
    std::size_t end = begin;
    while (end < text.size() && is_name(text[end])) ++end;
    const std::string_view name = text.substr(begin, end - begin);
    if (!names_what_runs(name)) continue;
    told.say("code.config", core::Severity::failed, at,
             fmt::format("its configuration has {} called: instantiating it runs that",
                         core::shorten(core::sanitize(name), 80)));
  }
  for (const std::string_view tag : {"!!python/object/", "!!python/module", "!!python/name",
                                     "tag:yaml.org,2002:python/object/"}) {
    const std::size_t at = text.find(tag);
    if (at == std::string_view::npos) continue;
    const std::string_view line =
        text.substr(at, std::min(text.find('\n', at) - at, text.size() - at));
    const bool calls = line.find("/apply") != line.npos || line.find("/new") != line.npos;
    const std::size_t colon = line.find(':', tag.size());
    const std::string_view named =
        colon == line.npos ? std::string_view()
                           : line.substr(colon + 1, line.find_first_of(" \t[{", colon) - colon - 1);
    told.say("code.config",
             calls && names_what_runs(named) ? core::Severity::failed : core::Severity::warning, at,
             fmt::format("it has {}: yaml.load with an unsafe loader imports or calls that",
                         core::shorten(core::sanitize(line), 80)));
  }
}

/// `{"type": "os.system"}` of sentence-transformers' modules.json, imported by name.
void audit_modules(std::string_view text, const Told& told) {
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view name = next_value(text, "type", at);
    if (name.empty() || !names_what_runs(name)) continue;
    told.say("code.config", core::Severity::failed, 0,
             fmt::format("its list of modules has {} imported and called",
                         core::shorten(core::sanitize(name), 80)));
  }
}

/// StringStringEntryProto {key: "location", value: ...} of a tensor whose data lie in a file beside
/// the model: `0a 08 location 12 <length> <value>`.
void audit_onnx(std::string_view text, const Told& told) {
  constexpr std::string_view k_entry("\x0a\x08location\x12", 11);
  for (std::size_t at = text.find(k_entry); at != std::string_view::npos;
       at = text.find(k_entry, at + 1)) {
    std::size_t begin = at + k_entry.size();
    std::uint64_t size = 0;
    for (unsigned shift = 0; begin < text.size() && shift < 32; shift += 7) {
      const auto byte = static_cast<unsigned char>(text[begin++]);
      size |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80) break;
    }
    const std::string_view place = text.substr(std::min(begin, text.size()), size);
    const bool out = place.starts_with('/') || place.starts_with('\\') ||
                     place.starts_with("../") || place.find("/../") != place.npos ||
                     place.find("..\\") != place.npos || place.substr(0, 3).ends_with(":\\");
    if (!out) continue;
    told.say("code.path", core::Severity::failed, at,
             fmt::format("the data of a tensor are to be read from {}, outside of its folder",
                         core::shorten(core::sanitize(place), 80)));
  }
}

/// Compiled code, which is loaded as it is (AOTInductor's packages, operators beside a model).
const char* native_code(std::string_view bytes, std::string_view name) {
  if (bytes.starts_with("\x7f"
                        "ELF"))
    return "ELF";
  if (bytes.starts_with("\xcf\xfa\xed\xfe")) return "Mach-O";
  const bool windows = name.ends_with(".dll") || name.ends_with(".pyd") || name.ends_with(".exe");
  return windows && bytes.starts_with("MZ") ? "PE" : nullptr;
}

}  // namespace

std::string reach_of_template(std::string_view source) {
  const std::string code = evaluated(source);
  if (std::string name = dunder_in(code); !name.empty()) return name;
  for (const std::string_view written : {"\\x5f", "\\u005f", "\\137", "\\N{LOW LINE}"}) {
    if (core::icontains(code, written)) return "an underscore in escapes";
  }
  for (const std::string_view call :
       {"popen", "system", "eval", "exec", "mro", "globals", "getattr", "setattr", "import_module",
        "check_output", "Popen"}) {
    if (has_word(code, call, '(')) return std::string(call) + "()";
  }
  for (const std::string_view word : {"subprocess", "builtins", "os.environ"}) {
    if (has_word(code, word)) return std::string(word);
  }
  const std::size_t filter = code.find('|');
  if (filter != std::string::npos && has_word(code, "attr", '(')) return "the filter attr()";
  return {};
}

void audit_code(std::span<const std::byte> bytes, const std::string& path,
                std::vector<tensors::Finding>& out) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),  // NOLINT: as text
                              bytes.size());
  const std::string name = core::lower(path.substr(path.find_last_of('/') + 1));
  std::vector<tensors::Finding> found;
  const Told told{path, found};
  const std::string_view first = text.substr(0, k_most_searched);
  if (const char* native = native_code(text, name)) {
    told.say("code.native", core::Severity::warning, 0,
             fmt::format("{} is machine code ({}): whoever loads the model with it runs that",
                         core::shorten(core::sanitize(name), 80), native));
  } else if (text.starts_with("GGUF")) {
    audit_gguf(text, told);
  } else if (text.starts_with("\x89HDF")) {
    audit_keras(first, told);
  } else if (text.starts_with("PK\x03\x04") && name.ends_with(".keras")) {
    const auto directory = read_zip_directory(bytes, path);
    for (std::size_t i = 0; directory && i < directory->entries.size(); ++i) {
      const ZipEntry& entry = directory->entries[i];
      if (!entry.name.ends_with(".json")) continue;
      if (entry.stored) {
        audit_keras(text.substr(entry.offset, entry.size), told);
      } else if (const auto content = inflate_entry(bytes, entry, k_most_json)) {
        audit_keras(*content, told);
      }
    }
  } else if (name.ends_with(".jinja") || name.ends_with(".jinja2")) {
    told.judge_template(first, 0);
  } else if (name.ends_with(".yaml") || name.ends_with(".yml")) {
    audit_targets(first, told);
  } else if (name.ends_with(".onnx")) {
    audit_onnx(first, told);
  } else if (name.ends_with(".json") && text.size() <= k_most_json && name != "tokenizer.json") {
    const bool of_interest = text.find("chat_template") != std::string_view::npos ||
                             text.find("auto_map") != std::string_view::npos ||
                             text.find("trust_remote_code") != std::string_view::npos;
    if (of_interest) audit_configuration(text, told);
    if (text.find("class_name") != std::string_view::npos) audit_keras(text, told);
    if (text.find("_target_") != std::string_view::npos) audit_targets(text, told);
    if (name == "modules.json") audit_modules(text, told);
  }
  out.insert(out.end(), found.begin(), found.end());
}

}  // namespace aplomb::pickle
