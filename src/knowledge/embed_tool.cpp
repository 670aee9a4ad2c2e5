/// Build-time program: knowledge/**/*.yaml -> one JSON object {"causes/nan.yaml": [...], ...} in a
/// C++ source. A mistake in the YAML stops the build with file, line and column; what the entries
/// mean is checked by the tests of each reader of the knowledge.
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
#include <string>
#include <vector>

namespace {

using Json = nlohmann::ordered_json;

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

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    fmt::print(stderr, "usage: {} KNOWLEDGE_FOLDER OUT.cpp\n", arguments[0]);
    return 2;
  }
  namespace fs = std::filesystem;
  const fs::path root = arguments[1];
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
      return 1;
    }
  }
  const std::string text = all.dump();
  std::ofstream out(arguments[2], std::ios::binary);
  out << "// Made by aplomb_knowledge_tool from knowledge/*.yaml.\n#include <cstddef>\n\nnamespace "
         "aplomb::knowledge {\n"
      << "extern const std::size_t k_knowledge_json_size;\nextern const char k_knowledge_json[];\n"
      << "const std::size_t k_knowledge_json_size = " << text.size() << ";\n"
      << "const char k_knowledge_json[] =\n";
  constexpr std::size_t k_line =
      8000;  // string literals are joined; each stays short enough for every compiler
  for (std::size_t at = 0; at < text.size(); at += k_line) {
    out << '"';
    for (const char c : text.substr(at, k_line)) {
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
  if (text.empty()) out << "\"\"\n";
  // simdjson may read a few bytes past the end: give it blanks.
  out << "\"" << std::string(64, ' ') << "\";\n}  // namespace aplomb::knowledge\n";
  return out.good() ? 0 : 1;
}
