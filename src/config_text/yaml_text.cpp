#include "config_text/yaml_text.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <istream>
#include <streambuf>

#include "config_text/text_places.h"

namespace aplomb::config_text {
namespace {

/// Reads bytes in place.
class ViewBuffer final : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* begin =
        const_cast<char*>(text.data());  // NOLINT: std::streambuf asks for it, nothing writes
    setg(begin, begin, begin + text.size());
  }
};

/// Thrown through yaml-cpp (which knows no other way to stop) and caught in parse_yaml.
struct TooMany {};

class Collector final : public YAML::EventHandler {
 public:
  Collector(std::string_view text, std::vector<ConfigEntry>& entries)
      : text_(text), places_(text), entries_(entries) {}

  void OnDocumentStart(const YAML::Mark&) override { frames_.clear(); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { scalar(mark, "null", false, 0); }
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override { value_done(); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    if (!frames_.empty() && frames_.back().map && !frames_.back().has_key) {
      frames_.back().key = value;
      frames_.back().has_key = true;
      return;
    }
    scalar(mark, value, tag == "!", value.size());
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    push(false, mark);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    push(true, mark);
  }

  void OnSequenceEnd() override {
    const Frame frame = frames_.back();
    frames_.pop_back();
    if (frame.scalars_only && frame.item > 0 && !frame.path.empty()) {
      const bool flow = frame.offset < text_.size() && text_[frame.offset] == '[';
      const std::size_t end = flow ? text_.find(']', frame.offset) : std::string_view::npos;
      const std::uint64_t size = end == std::string_view::npos ? 0 : end + 1 - frame.offset;
      add({frame.path,
           {},
           frame.joined,
           frame.line,
           frame.offset,
           size,
           false,
           true,
           false,
           false});
    }
    value_done();
  }
  void OnMapEnd() override {
    frames_.pop_back();
    value_done();
  }

 private:
  struct Frame {
    bool map = false;
    std::string path;
    std::string key;
    bool has_key = false;
    std::size_t item = 0;
    std::string joined;
    bool scalars_only = true;
    std::uint64_t line = 0;
    std::uint64_t offset = 0;
  };

  std::string path_here() {
    if (frames_.empty()) return {};
    Frame& frame = frames_.back();
    const std::string name = frame.map ? frame.key : std::to_string(frame.item);
    return frame.path.empty() ? name : frame.path + "." + name;
  }

  void push(bool map, const YAML::Mark& mark) {
    Frame frame;
    frame.map = map;
    frame.path = path_here();
    frame.line = static_cast<std::uint64_t>(mark.line) + 1;
    frame.offset = places_.offset(mark.line, mark.column);
    if (!frames_.empty()) frames_.back().scalars_only = false;
    frames_.push_back(std::move(frame));
  }

  void scalar(const YAML::Mark& mark, std::string_view value, bool quoted, std::size_t size) {
    if (frames_.empty()) return;
    const std::uint64_t offset = places_.offset(mark.line, mark.column);
    // The value's extent in the text: quotes count, an escaped or folded text cannot be edited in
    // place.
    const std::string_view written = text_.substr(std::min<std::size_t>(offset, text_.size()));
    std::uint64_t extent = size;
    if (quoted) extent = written.substr(1, size) == value ? size + 2 : 0;
    if (!quoted && written.substr(0, size) != value) extent = 0;
    std::string path = path_here();
    Frame& frame = frames_.back();
    if (!frame.map && frame.joined.size() < 4096) {
      if (frame.item > 0) frame.joined += ',';
      frame.joined += value;
    }
    add({std::move(path),
         {},
         std::string(value.substr(0, 4096)),
         static_cast<std::uint64_t>(mark.line) + 1,
         offset,
         extent,
         quoted,
         false,
         false,
         false});
    value_done();
  }

  void value_done() {
    if (frames_.empty()) return;
    frames_.back().has_key = false;
    ++frames_.back().item;
  }

  void add(ConfigEntry entry) {
    if (entries_.size() >= k_most_entries) throw TooMany{};
    entries_.push_back(std::move(entry));
  }

  std::string_view text_;
  TextPlaces places_;
  std::vector<ConfigEntry>& entries_;
  std::vector<Frame> frames_;
};

}  // namespace

YamlText parse_yaml(std::string_view text) {
  YamlText result;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  try {
    ViewBuffer buffer(text);
    std::istream input(&buffer);
    YAML::Parser parser(input);
    Collector collector(text, result.entries);
    // On some malformed texts the parser reports documents without end and moves no further.
    constexpr int k_most_documents = 256;
    int documents = 0;
    while (documents < k_most_documents && parser.HandleNextDocument(collector)) ++documents;
  } catch (const YAML::Exception& error) {
    result.error = error.msg;
    result.error_line = static_cast<std::uint64_t>(std::max(error.mark.line, 0)) + 1;
  } catch (const TooMany&) {
    result.error = "more than " + std::to_string(k_most_entries) + " values";
  }
  return result;
}

}  // namespace aplomb::config_text
