/// Build-time program: knowledge/**/*.yaml -> one JSON object {"causes/nan.yaml": [...], ...} in a
/// C++ source, and the weights of the text classifier beside it, byte for byte. A mistake in the
/// YAML stops the build with file, line and column; what the entries mean is checked by the tests of
/// each reader of the knowledge.
///
/// Plain scalars become JSON numbers, truths and null where they read so; quoted ones stay text.

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

Json scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;  // quoted
  if (text == "true") return true;
  if (text == "false") return false;
  if (text == "null" || text == "~" || text.empty()) return nullptr;
  double number = 0;
  const auto done = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = done.ec == std::errc() && done.ptr == text.data() + text.size();
  const bool worded = text[0] == 'n' || text[0] == 'i' || text[0] == 'N' || text[0] == 'I';
  if (whole && !worded) return number;
  return text;
}

Json convert(const YAML::Node& node) {
  if (node.IsSequence()) {
    Json list = Json::array();
    for (const auto& item : node) list.push_back(convert(item));
    return list;
  }
  if (node.IsMap()) {
    Json object = Json::object();
    for (const auto& pair : node) {
      const std::string key = pair.first.as<std::string>();
      if (object.contains(key)) {
        throw YAML::Exception(pair.first.Mark(), "the key '" + key + "' stands twice in one map");
      }
      object[key] = convert(pair.second);
    }
    return object;
  }
  return node.IsScalar() ? scalar(node) : Json(nullptr);
}

/// The YAML files below a folder as one object; nothing, and the reason printed, where one is wrong.
std::optional<Json> read_knowledge(const fs::path& root) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_regular_file() && entry.path().extension() == ".yaml")
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  Json all = Json::object();
  for (const fs::path& file : files) {
    try {
      all[file.lexically_relative(root).generic_string()] = convert(YAML::LoadFile(file.string()));
    } catch (const YAML::Exception& error) {
      fmt::print(stderr, "{}:{}:{}: {}\n", file.string(), error.mark.line + 1,
                 error.mark.column + 1, error.msg);
      return std::nullopt;
    }
  }
  return all;
}

/// `const std::size_t NAME_size` and `const char NAME[]`, followed by 64 blanks: simdjson may read a
/// few bytes past the end.
void write_bytes(std::ostream& out, std::string_view name, std::string_view bytes) {
  out << "extern const std::size_t " << name << "_size;\nextern const char " << name << "[];\n"
      << "const std::size_t " << name << "_size = " << bytes.size() << ";\n"
      << "const char " << name << "[] =\n";
  constexpr std::size_t k_line =
      8000;  // string literals are joined; each stays short enough for every compiler
  for (std::size_t at = 0; at < bytes.size(); at += k_line) {
    out << '"';
    for (const char c : bytes.substr(at, k_line)) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        out << '\\' << c;
      } else if (byte < 0x20 || byte >= 0x7F || c == '?') {
        out << fmt::format("\\{:03o}", byte);
      } else {
        out << c;
      }
    }
    out << "\"\n";
  }
  out << "\"" << std::string(64, ' ') << "\";\n";
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) {
    fmt::print(stderr, "usage: {} KNOWLEDGE_FOLDER WEIGHTS.safetensors OUT.cpp\n", arguments[0]);
    return 2;
  }
  const std::optional<Json> knowledge = read_knowledge(arguments[1]);
  std::ifstream weights(arguments[2], std::ios::binary);
  if (!weights) fmt::print(stderr, "{}: cannot be read\n", arguments[2]);
  if (!knowledge || !weights) return 1;
  const std::string classifier(std::istreambuf_iterator<char>(weights), {});
  std::ofstream out(arguments[3], std::ios::binary);
  out << "// Made by aplomb_knowledge_tool.\n#include <cstddef>\n\nnamespace aplomb::knowledge {\n";
  write_bytes(out, "k_knowledge_json", knowledge->dump());
  write_bytes(out, "k_classifier", classifier);
  out << "}  // namespace aplomb::knowledge\n";
  return out.good() ? 0 : 1;
}
