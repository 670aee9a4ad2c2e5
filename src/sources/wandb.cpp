/// Reader of W&B run files (run-*.wandb), as a run leaves them, uploaded or not: the log format of
/// LevelDB, whose records are protocol-buffer messages.
///
///     ":W&B" e1 be 00 | crc32 (4) | length (2) | 01 | Record{history{item{key: "train/loss",
///     value_json: "2.31"} item{key: "_step", value_json: "9"}}} | crc32 ...
///
/// Oddities: a record goes on over several blocks of 32 KiB, and the last one is cut where the
/// process was killed; a damaged block lies between whole ones; NaN and Infinity stand in quotes;
/// tables, images and histograms lie between the numbers; a run that ended early has no history.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <utility>

#include "config_text/setting_sink.h"
#include "core/text.h"
#include "input/json_cursor.h"
#include "log_errors/signatures.h"
#include "log_text/settings_scan.h"
#include "sources/reader.h"
#include "sources/record_log.h"
#include "sources/record_sink.h"

namespace aplomb::sources {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

constexpr std::string_view k_magic = ":W&B";  // two bytes of magic and the version follow

const ReaderSpec& wandb_spec() {
  static const ReaderSpec spec = {
      "wandb",
      "W&B run files (run-*.wandb), as a run leaves them whether or not it was uploaded",
      ":W&B then pieces of records: history {\"train/loss\": 2.31, \"train/global_step\": 10, "
      "\"_step\": 9}",
      {"a last record cut in the middle (the process was killed)", "records over several blocks",
       "damaged blocks", "NaN and Infinity in quotes",
       "tables, images and histograms between the numbers",
       "runs that ended before their first history record"}};
  return spec;
}

std::string_view view_of(pbf_reader& message) {
  const protozero::data_view bytes = message.get_view();
  return {bytes.data(), bytes.size()};
}

/// HistoryItem, ConfigItem and SummaryItem alike: key = 1 or nested_key = 2, value_json = 16.
struct Item {
  std::string key;
  std::string_view json;
};

void read_item(pbf_reader message, char joint, Item& item) {
  item.key.clear();
  item.json = {};
  while (message.next()) {
    if (message.wire_type() != pbf_wire_type::length_delimited) {
      message.skip();
      continue;
    }
    switch (message.tag()) {
      case 1:
        item.key = view_of(message);
        break;
      case 2:
        if (!item.key.empty()) item.key += joint;
        item.key += view_of(message);
        break;
      case 16:
        item.json = view_of(message);
        break;
      default:
        message.skip();
    }
  }
}

std::optional<double> number_of(std::string_view json) {
  constexpr std::size_t k_longest = 40;
  if (json.size() > k_longest) return std::nullopt;
  input::JsonCursor cursor(json);
  if (const auto number = cursor.number()) return number;
  if (cursor.peek() == input::JsonCursor::Kind::text)
    return core::parse_number(core::trim(cursor.text().value_or("")));
  return std::nullopt;
}

class WandbFile {
 public:
  WandbFile(input::ByteStream& bytes, record::RunBuilder& build, record::SourceId source)
      : bytes_(bytes),
        log_(bytes, build, source, "wandb"),
        build_(build),
        source_(source),
        history_(build, source),
        settings_(build, source) {}

  void read() {
    for (std::string_view bytes; log_.next(bytes);) record(bytes);
    history_.finish();
    if (!line_.empty()) output_line();
    matcher_.finish(build_, source_);
    soften_console();
    scanner_.finish(build_, source_);
    if (!bytes_.broken().empty()) defect("truncated", core::Severity::warning, bytes_.broken());
  }

 private:
  void defect(std::string kind, core::Severity severity, std::string text) {
    build_.defect({source_, log_.offset(), std::move(kind), severity, std::move(text)});
  }

  /// wandb_internal.proto, Record: what else there is (files, statistics, telemetry) is skipped by
  /// its length.
  void record(std::string_view bytes) {
    try {
      pbf_reader message(bytes.data(), bytes.size());
      while (message.next()) {
        if (message.wire_type() != pbf_wire_type::length_delimited) {
          message.skip();
          continue;
        }
        switch (message.tag()) {
          case 2:
            history(message.get_message());
            break;
          case 4:
          case 13:
            output(message.get_message());
            break;
          case 5:
            config(message.get_message());
            break;
          case 17:
            run(message.get_message());
            break;
          default:
            message.skip();
        }
      }
    } catch (const protozero::exception&) {
      defect("bad-message", core::Severity::warning,
             "[wandb] a record is no W&B message; left out");
    }
  }

