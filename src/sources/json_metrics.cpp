/// Reader of metrics as JSON: a record a line (trainer_log.jsonl, metrics.jsonl, scalars.json), a
/// list of records, or columns.
///
///     {"current_steps": 5, "total_steps": 183, "loss": 2.108, "learning_rate": 2.99e-05}
///     {"lm loss": {"values": {"1": 10.8, "2": 10.7}}}
///
/// Oddities: NaN and Infinity as bare words; numbers in quotes; records of evaluation between
/// those of training; values under their steps, as in the second line; lines that are no JSON
/// between the others; a last line cut in the middle.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/text.h"
#include "input/json_cursor.h"
#include "input/line_reader.h"
#include "sources/json_look.h"
#include "sources/json_record.h"
#include "sources/metric_names.h"
#include "sources/reader.h"
#include "sources/record_sink.h"

namespace aplomb::sources {
namespace {

using Kind = input::JsonCursor::Kind;

constexpr std::uint64_t k_most_bytes = 256U << 20U;    // of a document that is no list of lines
constexpr std::size_t k_most_values = 16U << 20U;      // in lists: 128 MiB
constexpr std::size_t k_most_line_values = 1U << 20U;  // in lists of one line: 8 MiB
constexpr int k_most_depth = 8;

const ReaderSpec& json_metrics_spec() {
  static const ReaderSpec spec = {
      "json-metrics",
      "metrics as JSON: a record a line (trainer_log.jsonl, metrics.jsonl, scalars.json), a list "
      "of records, or columns",
      R"({"current_steps": 5, "total_steps": 183, "loss": 2.108, "learning_rate": 2.99e-05, "epoch": 0.08})",
      {"NaN and Infinity as bare words", "numbers in quotes",
       "records of evaluation between those of training",
       "values by step ({\"lm loss\": {\"values\": {\"1\": 10.8}}})",
       "a last line cut in the middle", "lines that are no JSON between the others"}};
  return spec;
}

/// Numbers under names, gathered from a document that is no list of records.
class Columns {
 public:
  Columns(record::RunBuilder& build, record::SourceId source) : build_(build), source_(source) {}

  void list(std::string name, std::vector<double> values) {
    if (!values.empty()) by_length_[values.size()].emplace_back(std::move(name), std::move(values));
  }

  /// `{"1": 10.8, "2": 10.7}`, in whatever order: sorted by step.
  void by_step(const std::string& name, std::vector<std::pair<std::int64_t, double>> samples) {
    std::stable_sort(samples.begin(), samples.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    const MetricName known = name_metric(name);
    const record::SeriesId series =
        build_.series(source_, known.series, name, known.role, record::StepKind::explicit_);
    for (const auto& [step, value] : samples)
      build_.append(series, step, value * known.scale, 0, 0);
  }

  /// Lists of one length are columns of one table.
  void finish() {
    for (const auto& [length, columns] : by_length_) {
      RecordSink sink(build_, source_);
      std::vector<RecordSink::Column> ids;
      for (const auto& [name, values] : columns) ids.push_back(sink.column(name));
      for (std::size_t row = 0; row < length; ++row) {
        sink.begin(0, 0);
        for (std::size_t i = 0; i < columns.size(); ++i) sink.put(ids[i], columns[i].second[row]);
        sink.end();
      }
      sink.finish();
    }
  }

 private:
  record::RunBuilder& build_;
  record::SourceId source_;
  std::map<std::size_t, std::vector<std::pair<std::string, std::vector<double>>>> by_length_;
};

/// A whole document: finds the records, the columns and the values by step in it, wherever they
/// lie.
class DocumentReader {
 public:
  DocumentReader(record::RunBuilder& build, record::SourceId source,
                 std::size_t most_values = k_most_values)
      : build_(build), source_(source), columns_(build, source), values_left_(most_values) {}

  /// Whether the object's metrics are its own numbers, rather than lists below it.
  static bool is_record(const input::JsonCursor& json) {
    input::JsonCursor inside = json;
    JsonLook look;
    look_at(inside, look, 0);
    return !look.columns && !look.records && (look.metric || look.step);
  }

