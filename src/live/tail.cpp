#include "live/tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <exception>
#include <utility>

#include "core/text.h"
#include "discovery/file_kind.h"
#include "sources/reader.h"
#include "sources/record_sink.h"

namespace aplomb::live {
namespace {

constexpr std::size_t k_part = std::size_t{256} << 10U;
constexpr std::size_t k_fingerprint = 64;
constexpr std::size_t k_longest_line = 400;  // as of an Event
/// Below so many bytes the choice of a reader is looked at again as the file grows.
constexpr std::uint64_t k_sure_bytes = 16U << 10U;
/// A file that is larger is not young: it costs too much to be read anew.
constexpr std::uint64_t k_young_bytes = 1U << 20U;

std::chrono::system_clock::time_point time_of(const timespec& stamp) {
  return std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(
          std::chrono::seconds(stamp.tv_sec) + std::chrono::nanoseconds(stamp.tv_nsec)));
}

std::string read_at(int file, std::uint64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  ssize_t got = 0;
  do {
    got = ::pread(file, bytes.data(), size, static_cast<off_t>(offset));
  } while (got < 0 && errno == EINTR);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return bytes;
}

}  // namespace

/// What the reader reads from: at the end of what is there it waits for more.
class Tail::Stream final : public input::ByteStream {
 public:
  Stream(Tail& tail, std::unique_lock<std::mutex>& lock) : tail_(tail), lock_(lock) {}

  std::string_view next() override {
    while (true) {
      if (tail_.flags_.stopping) return {};
      if (tail_.consumed_ < tail_.size_) {
        const int file = tail_.file_;
        const std::uint64_t at = tail_.consumed_;
        const auto most = std::min<std::uint64_t>(k_part, tail_.size_ - at);
        lock_.unlock();
        part_ = read_at(file, at, static_cast<std::size_t>(most));
        lock_.lock();
        if (part_.empty()) {  // it was cut meanwhile, or the disk fails: what was read stays
          tail_.size_ = tail_.consumed_;
          continue;
        }
        tail_.consumed_ += part_.size();
        tail_.note_bytes(part_);
        tail_.flags_.changed = true;
        return part_;
      }
      tail_.flags_.caught_up = true;
      tail_.before_ = {};
      if (tail_.flags_.changed) {
        lock_.unlock();
        tail_.wake_hub_();
        lock_.lock();
        // More may have come meanwhile, and that it is the last: it is read first.
        if (tail_.consumed_ < tail_.size_) continue;
      }
      if (!tail_.flags_.keep) return {};
      tail_.more_.wait(lock_, [this] {
        return tail_.flags_.stopping || !tail_.flags_.keep || tail_.consumed_ < tail_.size_;
      });
    }
  }
  const std::string& broken() const override { return broken_; }
  std::uint64_t consumed() const override { return tail_.consumed_; }

 private:
  Tail& tail_;
  std::unique_lock<std::mutex>& lock_;
  std::string part_;
  std::string broken_;
};

bool Tail::grows(const std::string& slug, std::string_view head) {
  static constexpr std::array<std::string_view, 4> k_slugs = {"text-log", "csv-metrics",
                                                              "tensorboard", "wandb"};
  if (std::find(k_slugs.begin(), k_slugs.end(), slug) != k_slugs.end()) return true;
  if (slug != "json-metrics") return false;
  // Lines, each an object, and not one document over several lines.
  head = core::trim(head);
  const std::size_t end = head.find('\n');
  if (end == std::string_view::npos) return false;
  return head.front() == '{' && core::trim(head.substr(0, end)).ends_with('}');
}

Tail::Tail(discovery::Artifact artifact, std::string folder, std::function<void()> wake)
    : artifact_(std::move(artifact)), folder_(std::move(folder)), wake_hub_(std::move(wake)) {
  fragment_.folder = folder_;
  fragment_.run.name = folder_;
}

Tail::~Tail() { stop(); }

