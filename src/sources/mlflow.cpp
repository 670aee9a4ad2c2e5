#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/text.h"
#include "sources/json_cursor.h"
#include "sources/line_reader.h"
#include "sources/metric_names.h"
#include "sources/reader.h"

namespace aplomb {
namespace {

const ReaderSpec& the_spec() {
  static const ReaderSpec spec = {
      "mlflow",
      "MLflow metric files (mlruns/EXPERIMENT/RUN/metrics/NAME), one sample a line",
      "1628697792090 332.6841735839844 0",
      {"no step (files of the first versions): the line's number stands for it", "nan and inf",
       "names with slashes, as folders", "samples not in the order of their steps",
       "a last line cut in the middle"}};
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
  for (std::string_view rest = trim(line); !rest.empty(); rest = trim(rest)) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const auto number = parse_number(rest.substr(0, end));
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

class MlflowReader final : public Reader {
 public:
  const ReaderSpec& spec() const override { return the_spec(); }

  double sniff(const Sniff& artifact) const override {
    const std::string_view line = artifact.head.substr(0, artifact.head.find('\n'));
    Sample sample;
    constexpr double k_year_2000_ms = 946684800000.0;
    constexpr double k_year_2200_ms = 7258118400000.0;
    if (line.size() > 200 || !parse(line, sample)) return 0;
    const bool time = sample.time_ms > k_year_2000_ms && sample.time_ms < k_year_2200_ms;
    if (!time || std::floor(sample.time_ms) != sample.time_ms) return 0;
    return artifact.path.find("metrics/") != std::string_view::npos ? 0.9 : 0.3;
  }

  void read(ByteStream& bytes, RunBuilder& build, SourceId source) const override {
    const std::string raw(metric_in(build.source(source).path));
    const MetricName name = name_metric(raw);
    LineReader lines(bytes);
    LineReader::Line line;
    SeriesId series = 0;
    bool open = false;
    std::int64_t ordinal = 0;
    while (lines.next(line)) {
      if (trim(line.text).empty()) continue;
      Sample sample;
      const bool good = parse(line.text, sample) && std::fabs(sample.step) < 9e15;
      if (!good || (!line.ended && !sample.has_step)) {
        build.defect({source, line.offset, line.ended ? "bad-number" : "truncated",
                      line.ended ? Severity::warning : Severity::note,
                      fmt::format("[mlflow] line {} is no `timestamp value step`", line.number)});
        continue;
      }
      if (!open) {
        const StepKind kind = sample.has_step ? StepKind::explicit_ : StepKind::ordinal;
        series = build.series(source, name.series, raw, name.role, kind);
        open = true;
      }
      const std::int64_t step =
          sample.has_step ? static_cast<std::int64_t>(std::llround(sample.step)) : ordinal;
      build.append(series, step, sample.value * name.scale, line.number, line.offset);
      ++ordinal;
    }
    if (!bytes.broken().empty()) {
      build.defect({source, bytes.consumed(), "truncated", Severity::warning, bytes.broken()});
    }
  }
};

}  // namespace

std::unique_ptr<Reader> make_mlflow_reader() { return std::make_unique<MlflowReader>(); }

}  // namespace aplomb