  void read(std::string_view text, bool cut, const std::string& broken) {
    input::JsonCursor json(text);
    while (json.peek() != Kind::end && !json.bad()) {
      if (json.peek() == Kind::bad) break;
      any(json, "", 0);
    }
    columns_.finish();
    if (top_) finish_records(*top_);
    if (!broken.empty()) {
      build_.defect({source_, json.at(), "truncated", core::Severity::warning, broken});
    } else if (json.peek() != Kind::end) {
      const bool torn = cut || json.torn();
      build_.defect(
          {source_, json.at(), torn ? "truncated" : "bad-json", core::Severity::warning,
           fmt::format("[json-metrics] {} at byte {} of {}; what stands before it was read",
                       torn ? "the file ends" : "not JSON", json.at(), text.size())});
    }
  }

 private:
  struct Records {
    Records(record::RunBuilder& build, record::SourceId source)
        : sink(build, source), reader(sink, build, source) {}
    RecordSink sink;
    JsonRecordReader reader;
  };

  static std::string below(const std::string& prefix, std::string_view key) {
    // Words that only say that metrics follow.
    static constexpr std::array<std::string_view, 8> k_wrappers = {
        "history", "metrics", "logs", "log", "results", "records", "values", "data"};
    const bool wrapper = std::find(k_wrappers.begin(), k_wrappers.end(), key) != k_wrappers.end();
    if (wrapper) return prefix;
    return prefix.empty() ? std::string(key) : prefix + "/" + std::string(key);
  }

  void any(input::JsonCursor& json, const std::string& name, int depth) {
    if (depth > k_most_depth) return json.skip();
    switch (json.peek()) {
      case Kind::array:
        return array(json, name, depth);
      case Kind::object:
        return object(json, name, depth);
      default:
        return json.skip();
    }
  }

  void array(input::JsonCursor& json, const std::string& name, int depth) {
    json.enter_array();
    std::vector<double> numbers;
    std::optional<Records> records;
    while (json.next_element()) {
      const Kind kind = json.peek();
      if (kind == Kind::number) {
        const auto number = json.number();
        if (number && values_left_ > 0) {
          numbers.push_back(*number);
          --values_left_;
        }
      } else if (kind == Kind::object) {
        if (!records) records.emplace(build_, source_);
        records->reader.read(json, 0, json.at());
      } else if (kind == Kind::null) {
        // A gap, in its place: the columns of a table stay aligned.
        if (!numbers.empty()) numbers.push_back(std::numeric_limits<double>::quiet_NaN());
        json.skip();
      } else {
        any(json, name, depth + 1);
      }
    }
    if (records) finish_records(*records);
    columns_.list(name, std::move(numbers));
  }

  static void finish_records(Records& records) { records.sink.finish(); }

  /// An object is values by step, or holds such, or is itself one record.
  void object(input::JsonCursor& json, const std::string& name, int depth) {
    if (by_step(json, name)) return;
    if (depth == 0 && is_record(json)) {
      if (!top_) top_.emplace(build_, source_);
      top_->reader.read(json, 0, json.at());
      return;
    }
    json.enter_object();
    for (std::string_view key; json.next_member(key);) {
      const std::string child = below(name, key);
      any(json, child, depth + 1);
    }
  }

  bool by_step(input::JsonCursor& json, const std::string& name) {
    input::JsonCursor inside = json;
    std::vector<std::pair<std::int64_t, double>> samples;
    double start = 0;
    double interval = 1;
    inside.enter_object();
    for (std::string_view key; inside.next_member(key);) {
      if (key == "values" && inside.peek() == Kind::object) {
        if (!steps(inside, samples)) return false;
      } else if (key == "values" && inside.peek() == Kind::array) {
        if (!evenly(inside, start, interval, samples)) return false;
      } else if (key == "start_step" || key == "step_interval") {
        double& target = key == "start_step" ? start : interval;
        target = bounded(inside.number().value_or(target), target);
      } else if (is_step_number(key) && samples.empty()) {
        inside = json;
        if (!steps(inside, samples)) return false;
      } else {
        inside.skip();
      }
    }
    if (samples.empty() || inside.bad()) return false;
    columns_.by_step(name, std::move(samples));
    json = inside;
    return true;
  }

