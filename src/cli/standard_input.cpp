#include "cli/standard_input.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/new_file.h"
#include "core/text.h"

namespace aplomb::cli {
namespace {

constexpr const char* k_shown_as = "standard input";

std::string reason() { return std::strerror(errno); }  // NOLINT(concurrency-mt-unsafe)

void rename_path(std::string& text, const std::string& path) {
  if (text == path) text = k_shown_as;
}

void rename_paths(std::vector<Evidence>& list, const std::string& path) {
  for (Evidence& each : list) rename_path(each.path, path);
}

void rename_inside(std::string& text, const std::string& path) {
  for (std::size_t at = 0; (at = text.find(path, at)) != std::string::npos;) {
    text.replace(at, path.size(), k_shown_as);
  }
}

}  // namespace

StandardInput::~StandardInput() {
  if (!path_.empty()) core::remove_file(path_);
}

core::Result<std::string> StandardInput::keep() {
  if (!path_.empty()) return path_;
  std::error_code no_throw;
  const auto folder = std::filesystem::temp_directory_path(no_throw);
  std::string path = ((no_throw ? "/tmp" : folder) / "aplomb-XXXXXX.log").string();
  const int file = ::mkstemps(path.data(), 4);
  if (file < 0) {
    return core::fail(core::ErrorCode::not_writable,
                      "cannot keep standard input in " + path + ": " + reason());
  }
  path_ = path;
  std::vector<char> part(1U << 18U);
  std::uint64_t kept = 0;
  bool written = true;
  ssize_t size = 0;
  while (written && (size = ::read(STDIN_FILENO, part.data(), part.size())) > 0) {
    if (kept + static_cast<std::uint64_t>(size) > k_most_bytes) {
      cut_ = true;
      break;
    }
    for (ssize_t at = 0, put = 0; written && at < size; at += put) {
      put = ::write(file, part.data() + at, static_cast<std::size_t>(size - at));
      written = put > 0;
    }
    kept += static_cast<std::uint64_t>(size);
  }
  const std::string why = reason();
  ::close(file);
  if (size < 0)
    return core::fail(core::ErrorCode::not_readable, "cannot read standard input: " + why);
  if (!written)
    return core::fail(core::ErrorCode::not_writable,
                      "cannot keep standard input in " + path + ": " + why);
  return path_;
}

void StandardInput::rename_in(Report& report) const {
  if (path_.empty()) return;
  for (ReportInput& input : report.inputs) {
    if (input.path == path_ && cut_) {
      input.warnings.push_back("only the first " +
                               core::show_bytes(static_cast<double>(k_most_bytes)) +
                               " were read: save the rest to a file and give that");
    }
    rename_path(input.path, path_);
    for (std::string& warning : input.warnings) rename_inside(warning, path_);
  }
  for (ReportSeries& series : report.series) rename_path(series.path, path_);
  for (ReportSymptom& symptom : report.symptoms) rename_paths(symptom.evidence, path_);
  for (ReportCause& cause : report.causes) {
    rename_paths(cause.evidence, path_);
    for (ReportWeight& weight : cause.weights) rename_paths(weight.evidence, path_);
  }
  for (ReportRun& run : report.runs) rename_inside(run.name, path_);
  if (auto* run = std::get_if<std::string>(&report.summary["run"])) rename_inside(*run, path_);
}

}  // namespace aplomb::cli