  void history(pbf_reader message) {
    history_.begin(0, log_.offset());
    while (message.next()) {
      if (message.tag() != 1 || message.wire_type() != pbf_wire_type::length_delimited) {
        message.skip();
        continue;
      }
      read_item(message.get_message(), '/', item_);
      if (const auto number = number_of(item_.json))
        history_.put(history_.column(item_.key), *number);
    }
    history_.end();
  }

  void run(pbf_reader message) {
    while (message.next()) {
      if (message.tag() == 4 && message.wire_type() == pbf_wire_type::length_delimited) {
        config(message.get_message());
      } else {
        message.skip();
      }
    }
  }

  void config(pbf_reader message) {
    while (message.next(1, pbf_wire_type::length_delimited)) {
      read_item(message.get_message(), '.', item_);
      input::JsonCursor json(item_.json);
      config_value(json, item_.key, 0);
    }
  }

  void config_value(input::JsonCursor& json, const std::string& path, int depth) {
    constexpr int k_most_depth = 8;
    if (path.substr(0, 6) == "_wandb") return json.skip();
    if (json.peek() == input::JsonCursor::Kind::object && depth < k_most_depth) {
      json.enter_object();
      for (std::string_view key; json.next_member(key);)
        config_value(json, path + "." + std::string(key), depth + 1);
      return;
    }
    const std::size_t begin = json.at();
    const bool text = json.peek() == input::JsonCursor::Kind::text;
    config_text::ConfigEntry entry;
    entry.path = path;
    entry.offset = log_.offset();
    entry.quoted = text;
    if (text) {
      entry.text = json.text().value_or("");
    } else {
      json.skip();
      entry.text = core::trim(item_.json.substr(begin, json.at() - begin));
    }
    settings_.put(entry);
  }

  /// Console output comes in pieces that need not end with their lines.
  void output(pbf_reader message) {
    constexpr std::size_t k_longest_line = 1U << 20U;
    while (message.next()) {
      if (message.tag() != 3 || message.wire_type() != pbf_wire_type::length_delimited) {
        message.skip();
        continue;
      }
      for (const char c : view_of(message)) {
        if (c == '\n') {
          output_line();
        } else if (line_.size() < k_longest_line) {
          line_ += c;
        }
      }
    }
  }

  void output_line() {
    matcher_.line(line_, 0, log_.offset(), -1, build_, source_);
    scanner_.line(line_, 0, log_.offset(), build_, source_);
    line_.clear();
  }

  /// This file is the artifact of the metrics; the console's own is output.log beside it, and says
  /// whether an error ended the run. The copy here keeps the error in view without failing a run
  /// whose metrics are well: it may come from after the training, or from a cell of a notebook.
  void soften_console() {
    for (record::Event& event : build_.run().events) {
      if (event.origin.source == source_)
        event.severity = std::min(event.severity, core::Severity::warning);
    }
  }

  input::ByteStream& bytes_;
  RecordLog log_;
  record::RunBuilder& build_;
  record::SourceId source_;
  RecordSink history_;
  config_text::SettingSink settings_;
  log_errors::SignatureMatcher matcher_;
  log_text::SettingScanner scanner_;
  std::string line_;  ///< of the console, not yet ended
  Item item_;
};

class WandbReader final : public Reader {
 public:
  const ReaderSpec& spec() const override { return wandb_spec(); }

  double sniff(const Sniff& artifact) const override {
    return artifact.head.substr(0, 4) == k_magic ? 1 : 0;
  }

  void read(input::ByteStream& bytes, record::RunBuilder& build,
            record::SourceId source) const override {
    WandbFile(bytes, build, source).read();
  }
};

}  // namespace

std::unique_ptr<Reader> make_wandb_reader() { return std::make_unique<WandbReader>(); }

}  // namespace aplomb::sources
