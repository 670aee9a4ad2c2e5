#include "discovery/collect.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "config_text/derived_settings.h"
#include "core/memory_budget.h"
#include "discovery/assemble.h"
#include "discovery/file_kind.h"
#include "discovery/file_search.h"
#include "discovery/run_layout.h"
#include "input/byte_stream.h"
#include "log_survey/sampled_log.h"
#include "record/run_builder.h"
#include "sources/reader.h"

namespace aplomb::discovery {
namespace {

/// Bytes read over bytes known of, told to the caller a part at a time.
struct Progress {
  const CollectOptions& options;
  std::uint64_t all_bytes = 0;
  std::uint64_t before = 0;  ///< of the files that are done

  void tell(std::uint64_t of_this_file) const {
    if (options.progress) options.progress(std::min(before + of_this_file, all_bytes), all_bytes);
  }
};

/// A stream whose head can be looked at before it is read, and that tells how far it is.
class HeadStream final : public input::ByteStream {
 public:
  HeadStream(std::unique_ptr<input::ByteStream> inner, const Progress& progress)
      : inner_(std::move(inner)), progress_(progress), first_(inner_->next()) {
    if (first_.size() >= sources::Sniff::k_head_bytes) return;
    gathered_ = first_;
    while (gathered_.size() < sources::Sniff::k_head_bytes) {
      const std::string_view part = inner_->next();
      if (part.empty()) break;
      gathered_ += part;
    }
    first_ = gathered_;
  }
  std::string_view head() const { return first_.substr(0, sources::Sniff::k_head_bytes); }

  std::string_view next() override {
    progress_.tell(inner_->consumed());
    return std::exchange(fresh_, false) ? first_ : inner_->next();
  }
  const std::string& broken() const override { return inner_->broken(); }
  std::uint64_t consumed() const override { return inner_->consumed(); }

