/// Reader of what ClearML keeps of a task that runs offline (Task.set_offline): metrics.jsonl, a batch of events a
/// line, and task.json, whose hyperparams are settings.
///
///     [{"timestamp": 1795482016616, "type": "training_stats_scalar", "task": "offline-88dc", "iter": 1,
///       "metric": "loss", "variant": "train", "value": 1.93, "method": "get"}, ...]
///
/// Oddities: the title of a plot is the metric and its curve the split, or the other way round; plots,
/// pictures and vectors lie between the numbers; what was NaN is written as 0, and nothing tells of it;
/// a last line cut in the middle.

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "config_text/setting_sink.h"
#include "core/text.h"
#include "input/json_cursor.h"
#include "input/line_reader.h"
#include "sources/metric_names.h"
#include "sources/named_metrics.h"
#include "sources/reader.h"

namespace aplomb::sources {
namespace {

using input::JsonCursor;

const ReaderSpec& clearml_spec() {
  static const ReaderSpec spec = {
      "clearml",
      "ClearML's offline tasks (metrics.jsonl, task.json)",
      R"([{"type": "training_stats_scalar", "iter": 1, "metric": "loss", "variant": "train", "value": 1.93}])",
      {"batches of events in a line", "the metric as title or as curve of a plot",
       "plots and pictures between the numbers", "a last line cut in the middle"}};
  return spec;
}

bool is_split(std::string_view word) {
  for (const std::string_view each :
       {"train", "training", "eval", "evaluation", "val", "valid", "validation", "test", "dev"}) {
    if (core::iequals(word, each)) return true;
  }
  return false;
}

/// `loss` of `train`, `train` of `loss` -> `train/loss`.
std::string key_of(const std::string& metric, const std::string& variant) {
  if (variant.empty() || variant == metric) return metric;
  return is_split(variant) ? variant + "/" + metric : metric + "/" + variant;
}

struct Event {
  bool scalar = false;
  std::string metric;
  std::string variant;
  std::optional<double> step;
  std::optional<double> value;
};

/// Of another kind: moved past, and nothing.
std::string take_text(JsonCursor& json) {
  const auto text = json.text();
  if (!text) json.skip();
  return std::string(text.value_or(""));
}
std::optional<double> take_number(JsonCursor& json) {
  const auto number = json.number();
  if (!number) json.skip();
  return number;
}

Event read_event(JsonCursor& json) {
  Event event;
  if (!json.enter_object()) return event;
  for (std::string_view key; json.next_member(key);) {
    if (key == "type") {
      event.scalar = take_text(json) == "training_stats_scalar";
    } else if (key == "metric") {
      event.metric = take_text(json);
    } else if (key == "variant") {
      event.variant = take_text(json);
    } else if (key == "iter") {
      event.step = take_number(json);
    } else if (key == "value") {
      event.value = take_number(json);
    } else {
      json.skip();
    }
  }
  return event;
}

class EventFile {
 public:
  EventFile(record::RunBuilder& build, record::SourceId source) : build_(build), source_(source) {}

  void line(const input::LineReader::Line& line) {
    JsonCursor json(line.text);
    if (core::trim(line.text).empty()) return;
    if (json.enter_array()) {
      while (json.next_element()) {
        if (json.peek() == JsonCursor::Kind::object) {
          put(read_event(json), line);
        } else {
          json.skip();
        }
      }
    }
    if (!json.bad()) return;
    const bool torn = !line.ended || line.cut;
    build_.defect({source_, line.offset + json.at(), torn ? "truncated" : "bad-json",
                   torn ? core::Severity::note : core::Severity::warning,
                   torn ? "[clearml] the last batch of events is cut"
                        : "[clearml] a line is no list of events; left out from there"});
  }

 private:
  void put(const Event& event, const input::LineReader::Line& line) {
    constexpr double k_most_step = 9e15;
    const bool whole = event.scalar && event.step && event.value && !event.metric.empty();
    if (!whole || !(std::fabs(*event.step) < k_most_step)) return;
    const std::string key = key_of(event.metric, event.variant);
    if (is_bookkeeping(key)) return;
    metrics_.append(key, static_cast<std::int64_t>(*event.step), *event.value, line.number,
                    line.offset);
  }

  record::RunBuilder& build_;
  record::SourceId source_;
  NamedMetrics metrics_{build_, source_};
};

/// `"lr": {"name": "lr", "type": "float", "value": "0.001"}`
void read_parameter(JsonCursor& json, const std::string& name, config_text::SettingSink& settings) {
  if (!json.enter_object()) return json.skip();
  for (std::string_view key; json.next_member(key);) {
    const auto text = key == "value" ? json.text() : std::nullopt;
    if (!text) {
      json.skip();
      continue;
    }
    config_text::ConfigEntry entry;
    entry.path = name;
    entry.text = *text;
    settings.put(entry);
  }
}

/// The members of the object that comes next, each handed to `take` with its name.
template <class Take>
void each_member(JsonCursor& json, const Take& take) {
  if (json.peek() != JsonCursor::Kind::object) return json.skip();
  json.enter_object();
  for (std::string_view key; json.next_member(key);) take(std::string(key));
}

void read_task(std::string_view text, record::RunBuilder& build, record::SourceId source) {
  config_text::SettingSink settings(build, source);
  JsonCursor json(text);
  each_member(json, [&](const std::string& member) {
    if (member != "hyperparams") return json.skip();
    each_member(json, [&](const std::string&) {
      each_member(json, [&](const std::string& name) {
        if (json.peek() != JsonCursor::Kind::object) return json.skip();
        read_parameter(json, name, settings);
      });
    });
  });
  if (json.bad()) {
    build.defect({source, json.at(), "truncated", core::Severity::warning,
                  "[clearml] the task's JSON ends early or is damaged"});
  }
}

bool is_task(std::string_view head) {
  return head.starts_with("{\"") && head.find("\"hyperparams\"") != std::string_view::npos &&
         head.find("\"execution\"") != std::string_view::npos;
}

class ClearmlReader final : public Reader {
 public:
  const ReaderSpec& spec() const override { return clearml_spec(); }

  double sniff(const Sniff& artifact) const override {
    const std::string_view head = core::trim(artifact.head);
    if (is_task(head)) return 0.95;
    const bool events = head.starts_with("[{\"") &&
                        head.find("\"training_stats_") != std::string_view::npos &&
                        head.find("\"variant\"") != std::string_view::npos;
    return events ? 0.95 : 0;
  }

  void read(input::ByteStream& bytes, record::RunBuilder& build,
            record::SourceId source) const override {
    input::LineReader lines(bytes);
    EventFile events(build, source);
    for (input::LineReader::Line line; lines.next(line);) {
      if (line.number == 1 && core::trim(line.text).starts_with('{')) {
        read_task(line.text, build, source);
        break;
      }
      events.line(line);
    }
    if (!bytes.broken().empty())
      build.defect(
          {source, bytes.consumed(), "truncated", core::Severity::warning, bytes.broken()});
  }
};

}  // namespace

std::unique_ptr<Reader> make_clearml_reader() { return std::make_unique<ClearmlReader>(); }

}  // namespace aplomb::sources