  /// `[10.8, 9.7]` from `start` on; false where an element is no number.
  static bool evenly(input::JsonCursor& json, double start, double interval,
                     std::vector<std::pair<std::int64_t, double>>& samples) {
    json.enter_array();
    for (double step = start; json.next_element(); step += interval) {
      const auto number = json.number();
      if (!number) return false;
      samples.emplace_back(static_cast<std::int64_t>(step), *number);
    }
    return true;
  }

  static double bounded(double value, double otherwise) {
    constexpr double k_most = 1e15;
    return value > -k_most && value < k_most ? value : otherwise;
  }

  /// `{"1": 10.8, "2": "nan"}`; false where a key is no step.
  static bool steps(input::JsonCursor& json,
                    std::vector<std::pair<std::int64_t, double>>& samples) {
    json.enter_object();
    for (std::string_view key; json.next_member(key);) {
      const auto step = core::parse_number(key);
      if (!step || !is_step_number(key) || *step > 1e15) return false;
      std::optional<double> value = json.number();
      if (!value && json.peek() == Kind::text) {
        value = core::parse_number(core::trim(json.text().value_or("")));
      } else if (!value) {
        json.skip();
      }
      if (value) samples.emplace_back(static_cast<std::int64_t>(*step), *value);
    }
    return !json.bad();
  }

  record::RunBuilder& build_;
  record::SourceId source_;
  Columns columns_;
  std::optional<Records> top_;
  std::size_t values_left_;
};

bool is_log(std::string_view path) {
  return path.ends_with(".log") || path.ends_with(".txt") || path.ends_with(".out") ||
         path.ends_with(".stdout");
}

/// `saved ckpt/step_260` between records: what a program prints is a log, and its sentences tell.
bool says_something_between(std::string_view head) {
  while (!head.empty()) {
    const std::size_t end = head.find('\n');
    if (end == std::string_view::npos) return false;  // the last line may be cut
    const std::string_view line = core::trim(head.substr(0, end));
    head.remove_prefix(end + 1);
    const bool letter =
        !line.empty() && ((line.front() >= 'a' && line.front() <= 'z') ||
                          (line.front() >= 'A' && line.front() <= 'Z') || line.front() == '[');
    if (letter && line.find(' ') != std::string_view::npos) return true;
  }
  return false;
}

class JsonMetricsReader final : public Reader {
 public:
  const ReaderSpec& spec() const override { return json_metrics_spec(); }

  double sniff(const Sniff& artifact) const override {
    const std::string_view head = without_mark(artifact.head);
    const std::size_t start = head.find_first_not_of(" \t\r\n");
    if (start == std::string_view::npos || (head[start] != '{' && head[start] != '[')) return 0;
    if (is_log(artifact.path) && says_something_between(head)) return 0;
    return sniff_json_metrics(head.substr(start));
  }

  void read(input::ByteStream& bytes, record::RunBuilder& build,
            record::SourceId source) const override {
    // Lines or a document: the first line that is not blank tells.
    Replay replay(bytes);
    if (replay.lines_of_records()) {
      input::LineReader lines(replay);
      read_lines(lines, bytes, build, source);
    } else if (replay.begins_with_a_long_line()) {
      read_long_lines(replay, build, source);
    } else {
      read_document({}, replay, build, source);
    }
  }

 private:
  static std::string_view without_mark(std::string_view text) {
    return text.substr(0, 3) == "\xef\xbb\xbf" ? text.substr(3) : text;
  }

