/// Reader of Kineto traces: the Chrome-trace JSON that torch.profiler writes
/// (`worker0.1623143089861.pt.trace.json`, often gzipped, often hundreds of megabytes). One pass;
/// an event at a time is in memory. What is kept: see trace_summary.h.

#include <fmt/format.h>

#include <optional>
#include <string>

#include "core/text.h"
#include "input/json_cursor.h"
#include "sources/reader.h"
#include "sources/trace_summary.h"

namespace aplomb::sources {
namespace {

/// Cuts the elements of the `traceEvents` array out of parts of any size. An element that is longer
/// than k_longest is left out and counted.
class EventSplitter {
 public:
  static constexpr std::size_t k_longest = 1U << 20U;

  /// Calls `on_object(text, offset)` for each complete object; the text is valid during the call.
  template <class OnObject>
  void feed(std::string_view part, OnObject&& on_object) {
    std::size_t start = 0;  // of the object that is open
    std::size_t at = inside_ ? 0 : find_array(part);
    for (; at < part.size() && !done_; ++at) {
      if (depth_ == 0) {
        at = part.find_first_of("{]", at);
        if (at == std::string_view::npos) break;
        done_ = part[at] == ']';
        if (done_) break;
        depth_ = 1;
        start = at;
        object_offset_ = offset_ + at;
        continue;
      }
      at = object_end(part, at);
      if (at < part.size()) close(part.substr(start, at + 1 - start), on_object);
    }
    if (depth_ > 0) keep(part.substr(start));
    offset_ += part.size();
  }

  bool inside() const { return inside_; }
  bool whole() const { return done_; }
  std::uint64_t too_long() const { return too_long_; }

 private:
  /// Where the array's elements begin; the part's end where it does not begin in it.
  std::size_t find_array(std::string_view part) {
    constexpr std::string_view k_key = "\"traceEvents\"";
    const std::size_t old = head_.size();
    head_ += part;
    const std::string_view all = core::trim(head_);
    std::size_t found = head_.find(k_key);
    const bool bare = !all.empty() && all.front() == '[';
    if (bare) {
      found = head_.find('[');
    } else if (found != std::string::npos) {
      found = head_.find('[', found);
    }
    if (found == std::string::npos) {
      if (head_.size() > k_longest) head_.erase(0, head_.size() - k_key.size());
      return part.size();
    }
    inside_ = true;
    return found + 1 > old ? found + 1 - old : 0;
  }

  /// The closing brace of the object, or the part's end.
  std::size_t object_end(std::string_view part, std::size_t at) {
    for (; at < part.size(); ++at) {
      const char c = part[at];
      if (in_text_) {
        if (escaped_) {
          escaped_ = false;
        } else if (c == '\\') {
          escaped_ = true;
        } else if (c == '"') {
          in_text_ = false;
        }
      } else if (c == '"') {
        in_text_ = true;
      } else if (c == '{' || c == '[') {
        ++depth_;
      } else if ((c == '}' || c == ']') && --depth_ == 0) {
        return at;
      }
    }
    return at;
  }

  template <class OnObject>
  void close(std::string_view last, OnObject&& on_object) {
    if (held_.empty() && !dropped_) {
      on_object(last, object_offset_);
      return;
    }
    keep(last);
    if (dropped_) {
      ++too_long_;
    } else {
      on_object(std::string_view(held_), object_offset_);
    }
    held_.clear();
    dropped_ = false;
  }

  void keep(std::string_view piece) {
    if (held_.size() + piece.size() > k_longest) {
      dropped_ = true;
      held_.clear();
    }
    if (!dropped_) held_ += piece;
  }

