/// Reader of MLflow's files of one run (mlruns/EXPERIMENT/RUN/): metrics/NAME with a sample a
/// line, params/NAME and tags/NAME with a value each.
///
///     1628697792090 332.6841735839844 0        # milliseconds since 1970, value, step
///
/// Oddities: the first versions wrote no step, and the line's number stands for it; nan and inf;
/// names with slashes, which are folders; samples not in the order of their steps; params that
/// hold a model's generation defaults beside the training's; a last line cut in the middle.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "config_text/config_support.h"
#include "config_text/setting_sink.h"
#include "core/text.h"
#include "input/json_cursor.h"
#include "input/line_reader.h"
#include "sources/metric_names.h"
#include "sources/reader.h"

namespace aplomb::sources {
namespace {

const ReaderSpec& mlflow_spec() {
  static const ReaderSpec spec = {
      "mlflow",
      "MLflow's files of one run (mlruns/EXPERIMENT/RUN/): metrics/NAME with a sample a line, "
      "params/NAME and tags/NAME with a value each",
      "1628697792090 332.6841735839844 0",
      {"no step (files of the first versions): the line's number stands for it", "nan and inf",
       "names with slashes, as folders", "samples not in the order of their steps",
       "a last line cut in the middle",
       "params that hold a model's generation defaults beside the training's"}};
  return spec;
}

/// `timestamp value [step]`: milliseconds since 1970.
struct Sample {
  double time_ms = 0;
  double value = 0;
  double step = 0;
  bool has_step = false;
};

bool parse(std::string_view line, Sample& sample) {
  double* const fields[] = {&sample.time_ms, &sample.value, &sample.step};
  std::size_t count = 0;
  for (std::string_view rest = core::trim(line); !rest.empty(); rest = core::trim(rest)) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const auto number = core::parse_number(rest.substr(0, end));
    if (!number || count == 3) return false;
    *fields[count++] = *number;
    rest.remove_prefix(end);
  }
  sample.has_step = count == 3;
  return count >= 2;
}

/// The metric's name: the path below `metrics`.
std::string_view metric_in(std::string_view path) {
  constexpr std::string_view k_folder = "/metrics/";
  const std::size_t at = path.rfind(k_folder);
  if (at != std::string_view::npos) return path.substr(at + k_folder.size());
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// The name of a param or tag: the path below `RUN/params/`, where RUN is MLflow's id of 32
/// hexadecimal digits; empty for any other path.
std::string_view param_in(std::string_view path) {
  constexpr std::size_t k_id = 32;
  for (const std::string_view folder : {"/params/", "/tags/"}) {
    for (std::size_t at = path.find(folder); at != std::string_view::npos;
         at = path.find(folder, at + 1)) {
      const bool has_id = at >= k_id && (at == k_id || path[at - k_id - 1] == '/') &&
                          path.substr(at - k_id, k_id).find_first_not_of("0123456789abcdef") ==
                              std::string_view::npos;
      if (has_id) return path.substr(at + folder.size());
    }
  }
  return {};
}

/// Trainers log the model's configuration with their own arguments; these two are then what
/// transformers' `generate` defaults to, not what the run trains with.
bool is_generation_default(std::string_view name, std::string_view value) {
  return (name == "max_length" && value == "20") || (name == "temperature" && value == "1.0");
}

void read_param(input::ByteStream& bytes, std::string_view path, record::RunBuilder& build,
                record::SourceId source) {
  const std::string text = config_text::read_config_text(bytes, build, source);
  const std::string_view value = core::trim(text);
  std::string name(param_in(path));
  // MLflow's own tags (`mlflow.user`) say who and where.
  if (value.empty() || name.starts_with("mlflow.") || is_generation_default(name, value)) return;
  std::replace(name.begin(), name.end(), '/', '.');
  config_text::ConfigEntry entry;
  entry.path = std::move(name);
  entry.text = std::string(value);
  entry.line = 1;
  config_text::SettingSink(build, source).put(entry);
}

class MlflowReader final : public Reader {
 public:
  const ReaderSpec& spec() const override { return mlflow_spec(); }

  double sniff(const Sniff& artifact) const override {
    if (!param_in(artifact.path).empty()) {
      return artifact.head.find('\0') == std::string_view::npos ? 0.95 : 0;
    }
    const std::string_view line = artifact.head.substr(0, artifact.head.find('\n'));
    Sample sample;
    constexpr double k_year_2000_ms = 946684800000.0;
    constexpr double k_year_2200_ms = 7258118400000.0;
    if (line.size() > 200 || !parse(line, sample)) return 0;
    const bool time = sample.time_ms > k_year_2000_ms && sample.time_ms < k_year_2200_ms;
    if (!time || std::floor(sample.time_ms) != sample.time_ms) return 0;
    return artifact.path.find("metrics/") != std::string_view::npos ? 0.9 : 0.3;
  }

  void read(input::ByteStream& bytes, record::RunBuilder& build,
            record::SourceId source) const override {
    const std::string path = build.source(source).path;
    if (!param_in(path).empty()) {
      read_param(bytes, path, build, source);
    } else {
      read_metric(bytes, build, source);
    }
  }

 private:
  static void read_metric(input::ByteStream& bytes, record::RunBuilder& build,
                          record::SourceId source) {
    const std::string raw(metric_in(build.source(source).path));
    const MetricName name = name_metric(raw);
    input::LineReader lines(bytes);
    input::LineReader::Line line;
    record::SeriesId series = 0;
    bool open = false;
    std::int64_t ordinal = 0;
    while (lines.next(line)) {
      if (core::trim(line.text).empty()) continue;
      Sample sample;
      const bool good = parse(line.text, sample) && std::fabs(sample.step) < 9e15;
      if (!good || (!line.ended && !sample.has_step)) {
        build.defect({source, line.offset, line.ended ? "bad-number" : "truncated",
                      line.ended ? core::Severity::warning : core::Severity::note,
                      fmt::format("[mlflow] line {} is no `timestamp value step`", line.number)});
        continue;
      }
      if (!open) {
        const record::StepKind kind =
            sample.has_step ? record::StepKind::explicit_ : record::StepKind::ordinal;
        series = build.series(source, name.series, raw, name.role, kind);
        open = true;
      }
      const std::int64_t step =
          sample.has_step ? static_cast<std::int64_t>(std::llround(sample.step)) : ordinal;
      build.append(series, step, sample.value * name.scale, line.number, line.offset);
      ++ordinal;
    }
    if (!bytes.broken().empty()) {
      build.defect(
          {source, bytes.consumed(), "truncated", core::Severity::warning, bytes.broken()});
    }
  }
};

}  // namespace

std::unique_ptr<Reader> make_mlflow_reader() { return std::make_unique<MlflowReader>(); }

}  // namespace aplomb::sources