void Tail::stop() {
  {
    const std::lock_guard lock(mutex_);
    flags_.stopping = true;
    more_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  if (file_ >= 0) ::close(std::exchange(file_, -1));
}

bool Tail::open_file() {
  if (file_ >= 0) return true;
  // O_NONBLOCK: a pipe of that name must not hold us.
  file_ = ::open(artifact_.file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  return file_ >= 0;
}

/// Chooses the reader by the beginning as it stands; whether that is another choice than before.
bool Tail::choose(std::uint64_t size) {
  const std::string head = read_at(file_, 0, sources::Sniff::k_head_bytes);
  const std::string& path = artifact_.file.path;
  const sources::Sniff sniff{path, head, size};
  const bool evidence = artifact_.file.use == discovery::FileUse::read || artifact_.named;
  const bool packed = path.ends_with(".gz") || path.ends_with(".zst");
  const sources::Reader* reader = nullptr;
  if (evidence && !packed && discovery::kind_of(sniff) == discovery::FileKind::evidence)
    reader = discovery::surest_reader(sniff);
  std::string slug = reader == nullptr ? "none" : reader->spec().slug;
  const bool grown = reader != nullptr && grows(slug, head);
  young_ = grown && holds_back(slug, size);
  const bool streams = grown && !young_;
  if (slug == slug_ && streams == streams_) return false;
  slug_ = std::move(slug);
  streams_ = streams;
  text_ = slug_ == "text-log";
  reader_ = reader;
  return true;
}

/// Whether its reader, begun on this file as it stands, would tell nothing of it yet.
bool Tail::holds_back(const std::string& slug, std::uint64_t size) const {
  static constexpr std::array<std::string_view, 3> k_slugs = {"csv-metrics", "json-metrics",
                                                              "wandb"};
  const bool of_records = std::find(k_slugs.begin(), k_slugs.end(), slug) != k_slugs.end();
  if (streams_ || !of_records || size >= k_young_bytes) return false;
  const std::lock_guard lock(mutex_);
  const auto& all = fragment_.run.series;
  return std::none_of(all.begin(), all.end(), [](const record::Series& each) {
    return each.count >= sources::RecordSink::k_trial_records;
  });
}

void Tail::begin() {
  {
    const std::lock_guard lock(mutex_);
    flags_.stopping = true;
    more_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  {
    const std::lock_guard lock(mutex_);
    flags_.stopping = flags_.done = flags_.caught_up = false;
    consumed_ = 0;
    lines_.clear();
    last_bytes_.clear();
    ++generation_;
    if (before_.run.sources.empty()) before_ = fragment_;
    fragment_.run = {};
    fragment_.run.name = folder_;
    build_ = streams_ ? std::make_unique<record::RunBuilder>(fragment_.run) : nullptr;
  }
  next_read_ = {};
  if (streams_) thread_ = std::thread([this] { work(); });
}

void Tail::work() {
  std::unique_lock lock(mutex_);
  const record::SourceId source = build_->open(artifact_.file.path, slug_, seen_.bytes);
  build_->speak_for_rank(source, artifact_.place.rank);
  Stream stream(*this, lock);
  try {
    reader_->read(stream, *build_, source);
  } catch (const std::exception& fault) {
    build_->defect({source, consumed_, "unreadable", core::Severity::warning,
                    std::string("[live] a fault of the reader: ") + fault.what()});
  }
  flags_.caught_up = flags_.done = flags_.changed = true;
  before_ = {};
  lock.unlock();
  wake_hub_();
}

/// For files that are written anew: as `diagnose` reads them.
void Tail::read_whole() {
  const auto begin = Clock::now();
  discovery::Fragment read = discovery::read_artifact(artifact_, folder_);
  // A few lines are read in no time: a table that was its header alone shows its first row at once.
  const bool small = young_ || seen_.bytes < k_sure_bytes;
  next_read_ = Clock::now() + std::max<Clock::duration>(std::chrono::milliseconds(small ? 50 : 500),
                                                        k_rest * (Clock::now() - begin));
  const std::lock_guard lock(mutex_);
  fragment_ = std::move(read);
  if (young_) {
    consumed_ = seen_.bytes;
    const auto known = std::min<std::uint64_t>(consumed_, k_fingerprint);
    last_bytes_ = read_at(file_, consumed_ - known, static_cast<std::size_t>(known));
  }
  flags_.caught_up = true;
  flags_.changed = true;
}

bool Tail::was_rewritten() const {
  std::uint64_t end = 0;
  std::string known;
  {
    const std::lock_guard lock(mutex_);
    end = consumed_;
    known = last_bytes_;
  }
  return !known.empty() && read_at(file_, end - known.size(), known.size()) != known;
}

Tail::Look Tail::look(bool keep) {
  if (ended_) return Look::same;
  struct stat there{};
  if (::stat(artifact_.file.path.c_str(), &there) != 0) return end(Look::gone);
  if (!S_ISREG(there.st_mode)) {
    const std::lock_guard lock(mutex_);
    flags_.caught_up = true;
    return Look::same;
  }
  if (streams_) return look_at_growing(there, keep);
  return young_ ? look_at_young(there, keep) : look_at_whole(there, keep);
}

Tail::Look Tail::end(Look why) {
  ended_ = true;
  const std::lock_guard lock(mutex_);
  flags_.keep = false;
  if (!thread_.joinable()) flags_.caught_up = true;
  more_.notify_all();
  return why;
}

void Tail::note_look(const struct stat& there) {
  seen_.bytes = static_cast<std::uint64_t>(std::max<off_t>(there.st_size, 0));
  seen_.stamp = there.st_mtim;
  seen_.modified = time_of(there.st_mtim);
}

bool Tail::moved(const struct stat& there) const {
  return static_cast<std::uint64_t>(there.st_size) != seen_.bytes ||
         there.st_mtim.tv_sec != seen_.stamp.tv_sec || there.st_mtim.tv_nsec != seen_.stamp.tv_nsec;
}

/// It grows at its end as a streamed file does, and is read anew as it does.
Tail::Look Tail::look_at_young(const struct stat& there, bool keep) {
  if (!is_file(there.st_dev, there.st_ino)) {  // rotated: its last rows are read from the open file
    streams_ = true;
    young_ = false;
    begin();
    return look_at_growing(there, keep);
  }
  if (!moved(there)) return Look::same;
  const auto size = static_cast<std::uint64_t>(there.st_size);
  if (size < seen_.bytes || was_rewritten()) return end(Look::replaced);
  if (Clock::now() < next_read_) {  // looked at again
    const std::lock_guard lock(mutex_);
    flags_.caught_up = false;
    return Look::same;
  }
  choose(size);
  if (streams_) {
    begin();
    return look_at_growing(there, keep);
  }
  if (!young_) return look_at_whole(there, keep);
  note_look(there);
  read_whole();
  return Look::grown;
}

Tail::Look Tail::look_at_whole(const struct stat& there, bool keep) {
  const bool other = !is_file(there.st_dev, there.st_ino);  // renamed over it: the usual way
  // A ring that is written through a mapping changes without a new time of modification.
  const bool ring = slug_ == "step-record" && keep;
  if (!other && !moved(there) && !ring) return Look::same;
  if (slug_.empty() || seen_.bytes < k_sure_bytes) {
    if (other && file_ >= 0) ::close(std::exchange(file_, -1));
    if (open_file()) {
      choose(static_cast<std::uint64_t>(there.st_size));
      if (streams_) {
        seen_.device = there.st_dev;
        seen_.inode = there.st_ino;
        begin();
        return look_at_growing(there, keep);
      }
    }
  }
  if (file_ >= 0 && !young_) ::close(std::exchange(file_, -1));
  if (Clock::now() < next_read_) return Look::same;  // looked at again
  seen_.device = there.st_dev;
  seen_.inode = there.st_ino;
  note_look(there);
  read_whole();
  return Look::grown;
}

Tail::Look Tail::look_at_growing(const struct stat& there, bool keep) {
  const bool swapped = !is_file(there.st_dev, there.st_ino);
  struct stat now = there;
  if (swapped && ::fstat(file_, &now) != 0) return end(Look::replaced);
  const bool grown = moved(now);
  const auto size = static_cast<std::uint64_t>(now.st_size);
  if (size < seen_.bytes || (grown && was_rewritten())) return end(Look::replaced);
  if (grown && !swapped && seen_.bytes < k_sure_bytes) {
    // A reader that was begun on a few lines knew less of the log's form than one begun on many.
    if (choose(size) || size >= k_sure_bytes) begin();
    if (!streams_) return look_at_whole(there, keep);
  }
  note_look(now);
  bool again = false;
  {
    const std::lock_guard lock(mutex_);
    if (size > size_) {
      size_ = size;
      flags_.caught_up = false;
    }
    flags_.keep = keep && !swapped;
    again = flags_.done && consumed_ < size_;
    more_.notify_all();
  }
  if (again && !swapped) begin();
  if (swapped) return end(Look::replaced);
  return grown ? Look::grown : Look::same;
}

bool Tail::caught_up() const {
  const std::lock_guard lock(mutex_);
  return flags_.caught_up;
}

bool Tail::take_changed() {
  const std::lock_guard lock(mutex_);
  return std::exchange(flags_.changed, false);
}

void Tail::moved_to(const std::string& path) {
  const std::lock_guard lock(mutex_);
  for (discovery::Fragment* each : {&fragment_, &before_}) {
    for (record::Source& source : each->run.sources)
      source.path = path.empty() ? source.path + " (as it was before it was replaced)" : path;
  }
}

void Tail::note_bytes(std::string_view bytes) {
  if (bytes.size() >= k_fingerprint) {
    last_bytes_ = bytes.substr(bytes.size() - k_fingerprint);
  } else {
    last_bytes_ += bytes;
    if (last_bytes_.size() > k_fingerprint)
      last_bytes_.erase(0, last_bytes_.size() - k_fingerprint);
  }
  if (text_) lines_.take(bytes);
}

std::vector<LogLine> Tail::lines_after(std::uint64_t after) const {
  const std::lock_guard lock(mutex_);
  return lines_.after(after);
}

void LastLines::clear() {
  lines_.clear();
  open_.clear();
  count_ = 0;
}

void LastLines::take(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (open_.size() < 16 * k_longest_line)
      open_ += piece.substr(0, 16 * k_longest_line - open_.size());
    if (end == std::string_view::npos) return;
    ++count_;
    // Of a progress bar the last state.
    std::string_view line = open_;
    while (line.ends_with('\r')) line.remove_suffix(1);
    line = line.substr(line.rfind('\r') + 1);
    lines_.push_back({count_, std::string(line)});
    if (lines_.size() > k_most) lines_.pop_front();
    open_.clear();
    bytes.remove_prefix(end + 1);
  }
}

std::vector<LogLine> LastLines::after(std::uint64_t number) const {
  std::vector<LogLine> lines;
  for (const LogLine& each : lines_) {
    if (each.number > number)
      lines.push_back({each.number, core::shorten(core::sanitize(each.text), k_longest_line)});
  }
  return lines;
}

}  // namespace aplomb::live