  std::string head_;
  std::string held_;  ///< the object so far, where it spans parts
  std::uint64_t offset_ = 0;
  std::uint64_t object_offset_ = 0;
  std::uint64_t too_long_ = 0;
  int depth_ = 0;
  bool inside_ = false;
  bool done_ = false;
  bool in_text_ = false;
  bool escaped_ = false;
  bool dropped_ = false;
};

/// A complete event of the object; nothing for other phases and for what is not an event.
bool read_event(std::string_view object, std::string& category, std::string& name,
                TraceEvent& event) {
  input::JsonCursor json(object);
  if (!json.enter_object()) return false;
  bool complete = false;
  bool timed = false;
  for (std::string_view key; json.next_member(key);) {
    if (key == "ph") {
      const auto phase = json.text();
      if (!phase || *phase != "X") return false;
      complete = true;
    } else if (key == "cat") {
      if (const auto text = json.text())
        category.assign(*text);
      else
        json.skip();
    } else if (key == "name") {
      if (const auto text = json.text())
        name.assign(*text);
      else
        json.skip();
    } else if (key == "ts") {
      const auto number = json.number();
      if (!number) return false;
      event.begin_us = *number;
      timed = true;
    } else if (key == "dur") {
      const auto number = json.number();
      if (!number) return false;
      event.duration_us = *number;
    } else if (key == "args" && complete && timed) {
      break;  // stands last; nothing in it is needed
    } else {
      json.skip();
    }
  }
  return complete && timed && !json.bad();
}

class KinetoTraceReader final : public Reader {
 public:
  const ReaderSpec& spec() const override {
    static const ReaderSpec kineto_trace_spec{
        "kineto-trace",
        "PyTorch profiler traces (Kineto, Chrome-trace JSON): where the time of a step goes",
        R"({"ph": "X", "cat": "kernel", "name": "ampere_sgemm_128x64_tn", "ts": 17, "dur": 42})",
        {"categories of 2021 (`Kernel`) and of later versions (`kernel`)",
         "events in any order; no `ProfilerStep#` marks", "a bare array of events", "a torn tail",
         "gigabytes: one event at a time"}};
    return kineto_trace_spec;
  }

  double sniff(const Sniff& artifact) const override {
    const std::string_view head = artifact.head;
    const std::string_view body = core::trim(head.substr(0, 256));
    if (body.empty() || (body.front() != '{' && body.front() != '[')) return 0;
    const bool events = head.find("\"ph\"") != std::string_view::npos &&
                        head.find("\"ts\"") != std::string_view::npos;
    if (head.find("\"traceEvents\"") != std::string_view::npos) return events ? 0.99 : 0.9;
    const bool named = artifact.path.find(".trace.json") != std::string_view::npos;
    if (body.front() == '[' && events) return 0.9;
    return named && head.find("\"schemaVersion\"") != std::string_view::npos ? 0.9 : 0;
  }

  void read(input::ByteStream& bytes, record::RunBuilder& build,
            record::SourceId source) const override {
    EventSplitter splitter;
    TraceSummary summary;
    std::string category;
    std::string name;
    std::uint64_t objects = 0;
    for (std::string_view part; !splitter.whole() && !(part = bytes.next()).empty();) {
      splitter.feed(part, [&](std::string_view object, std::uint64_t offset) {
        ++objects;
        TraceEvent event;
        category.clear();
        if (!read_event(object, category, name, event)) return;
        event.category = category;
        event.name = name;
        event.offset = offset;
        summary.add(event);
      });
    }
    summary.finish(build, source);
    note_defects(splitter, objects, bytes, build, source);
  }

 private:
  static void note_defects(const EventSplitter& splitter, std::uint64_t objects,
                           const input::ByteStream& bytes, record::RunBuilder& build,
                           record::SourceId source) {
    if (splitter.too_long() > 0) {
      build.defect({source, 0, "too-long-event", core::Severity::warning,
                    fmt::format("[kineto-trace] {} events of more than {} bytes were left out",
                                splitter.too_long(), EventSplitter::k_longest),
                    splitter.too_long()});
    }
    if (splitter.whole()) return;
    const std::string why = bytes.broken().empty()
                                ? std::string(
                                      "the file ends in the middle of its events; likely "
                                      "the profiler was interrupted")
                                : bytes.broken();
    build.defect(
        {source, bytes.consumed(), "truncated", core::Severity::warning,
         fmt::format("[kineto-trace] {}; the {} events before it were read", why, objects)});
  }
};

}  // namespace

std::unique_ptr<Reader> make_kineto_trace_reader() { return std::make_unique<KinetoTraceReader>(); }

}  // namespace aplomb::sources
