#pragma once
/// Tail: one file of a run, read while it grows.
///
/// Files that only grow at their end (logs, lines of JSON, CSV, TensorBoard and W&B files) go
/// through their reader once, in a thread that waits at the end for more: nothing is read twice.
/// Files that are rewritten (trainer_state.json, a step record, JSON documents) are read anew when
/// they have changed, at most so often that it takes one part in k_rest of the time. So are files of records
/// that are young: their reader holds the first ones back until it knows how they are counted.
///
/// What has been read stays when the file is renamed (rotated), cut or written over; `look()` says
/// so, and whoever follows begins a further Tail for what stands there now. Nothing is written to
/// the file and no lock is taken on it.

#include <sys/stat.h>
#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "discovery/collect.h"
#include "record/run_builder.h"

namespace aplomb::live {

struct LogLine {
  std::uint64_t number = 0;
  std::string text;  ///< sanitized, shortened
};

/// The last lines of a log, as its bytes come.
class LastLines {
 public:
  static constexpr std::size_t k_most = 200;
  void take(std::string_view bytes);
  void clear();
  /// Those behind the `after`th; sanitized and shortened.
  std::vector<LogLine> after(std::uint64_t number) const;

 private:
  std::deque<LogLine> lines_;
  std::string open_;
  std::uint64_t count_ = 0;
};

class Tail {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int k_rest = 100;

  /// `wake` is called from the reading thread when something new was read.
  Tail(discovery::Artifact artifact, std::string folder, std::function<void()> wake);
  ~Tail();
  Tail(const Tail&) = delete;
  Tail& operator=(const Tail&) = delete;

  enum class Look {
    same,
    grown,     ///< there is more, or something else to be read; it is being read
    replaced,  ///< another file stands at the path, or this one was cut or written over: this Tail is
               ///< at its end
    gone,      ///< nothing stands at the path any more; likewise
  };
  /// To be called now and then. Cheap where nothing has changed: one stat, and one of the open file.
  /// `keep`: a reader at the end of its file waits for more; else it is told that it has all.
  Look look(bool keep);

  /// Whether it has read all that was there at the last look.
  bool caught_up() const;
  /// What was read is new since the last call.
  bool take_changed();
  /// The file as it stood when last looked at.
  std::chrono::system_clock::time_point modified() const { return seen_.modified; }
  const std::string& path() const { return artifact_.file.path; }
  const discovery::Artifact& artifact() const { return artifact_; }
  const std::string& folder() const { return folder_; }
  bool is_file(dev_t device, ino_t inode) const {
    return device == seen_.device && inode == seen_.inode;
  }
  /// It is at its end: the file was replaced or is gone.
  bool ended() const { return ended_; }
  /// The file stands elsewhere now (rotated): evidence is looked up there. Empty: nowhere.
  void moved_to(const std::string& path);

  /// With what has been read so far; `use` must not keep references.
  template <class Use>
  void with_run(Use use) const {
    const std::lock_guard lock(mutex_);
    use(shown().run, generation_);
  }
  /// `generation` (if asked for) rises when the file is read anew from its beginning.
  discovery::Fragment copy(std::uint64_t* generation = nullptr) const {
    const std::lock_guard lock(mutex_);
    if (generation != nullptr) *generation = generation_;
    return shown();
  }
  /// Of text logs: the last lines, and those that came since `after`.
  bool is_text() const { return text_; }
  std::vector<LogLine> lines_after(std::uint64_t after) const;
  /// Ends what has been begun; copy() and the rest stay as they are.
  void stop();

  /// Whether a file that such a reader reads, with this beginning, only grows at its end.
  static bool grows(const std::string& slug, std::string_view head);

 private:
  class Stream;
  /// The file as it stood when last looked at.
  struct Seen {
    dev_t device = 0;
    ino_t inode = 0;
    std::uint64_t bytes = 0;
    std::chrono::system_clock::time_point modified{};
    timespec stamp{};
  };
  /// What the two threads tell each other.
  struct Flags {
    bool keep = true;
    bool stopping = false;
    bool caught_up = false;
    bool done = false;  ///< the reading thread has read to the end and is no more
    bool changed = false;
  };
  /// Read anew from its beginning: what it was until that is done.
  const discovery::Fragment& shown() const {
    return before_.run.sources.empty() ? fragment_ : before_;
  }
  bool open_file();
  bool choose(std::uint64_t size);
  bool holds_back(const std::string& slug, std::uint64_t size) const;
  Look look_at_young(const struct stat& there, bool keep);
  Look look_at_whole(const struct stat& there, bool keep);
  Look look_at_growing(const struct stat& there, bool keep);
  Look end(Look why);
  void note_look(const struct stat& there);
  bool moved(const struct stat& there) const;
  void begin();
  void work();
  void read_whole();
  bool was_rewritten() const;
  void note_bytes(std::string_view bytes);

  discovery::Artifact artifact_;
  std::string folder_;
  std::function<void()> wake_hub_;

  // Of the following thread alone.
  int file_ = -1;
  Seen seen_;
  bool ended_ = false;
  bool streams_ = false;
  bool young_ = false;  ///< it grows, and its reader holds its records back
  bool text_ = false;
  std::string slug_;
  Clock::time_point next_read_{};

  mutable std::mutex mutex_;  ///< held by the reading thread except while it waits or reads bytes
  std::condition_variable more_;
  discovery::Fragment fragment_;
  discovery::Fragment before_;  ///< as it was, while it is read anew
  std::unique_ptr<record::RunBuilder> build_;
  const sources::Reader* reader_ = nullptr;
  std::uint64_t size_ = 0;      ///< bytes that may be read
  std::uint64_t consumed_ = 0;  ///< bytes that were
  std::string last_bytes_;      ///< the end of what was read, to see whether it still stands there
  std::uint64_t generation_ = 0;
  Flags flags_;
  LastLines lines_;
  std::thread thread_;
};

}  // namespace aplomb::live
