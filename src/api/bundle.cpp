#include "api/bundle.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <memory>
#include <set>

#include "core/new_file.h"
#include "core/text.h"
#include "input/byte_stream.h"
#include "report/redact_report.h"
#include "report/renderer.h"

namespace aplomb::api {
namespace {

constexpr std::size_t k_head_lines = 60;
constexpr std::size_t k_tail_lines = 80;
constexpr std::size_t k_first_steps_lines = 400;
constexpr std::size_t k_line_bytes = 2000;
constexpr std::size_t k_read_bytes = 4 * k_line_bytes;  // of a longer line: what is redacted of it

struct Range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

/// Which lines of a source to keep: sorted, not overlapping; the tail is added while reading.
std::vector<Range> wanted_lines(const report::DiagnosedRun& each, record::SourceId source,
                                const BundleOptions& options) {
  std::vector<Range> ranges = {{1, k_head_lines}};
  const record::Series* loss = each.run.primary(record::Role::loss);
  if (loss != nullptr && loss->source == source && !loss->line.empty()) {
    const std::size_t last = std::min(options.first_steps, loss->line.size()) - 1;
    const std::uint64_t from = loss->line.front();
    ranges.push_back({from, std::min(loss->line[last], from + k_first_steps_lines)});
  }
  const auto keep_around = [&](const record::Origin& origin) {
    if (origin.source != source || origin.line == 0) return;
    const std::uint64_t before = std::min<std::uint64_t>(options.around, origin.line - 1);
    ranges.push_back({origin.line - before, origin.line + options.around});
  };
  for (const detectors::Symptom& symptom : each.symptoms) {
    for (const record::Origin& origin : symptom.evidence) keep_around(origin);
  }
  for (const record::Event& event : each.run.events) {
    if (event.severity != core::Severity::note) keep_around(event.origin);
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
  std::vector<Range> joined;
  for (const Range& range : ranges) {
    if (!joined.empty() && range.first <= joined.back().last + 1) {
      joined.back().last = std::max(joined.back().last, range.last);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

/// Takes lines one by one and keeps the wanted ones and the last k_tail_lines, with a mark where
/// lines were left out.
class Excerpt {
 public:
  Excerpt(std::vector<Range> ranges, std::size_t most_bytes, report::Redactor& redact)
      : ranges_(std::move(ranges)), most_bytes_(most_bytes), redact_(redact) {}

  void line(std::string_view text) {
    ++number_;
    while (next_ < ranges_.size() && number_ > ranges_[next_].last) ++next_;
    const bool inside = next_ < ranges_.size() && number_ >= ranges_[next_].first;
    std::string cut = text.size() <= k_line_bytes ? std::string(text) : beginning(text);
    if (inside && kept_.size() < most_bytes_) {
      keep(number_, cut);
      return;
    }
    tail_.emplace_back(number_, std::move(cut));
    if (tail_.size() > k_tail_lines) tail_.pop_front();
  }

  std::string finish() {
    for (const auto& [number, text] : tail_) {
      if (number > last_kept_) keep(number, text);
    }
    return std::move(kept_);
  }
  std::string what() const { return fmt::format("{} of {} lines", kept_lines_, number_); }

 private:
  /// Redacted before it is cut: half of a key is not known by its look. The last word that was read
  /// is itself half a one.
  std::string beginning(std::string_view text) {
    const std::size_t word = text.substr(0, k_read_bytes).find_last_of(" \t,;\"'");
    return core::shorten(redact_(text.substr(0, word == std::string_view::npos ? 0 : word)) + "...",
                         k_line_bytes);
  }

  void keep(std::uint64_t number, std::string_view text) {
    if (number != last_kept_ + 1)
      kept_ += fmt::format("[... {} lines left out ...]\n", number - last_kept_ - 1);
    kept_ += text;
    kept_ += '\n';
    last_kept_ = number;
    ++kept_lines_;
  }

  std::vector<Range> ranges_;
  std::size_t most_bytes_;
  report::Redactor& redact_;
  std::size_t next_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t last_kept_ = 0;
  std::uint64_t kept_lines_ = 0;
  std::string kept_;
  std::deque<std::pair<std::uint64_t, std::string>> tail_;
};

void read_lines(input::ByteStream& bytes, Excerpt& excerpt) {
  std::string carried;  // a line that goes on in the next part, cut at k_read_bytes
  for (std::string_view part; !(part = bytes.next()).empty();) {
    while (!part.empty()) {
      const std::size_t end = part.find('\n');
      const std::string_view piece = part.substr(0, end);
      if (carried.size() < k_read_bytes)
        carried.append(piece.substr(0, k_read_bytes - carried.size()));
      if (end == std::string_view::npos) break;
      excerpt.line(carried);
      carried.clear();
      part.remove_prefix(end + 1);
    }
  }
  if (!carried.empty()) excerpt.line(carried);
}

bool is_binary(std::string_view bytes) { return bytes.find('\0') != std::string_view::npos; }

/// A key file of a cloud account, whatever its name.
bool is_service_account(std::string_view text) {
  return text.find("\"private_key\"") != std::string_view::npos &&
         text.find("\"client_email\"") != std::string_view::npos;
}

/// The entry for one artifact; no name where there is nothing to give.
BundleEntry entry_of(const report::DiagnosedRun& each, record::SourceId id,
                     const BundleOptions& options, report::Redactor& redact) {
  const record::Source& source = each.run.sources[id];
  BundleEntry entry;
  if (source.kind == "unknown" || source.kind == "checkpoint") return entry;
  if (report::is_secret_file(std::filesystem::path(source.path).filename().string())) return entry;
  auto opened = input::open_bytes(source.path);
  if (!opened) return entry;
  if (source.bytes <= options.whole_file_bytes) {
    auto whole = input::read_all(**opened, options.whole_file_bytes * 16);
    if (!whole || is_binary(*whole) || is_service_account(*whole)) return entry;
    entry.bytes = redact(core::sanitize_lines(report::without_disguise(*whole)));
    entry.what = "whole";
  } else {
    if (source.kind != "text-log") return entry;
    Excerpt excerpt(wanted_lines(each, id, options), options.most_bytes, redact);
    read_lines(**opened, excerpt);
    entry.bytes = redact(core::sanitize_lines(report::without_disguise(excerpt.finish())));
    entry.what = excerpt.what();
  }
  entry.name = redact(
      core::sanitize(std::filesystem::path(source.path).lexically_normal().filename().string()));
  return entry;
}

std::string settings_text(const std::vector<report::DiagnosedRun>& runs) {
  std::string text;
  for (const report::DiagnosedRun& each : runs) {
    text += fmt::format("# {}\n", each.run.name);
    for (const record::Setting& setting : each.run.settings) {
      text += fmt::format("{} = {}    # {}\n", setting.name, core::show(setting.value),
                          setting.raw_key);
    }
  }
  return text;
}

/// `train.log`, then `train-2.log`: two artifacts of one name must not hide each other.
std::string unique_name(std::set<std::string>& used, const std::string& name) {
  std::string candidate = name;
  const std::filesystem::path path(name);
  for (int number = 2; !used.insert(candidate).second; ++number) {
    candidate = fmt::format("{}-{}{}", path.stem().string(), number, path.extension().string());
  }
  return candidate;
}

struct ArchiveCloser {
  void operator()(archive* handle) const { archive_write_free(handle); }
};

}  // namespace

Bundle make_bundle(const std::vector<report::DiagnosedRun>& runs, const Report& report,
                   const BundleOptions& options) {
  Bundle bundle;
  report::Redactor redact(options.names);
  std::set<std::string> used;
  const auto add = [&](BundleEntry entry) {
    if (entry.name.empty()) return;
    entry.name = "aplomb-bundle/" + unique_name(used, entry.name);
    bundle.entries.push_back(std::move(entry));
  };
  const report::RenderOptions plain;
  const Report told = report::redact_report(report, redact);
  for (const auto& [slug, name] :
       {std::pair("terminal", "report.txt"), std::pair("json", "report.json")}) {
    const report::Renderer* renderer = report::find_renderer(slug);
    if (renderer != nullptr) add({name, renderer->render(told, plain), "the report"});
  }
  add({"settings.txt", redact(settings_text(runs)), "settings and versions that were read"});
  for (const report::DiagnosedRun& each : runs) {
    for (record::SourceId id = 0; id < each.run.sources.size(); ++id)
      add(entry_of(each, id, options, redact));
  }
  for (const report::DiagnosedRun& each : runs) {
    for (const record::Source& source : each.run.sources) {
      if (report::is_secret_file(std::filesystem::path(source.path).filename().string())) {
        bundle.refused.push_back(source.path);
      }
    }
  }
  // Whom the last file names is meant in the first as well, and in the report.
  for (BundleEntry& each : bundle.entries) {
    each.bytes = redact.again(each.bytes);
    each.name = redact.again(each.name);
  }
  bundle.redacted = redact.counts();
  bundle.replaced = redact.replaced();
  return bundle;
}

core::Result<std::uint64_t> write_bundle(const Bundle& bundle, const std::string& path) {
  auto file = core::NewFile::beside(path);
  if (!file) return tl::unexpected(file.error());
  const std::unique_ptr<archive, ArchiveCloser> out(archive_write_new());
  const auto give_up = [&]() -> core::Result<std::uint64_t> {
    const char* reason = archive_error_string(out.get());
    return core::fail(core::ErrorCode::not_writable,
                      fmt::format("[bundle] {} cannot be written: {}; choose another place with -o",
                                  path, reason != nullptr ? reason : "unknown reason"));
  };
  archive_write_add_filter_gzip(out.get());
  archive_write_set_format_pax_restricted(out.get());
  // Names are UTF-8 as they stand, whatever the locale: without this one that is not ASCII fails.
  archive_write_set_options(out.get(), "hdrcharset=BINARY");
  if (archive_write_open_fd(out.get(), (*file)->descriptor()) != ARCHIVE_OK) return give_up();
  for (const BundleEntry& entry : bundle.entries) {
    const std::unique_ptr<archive_entry, void (*)(archive_entry*)> head(archive_entry_new(),
                                                                        archive_entry_free);
    archive_entry_set_pathname(head.get(), entry.name.c_str());
    archive_entry_set_size(head.get(), static_cast<la_int64_t>(entry.bytes.size()));
    archive_entry_set_filetype(head.get(), AE_IFREG);
    archive_entry_set_perm(head.get(), 0644);
    if (archive_write_header(out.get(), head.get()) != ARCHIVE_OK) return give_up();
    const la_ssize_t written =
        archive_write_data(out.get(), entry.bytes.data(), entry.bytes.size());
    if (written != static_cast<la_ssize_t>(entry.bytes.size())) return give_up();
  }
  if (archive_write_close(out.get()) != ARCHIVE_OK) return give_up();
  if (auto done = (*file)->commit(); !done) return tl::unexpected(done.error());
  std::error_code error;
  return std::filesystem::file_size(path, error);
}

}  // namespace aplomb::api