  /// The stream again from its beginning, after its head has been looked at.
  class Replay final : public input::ByteStream {
   public:
    explicit Replay(input::ByteStream& inner) : inner_(inner) {
      // No more than it takes to tell: of a file that still grows the rest may be a long time coming.
      while (head_.size() < Sniff::k_head_bytes && !lines_of_records()) {
        const std::string_view part = inner_.next();
        if (part.empty()) break;
        head_ += part;
      }
    }
    bool lines_of_records() const {
      const std::string_view head = without_mark(head_);
      const std::size_t start = head.find_first_not_of(" \t\r\n");
      if (start == std::string_view::npos || head[start] != '{') return false;
      const std::size_t end = head.find('\n', start);
      input::JsonCursor json(head.substr(start, end == std::string_view::npos ? end : end - start));
      json.skip();
      const bool one_line = end == std::string_view::npos ||
                            head.find_first_not_of(" \t\r\n", end) == std::string_view::npos;
      return !one_line && !json.bad();
    }
    /// Its first line goes on behind the head.
    bool begins_with_a_long_line() const {
      return head_.size() >= Sniff::k_head_bytes && head_.find('\n') == std::string::npos;
    }
    std::string_view next() override {
      if (std::exchange(fresh_, false) && !head_.empty()) return head_;
      return inner_.next();
    }
    const std::string& broken() const override { return inner_.broken(); }
    std::uint64_t consumed() const override { return inner_.consumed(); }

   private:
    input::ByteStream& inner_;
    std::string head_;
    bool fresh_ = true;
  };

  /// `begun`: what was read of it already.
  static void read_document(std::string begun, input::ByteStream& bytes, record::RunBuilder& build,
                            record::SourceId source) {
    bool cut = false;
    begun += input::read_at_most(bytes, k_most_bytes, cut);
    DocumentReader(build, source).read(without_mark(begun), cut, bytes.broken());
  }

  /// Whole documents and records of any length, one a line: of each line no more is held than
  /// LineReader gives, and what stands behind that is told and left out.
  static void read_long_lines(input::ByteStream& bytes, record::RunBuilder& build,
                              record::SourceId source) {
    input::LineReader lines(bytes);
    input::LineReader::Line line;
    if (!lines.next(line)) return;
    const input::JsonCursor begin(line.text);
    input::JsonCursor end = begin;
    end.skip();
    if (end.bad() && !line.cut) {  // a document whose first line is long
      read_document(std::string(line.text) + '\n', bytes, build, source);
      return;
    }
    if (DocumentReader::is_record(begin)) {
      read_lines(lines, bytes, build, source, &line);
      return;
    }
    DocumentReader(build, source, k_most_line_values).read(line.text, line.cut, bytes.broken());
    read_lines(lines, bytes, build, source);
  }

  /// `first`: a line that was taken from `lines` already.
  static void read_lines(input::LineReader& lines, const input::ByteStream& bytes,
                         record::RunBuilder& build, record::SourceId source,
                         const input::LineReader::Line* first = nullptr) {
    RecordSink sink(build, source);
    JsonRecordReader reader(sink, build, source);
    input::LineReader::Line line;
    if (first != nullptr) line = *first;
    for (bool there = first != nullptr || lines.next(line); there; there = lines.next(line)) {
      const std::size_t start = line.text.find_first_not_of(" \t");
      if (start == std::string_view::npos) continue;
      if (line.text[start] == '{') {
        input::JsonCursor json(line.text, start);
        if (reader.read(json, line.number, line.offset) && !line.cut) continue;
      }
      const bool torn = !line.ended;
      build.defect({source, line.offset,
                    torn       ? "truncated"
                    : line.cut ? "too-long-line"
                               : "bad-json",
                    torn ? core::Severity::note : core::Severity::warning,
                    fmt::format("[json-metrics] line {} {}", line.number,
                                torn ? "is cut: the writer was stopped" : "is no JSON record")});
    }
    sink.finish();
    if (!bytes.broken().empty()) {
      build.defect(
          {source, bytes.consumed(), "truncated", core::Severity::warning, bytes.broken()});
    }
  }
};

}  // namespace

std::unique_ptr<Reader> make_json_metrics_reader() { return std::make_unique<JsonMetricsReader>(); }

}  // namespace aplomb::sources