 private:
  std::unique_ptr<input::ByteStream> inner_;
  const Progress& progress_;
  std::string_view first_;
  std::string gathered_;
  bool fresh_ = true;
};

void note(record::RunBuilder& build, record::SourceId source, std::string kind,
          core::Severity severity, std::string text) {
  build.defect({source, 0, std::move(kind), severity, std::move(text)});
}

/// The whole, or of a larger log the parts that tell the most.
void read_by(const sources::Reader& reader, input::ByteStream& whole, const FoundFile& file,
             std::uint64_t most_bytes, record::RunBuilder& build, record::SourceId source) {
  if (most_bytes == 0 || file.bytes <= most_bytes || !reader.takes_samples())
    return reader.read(whole, build, source);
  const std::unique_ptr<log_survey::SampledLog> sampled =
      log_survey::SampledLog::open(file.path, most_bytes);
  if (sampled == nullptr) return reader.read(whole, build, source);
  reader.read(*sampled, build, source);
  note(build, source, "sampled",
       sampled->left_serious() ? core::Severity::warning : core::Severity::note,
       sampled->account());
}

void read_known(const Artifact& input, record::RunBuilder& build, const Progress& progress) {
  const FoundFile& file = input.file;
  const record::SourceId source = build.open(file.path, "unknown", file.bytes);
  if (!input.trouble.empty())
    return note(build, source, "unreadable", core::Severity::warning, input.trouble);
  if (file.use == FileUse::checkpoint) {
    build.source(source).kind = "checkpoint";
    return;
  }
  if (file.use == FileUse::leave && !input.named) return;
  auto bytes = input::open_bytes(file.path);
  if (!bytes) return note(build, source, "unreadable", core::Severity::warning, bytes.error().text);
  HeadStream stream(*std::move(bytes), progress);
  if (stream.head().empty()) {
    const bool torn = !stream.broken().empty();
    return note(build, source, torn ? "unreadable" : "empty",
                torn ? core::Severity::warning : core::Severity::note,
                torn ? stream.broken() : fmt::format("[file] {} is empty", file.path));
  }
  const sources::Sniff artifact{file.path, stream.head(), file.bytes};
  if (const FileKind kind = kind_of(artifact); kind != FileKind::evidence)
    return note(build, source, "no-evidence", core::Severity::note,
                std::string(why_left_out(kind)));
  const sources::Reader* reader = surest_reader(artifact);
  if (reader == nullptr) {
    if (input.named) {
      note(build, source, "unknown-format", core::Severity::warning,
           fmt::format(
               "[file] {} is of no kind that aplomb reads; `aplomb list` names those it does",
               file.path));
    }
    return;
  }
  build.source(source).kind = reader->spec().slug;
  build.speak_for_rank(source, input.place.rank);
  read_by(*reader, stream, file, progress.options.most_log_bytes, build, source);
}

/// What asks for more memory than there is is left out and named; the other files are still read.
void read_file(const Artifact& input, record::Run& run, const Progress& progress) {
  const std::string name = run.name;
  try {
    record::RunBuilder build(run);
    return read_known(input, build, progress);
  } catch (const std::bad_alloc&) {
    run = {};
  }
  run.name = name;
  record::RunBuilder build(run);
  note(build, build.open(input.file.path, "unknown", input.file.bytes), "unreadable",
       core::Severity::warning,
       fmt::format("[file] {} was left out: {}", input.file.path, core::why_left_out()));
}

Artifact input_of(const FoundFile& file, std::string_view root, bool named) {
  return {file, place_of(file.path, root), {}, named};
}

/// The files that the user's paths stand for.
std::vector<Artifact> expand(const std::vector<std::string>& paths, const CollectOptions& options) {
  std::vector<Artifact> inputs;
  for (const std::string& given : paths) {
    std::string path = given;
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    struct stat about{};
    if (::stat(path.c_str(), &about) != 0) {
      Artifact missing = input_of({path, 0, FileUse::read}, {}, true);
      missing.trouble = fmt::format("[file] cannot open {}: {}", path, std::strerror(errno));
      inputs.push_back(std::move(missing));
      continue;
    }
    if (!S_ISDIR(about.st_mode)) {
      const auto bytes =
          static_cast<std::uint64_t>(std::max<decltype(about.st_size)>(about.st_size, 0));
      inputs.push_back(input_of({path, bytes, use_of(path)}, {}, true));
      continue;
    }
    const Search search = search_folder(path, options.most_files, options.follow_links);
    for (const FoundFile& file : search.files) inputs.push_back(input_of(file, path, false));
    for (const Search::Trouble& trouble : search.troubles) {
      Artifact closed = input_of({trouble.path, 0, FileUse::read}, path, false);
      closed.trouble = trouble.text;
      inputs.push_back(std::move(closed));
    }
    if (search.links_out > 0) {
      Artifact link = input_of({search.first_link, 0, FileUse::read}, path, false);
      link.trouble = fmt::format(
          "[search] {} links that lead out of {} were not followed, the first: {}; name what they "
          "lead to, or say --follow",
          search.links_out, path, search.first_link);
      inputs.push_back(std::move(link));
    }
    if (search.left_out > 0 || search.files.empty()) {
      Artifact said = input_of({path, 0, FileUse::read}, path, false);
      said.place.run_folder = path;
      said.trouble =
          search.files.empty()
              ? fmt::format("[search] no files below {}", path)
              : fmt::format(
                    "[search] {} further files below {} were left out; name the run's own folder",
                    search.left_out, path);
      inputs.push_back(std::move(said));
    }
  }
  for (Artifact& input : inputs) {
    const std::string& file = input.file.path;
    if (options.leaves_out && options.leaves_out(file.substr(file.find_last_of('/') + 1))) {
      input.file.use = FileUse::leave;
      input.named = false;
    }
  }
  return inputs;
}

/// Of the trainer states of one run only the newest checkpoint's and the output folder's own are
/// read: each holds the history from the start.
void drop_older_states(std::vector<Artifact>& inputs, const std::vector<RunFiles>& runs) {
  for (const RunFiles& run : runs) {
    std::map<std::int64_t, std::size_t> states;
    for (const std::size_t i : run.files) {
      const std::string& path = inputs[i].file.path;
      const bool state =
          path.size() > 19 && path.compare(path.size() - 18, 18, "trainer_state.json") == 0;
      if (state && inputs[i].place.checkpoint && !inputs[i].named)
        states[*inputs[i].place.checkpoint] = i;
    }
    if (!states.empty()) states.erase(std::prev(states.end()));
    for (const auto& [step, i] : states) inputs[i].file.use = FileUse::leave;
  }
}

}  // namespace

const sources::Reader* surest_reader(const sources::Sniff& artifact) {
  const sources::Reader* best = nullptr;
  double most = 0;
  for (const auto& reader : sources::readers()) {
    const double sure = reader->sniff(artifact);
    if (sure > most) {
      most = sure;
      best = reader.get();
    }
  }
  return best;
}

std::vector<RunArtifacts> find_artifacts(const std::vector<std::string>& paths,
                                         const CollectOptions& options) {
  std::vector<Artifact> inputs = expand(paths, options);
  std::vector<std::string> names;
  std::vector<Place> places;
  for (const Artifact& input : inputs) {
    names.push_back(input.file.path);
    places.push_back(input.place);
  }
  const std::vector<RunFiles> grouped = group_into_runs(names, places);
  drop_older_states(inputs, grouped);
  std::vector<RunArtifacts> runs;
  for (const RunFiles& files : grouped) {
    runs.push_back({files.name, {}});
    for (const std::size_t i : files.files) runs.back().files.push_back(std::move(inputs[i]));
  }
  return runs;
}

Fragment read_artifact(const Artifact& artifact, const std::string& folder) {
  const CollectOptions silent;
  Fragment fragment;
  fragment.folder = folder;
  fragment.run.name = folder;
  read_file(artifact, fragment.run, Progress{silent});
  return fragment;
}

std::vector<record::Run> runs_of(std::vector<Fragment> fragments) {
  std::vector<record::Run> runs = assemble(std::move(fragments));
  for (record::Run& run : runs) config_text::add_derived_settings(run);
  return runs;
}

std::vector<record::Run> collect(const std::vector<std::string>& paths,
                                 const CollectOptions& options) {
  const std::vector<RunArtifacts> found = find_artifacts(paths, options);
  Progress progress{options};
  for (const RunArtifacts& run : found) {
    for (const Artifact& each : run.files) {
      if (each.file.use == FileUse::read) progress.all_bytes += each.file.bytes;
    }
  }
  std::vector<Fragment> fragments;
  for (const RunArtifacts& run : found) {
    for (const Artifact& each : run.files) {
      Fragment fragment;
      fragment.folder = run.name;
      fragment.run.name = run.name;
      read_file(each, fragment.run, progress);
      fragments.push_back(std::move(fragment));
      if (each.file.use == FileUse::read) progress.before += each.file.bytes;
      progress.tell(0);
    }
  }
  return runs_of(std::move(fragments));
}

}  // namespace aplomb::discovery
