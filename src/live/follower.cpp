#include "live/follower.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <ctime>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>

#include "api/flow.h"
#include "core/median.h"
#include "core/text.h"
#include "live/page_json.h"
#include "live/tail.h"
#include "report/view.h"
#include "watch/run_note.h"

namespace aplomb::live {
namespace {

using Clock = std::chrono::steady_clock;
using Wall = std::chrono::system_clock;

constexpr std::size_t k_ring = 64;          // records that rate and median are of
constexpr std::size_t k_least_records = 5;  // as of watch::LiveRun
constexpr std::size_t k_most_points = 500;  // of a series in one event; denser ones are thinned
constexpr std::size_t k_most_since = 1U << 17U;
constexpr std::size_t k_most_ended = 16;  // files that were replaced, of one path
constexpr std::chrono::milliseconds k_between_judgings{1000};
constexpr std::chrono::milliseconds k_between_summaries{500};
constexpr std::chrono::milliseconds k_between_states{1000};
/// The first verdict waits so long for all files to be read, and no longer.
constexpr std::chrono::seconds k_first_patience{3};
/// A program that has printed a traceback and then nothing for so long has ended with it.
constexpr double k_dead_after_s = 10;

double seconds(Wall::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

/// Processor time of the calling thread.
Clock::duration spent() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

std::uint64_t hash_of(std::string_view text, std::uint64_t hash = 0xcbf29ce484222325U) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

/// The last two parts of a path: what people call a run.
std::string short_name(const std::string& path) {
  std::size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return path;
  slash = path.rfind('/', slash - 1);
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

/// By which a series of a file is found again in the run that was put together.
std::string key_of(const std::string& path, const record::Series& series) {
  return path + '\x1f' + series.name + '\x1f' + series.raw_name + '\x1f' +
         std::to_string(series.rank);
}

/// How much of a run is judged.
enum class Stage : std::uint8_t {
  being_read,  ///< what was there at the start has not been read to its end
  so_far,      ///< it goes on
  whole,
};

/// What changed would change the verdict, too.
std::uint64_t fingerprint(const record::Run& run, Stage stage) {
  std::uint64_t print = hash_of("run");
  const auto add = [&](std::uint64_t number) {
    print = (print ^ number) * 0x100000001b3U;
    print ^= print >> 29U;
  };
  add(static_cast<std::uint64_t>(stage));
  for (const record::Source& each : run.sources) {
    print = hash_of(each.path, print);
    add(each.kind == "step-record" || each.kind == "python-config" ? each.bytes : 0);
  }
  for (const record::Series& each : run.series) add(each.count);
  for (const std::size_t each : {run.series.size(), run.settings.size(), run.events.size(),
                                 run.facts.size(), run.defects.size()}) {
    add(each);
  }
  return print;
}

/// The folder of a run that `aplomb run` has started, and its note.
struct Noted {
  std::string folder;
  watch::RunNote note;
};

std::optional<Noted> note_of(const record::Run& run) {
  for (const record::Source& each : run.sources) {
    if (!each.path.ends_with("output.log")) continue;
    std::string folder = folder_of(each.path);
    if (const auto note = watch::read_note(folder)) return Noted{std::move(folder), *note};
  }
  return std::nullopt;
}

/// One run as it was judged; never changed afterwards.
struct Judged {
  std::string id;
  std::shared_ptr<const record::Run> run;
  std::vector<std::string> names;  ///< page_names()
  std::shared_ptr<const Json> report;
  Json marks;
  std::string standing, cause, claim, headline, fix;
  std::set<std::pair<std::string, std::uint64_t>> evidence;  ///< path and line
  std::uint64_t print = 0;
  bool so_far = true;
  bool broke = false;  ///< it holds an error that ends programs
};

std::string text_of(const Report& report, const char* key) {
  const auto found = report.summary.find(key);
  const auto* text =
      found == report.summary.end() ? nullptr : std::get_if<std::string>(&found->second);
  return text == nullptr ? std::string() : *text;
}

void note_evidence(Judged& judged, const std::vector<Evidence>& evidence) {
  for (const Evidence& each : evidence) {
    if (each.line > 0) judged.evidence.emplace(each.path, each.line);
  }
}

std::shared_ptr<const Judged> judge(record::Run run, std::string id, std::uint64_t print,
                                    Stage stage, const FollowOptions& options,
                                    api::AuditMemory& audits) {
  auto judged = std::make_shared<Judged>();
  judged->id = std::move(id);
  judged->print = print;
  judged->so_far = stage != Stage::whole;
  DiagnoseOptions how;
  how.python = options.python;
  std::vector<record::Run> one;
  one.push_back(std::move(run));
  std::vector<report::DiagnosedRun> diagnosed =
      api::judge_runs(std::move(one), options.paths, how,
                      {.so_far = judged->so_far, .opens_checkpoints = false, .audits = &audits});
  Report report = api::report_of(diagnosed, how);
  judged->standing = name(report.verdict);
  // Of a long log that little is said yet is not for want of it.
  if (stage == Stage::being_read && judged->standing == "insufficient-evidence") {
    report.summary = {
        {"headline", "Its files are being read: there is more of them than was judged"}};
    report.experiments.clear();
  }
  judged->headline = text_of(report, "headline");
  judged->fix = text_of(report, "first_action");
  judged->claim = report::claim(report);
  judged->cause = report.causes.empty() ? std::string() : report.causes.front().id;
  for (const ReportSymptom& each : report.symptoms) note_evidence(*judged, each.evidence);
  for (const ReportCause& each : report.causes) note_evidence(*judged, each.evidence);
  judged->report = std::make_shared<const Json>(report_of_page(report));
  judged->run = std::make_shared<const record::Run>(std::move(diagnosed.front().run));
  judged->names = page_names(*judged->run);
  judged->marks = marks_of(*judged->run, report, judged->names);
  judged->broke = std::any_of(
      judged->run->events.begin(), judged->run->events.end(),
      [](const record::Event& each) { return each.severity == core::Severity::failed; });
  return judged;
}

/// A run as the page knows it.
struct Known {
  std::shared_ptr<const Judged> judged;
  std::uint64_t revision = 0;
  std::map<std::string, std::vector<Later>> since;  ///< by page name: what came since it was judged
  std::map<std::string, double> seen_at;            ///< by page name: when its last sample came
  std::map<std::string, double> written;            ///< by path: when it last was
  std::optional<double> born;                       ///< its oldest file
  std::string lead;                                 ///< page name
  std::optional<std::int64_t> step;
  std::optional<double> last_step_at;
  std::deque<std::pair<double, std::int64_t>> records;  ///< seen while following
  std::optional<Noted> noted;
  std::string state = "unknown";
  Wall::time_point grown{};  ///< its newest file
  bool grew = false;         ///< while we looked
  struct Line {
    std::string path;
    LogLine line;
    bool evidence = false;
  };
  std::deque<Line> lines;
  std::string told;  ///< the summary that was last sent
  Clock::time_point next_summary{};

  double median_interval() const {
    if (records.size() < k_least_records) return 0;
    std::vector<double> between;
    for (std::size_t i = 1; i < records.size(); ++i)
      between.push_back(records[i].first - records[i - 1].first);
    return core::upper_median(between);
  }
  std::optional<double> rate() const {
    if (state != "running" || records.size() < 2) return std::nullopt;
    const double taken = records.back().first - records.front().first;
    const auto steps = static_cast<double>(records.back().second - records.front().second);
    if (taken <= 0 || steps <= 0) return std::nullopt;
    return steps / taken;
  }
};

/// Where the samples of a file's series go.
struct Binding {
  std::string run;
  std::string name;
};

/// How far the samples of a series were told.
struct Told {
  std::uint64_t pending = 0;  ///< samples that are being judged
  std::uint64_t copied = 0;   ///< that have been judged
  std::uint64_t emitted = 0;  ///< that the viewers were told of
  std::optional<Binding> bound;
};

/// A file and how far its samples and lines were told.
struct Followed {
  std::unique_ptr<Tail> tail;
  Clock::time_point next_look{};
  Clock::time_point last_change{};
  /// By key_of(): what was told stays told when the file is read anew from its beginning.
  std::map<std::string, Told> series;
  std::uint64_t last_line = 0;
  std::string run;  ///< id; empty before it was judged
};

/// Of many points those that draw the same: least, greatest and what is not finite of each part.
std::vector<Later> thinned(const std::vector<Later>& points) {
  if (points.size() <= k_most_points) return points;
  std::vector<Later> out;
  const std::size_t parts = k_most_points / 2;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = points.size() * part / parts;
    const std::size_t end = points.size() * (part + 1) / parts;
    std::set<std::size_t> kept;
    std::optional<std::size_t> least;
    std::optional<std::size_t> most;
    for (std::size_t i = begin; i < end; ++i) {
      if (!std::isfinite(points[i].value)) {
        if (kept.empty()) kept.insert(i);
        continue;
      }
      if (!least || points[i].value < points[*least].value) least = i;
      if (!most || points[i].value > points[*most].value) most = i;
    }
    if (least) kept.insert(*least);
    if (most) kept.insert(*most);
    for (const std::size_t i : kept) out.push_back(points[i]);
  }
  return out;
}

/// The samples of a series from its `from`th to its `to`th; of those that were thinned away nothing.
std::vector<Later> samples(const record::Series& series, std::uint64_t from, std::uint64_t to) {
  std::vector<Later> out;
  const std::uint64_t each = std::max<std::uint64_t>(series.thinned, 1);
  const std::uint64_t behind = (series.count - std::min(to, series.count)) / each;
  const std::uint64_t wanted = to > from ? (to - from + each - 1) / each : 0;
  if (behind >= series.size()) return out;
  const std::size_t end = series.size() - static_cast<std::size_t>(behind);
  const std::size_t begin = end - static_cast<std::size_t>(std::min<std::uint64_t>(wanted, end));
  for (std::size_t i = begin; i < end; ++i) out.push_back({series.step[i], series.value[i]});
  return out;
}

Json points_json(const std::vector<Later>& points) {
  Json out = Json::array();
  for (const Later& each : points) out.push_back(Json::array({each.step, wire(each.value)}));
  return out;
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

class Follower::Work {
 public:
  Work(FollowOptions options, EventLog& events)
      : options_(std::move(options)), events_(events), began_(Clock::now()) {}
  ~Work() { stop(); }

  void start() {
    thread_ = std::thread([this] { follow(); });
  }

  void stop() {
    {
      const std::lock_guard lock(wait_mutex_);
      stopping_ = true;
      wake_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
    if (judging_.valid()) judging_.wait();
    for (auto& each : followed_) each->tail->stop();
  }

  void settle() {
    search();
    for (int i = 0; i < 6000; ++i) {
      look_at_all(true);
      if (all_caught_up()) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    tell_growth();
    begin_judging();
    judging_.wait();
    take_judgement();
    update_states(true);
  }

  std::string summaries_text() const {
    const std::lock_guard lock(mutex_);
    Json runs = Json::array();
    for (const auto& [id, each] : known_) runs.push_back(summary(each));
    return line_of(std::move(runs));
  }

  std::optional<std::string> run_text(const std::string& id) const {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(id);
    if (found == known_.end()) return std::nullopt;
    const Known& known = found->second;
    Json detail = summary(known);
    detail["revision"] = known.revision;
    detail["claim"] = known.judged->claim;
    detail["report"] = *known.judged->report;
    detail["series"] = series_json(known);
    detail["marks"] = known.judged->marks;
    detail["ranks"] = ranks_of(*known.judged->run, rank_news(known));
    detail["memory"] = memory_of(*known.judged->run);
    Json lines = Json::array();
    for (const Known::Line& each : known.lines) lines.push_back(line_json(each));
    detail["log"] = std::move(lines);
    return line_of(std::move(detail));
  }

  std::optional<std::string> series_text(const std::string& id, const std::string& name,
                                         std::optional<std::int64_t> from,
                                         std::optional<std::int64_t> to, std::size_t points) const {
    std::shared_ptr<const Judged> judged;
    std::vector<Later> later;
    {
      const std::lock_guard lock(mutex_);
      const auto found = known_.find(id);
      if (found == known_.end()) return std::nullopt;
      judged = found->second.judged;
      const auto since = found->second.since.find(name);
      if (since != found->second.since.end()) later = since->second;
    }
    const auto at = std::find(judged->names.begin(), judged->names.end(), name);
    if (at == judged->names.end()) return std::nullopt;
    const record::Series& series =
        judged->run->series[static_cast<std::size_t>(at - judged->names.begin())];
    return line_of(buckets_json(name, buckets_of(series, later, from, to, points)));
  }

  core::Result<void> stop_run(const std::string& id) const {
    std::optional<Noted> noted;
    {
      const std::lock_guard lock(mutex_);
      const auto found = known_.find(id);
      if (found == known_.end())
        return core::fail(core::ErrorCode::not_found, "[stop] there is no such run");
      noted = found->second.noted;
    }
    if (!noted) {
      return core::fail(core::ErrorCode::not_readable,
                        "[stop] the run was not started by `aplomb run`; end it by hand");
    }
    return watch::ask_to_stop(noted->folder, noted->note);
  }

  std::vector<Glance> glances() const {
    const std::lock_guard lock(mutex_);
    std::vector<Glance> out;
    for (const auto& [id, each] : known_) {
      out.push_back({id, short_name(each.judged->run->name), each.judged->run->name, each.state,
                     each.judged->standing, each.judged->cause, each.judged->headline,
                     each.judged->fix, each.step});
    }
    return out;
  }

 private:
  /// From the threads that read: something is there to be told.
  void wake() {
    const std::lock_guard lock(wait_mutex_);
    news_ = true;
    wake_.notify_all();
  }

  // The thread that looks at the files.

  void follow() {
    while (true) {
      if (Clock::now() >= next_search_) search();
      look_at_all(false);
      tell_growth();
      if (judging_.valid() &&
          judging_.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
        take_judgement();
      if (is_time_to_judge()) begin_judging();
      update_states(false);
      tell_summaries();
      std::unique_lock lock(wait_mutex_);
      wake_.wait_for(lock, options_.tick, [this] { return stopping_ || news_; });
      if (stopping_) return;
      news_ = false;
    }
  }

  void search() {
    const auto begin = spent();
    for (discovery::RunArtifacts& run : discovery::find_artifacts(options_.paths, {})) {
      for (discovery::Artifact& each : run.files) {
        if (is_followed(each.file.path)) continue;
        auto followed = std::make_unique<Followed>();
        followed->tail = std::make_unique<Tail>(std::move(each), run.name, [this] { wake(); });
        followed_.push_back(std::move(followed));
        dirty_ = true;
      }
    }
    next_search_ =
        Clock::now() + std::max<Clock::duration>(options_.search, k_rest * (spent() - begin));
  }

  /// It is being read under this name, or was under another one (rotated).
  bool is_followed(const std::string& path) const {
    struct stat there{};
    const bool stands = ::stat(path.c_str(), &there) == 0;
    for (const auto& each : followed_) {
      if (!each->tail->ended() && each->tail->path() == path) return true;
      if (!stands || !each->tail->ended()) continue;
      if (each->tail->path() != path && each->tail->is_file(there.st_dev, there.st_ino))
        return true;
    }
    // What is not there any more is told once: by the one that followed it.
    return !stands && std::any_of(followed_.begin(), followed_.end(),
                                  [&](const auto& each) { return each->tail->path() == path; });
  }

  void look_at_all(bool once) {
    const auto now = Clock::now();
    bool replaced = false;
    for (auto& each : followed_) {
      if (each->tail->ended() || (!once && now < each->next_look)) continue;
      const Tail::Look look = each->tail->look(!once);
      if (look != Tail::Look::same) each->last_change = now;
      if (look == Tail::Look::replaced || look == Tail::Look::gone) {
        note_replaced(*each->tail);
        replaced = true;
      }
      // A file that has rested for an hour is looked at every five seconds.
      const auto rest =
          std::min<Clock::duration>((now - each->last_change) / 500, std::chrono::seconds(5));
      each->next_look = now + rest;
    }
    if (!replaced) return;
    next_search_ = {};
    forget_oldest();
  }

  /// Rotated: what was read stands elsewhere now.
  static void note_replaced(Tail& tail) {
    for (const char* ending : {".1", ".old", ".bak"}) {
      struct stat there{};
      const std::string path = tail.path() + ending;
      if (::stat(path.c_str(), &there) == 0 && tail.is_file(there.st_dev, there.st_ino))
        return tail.moved_to(path);
    }
    tail.moved_to({});
  }

  void forget_oldest() {
    std::map<std::string, std::size_t> ended;
    for (auto each = followed_.rbegin(); each != followed_.rend(); ++each) {
      if ((*each)->tail->ended() && ++ended[(*each)->tail->path()] > k_most_ended) each->reset();
    }
    std::erase(followed_, nullptr);
  }

  bool all_caught_up() const {
    return std::all_of(followed_.begin(), followed_.end(),
                       [](const auto& each) { return each->tail->caught_up(); });
  }

  /// Points and lines that have come.
  void tell_growth() {
    for (auto& each : followed_) {
      if (!each->tail->take_changed()) continue;
      dirty_ = true;
      tell_points(*each);
      tell_lines(*each);
    }
  }

  void tell_points(Followed& file) {
    std::map<std::string, Json> by_run;
    const double now = seconds(Wall::now());
    file.tail->with_run([&](const record::Run& run, std::uint64_t /*generation*/) {
      const std::lock_guard lock(mutex_);
      for (const record::Series& series : run.series) {
        Told& told = file.series[key_of(run.sources[0].path, series)];
        if (!told.bound || series.count <= told.emitted) continue;
        const std::vector<Later> points = samples(series, told.emitted, series.count);
        told.emitted = series.count;
        const auto known = known_.find(told.bound->run);
        if (known == known_.end() || points.empty()) continue;
        take_points(known->second, told.bound->name, points, now);
        by_run[told.bound->run][told.bound->name] = points_json(thinned(points));
      }
    });
    for (auto& [run, series] : by_run)
      events_.add("points", run, line_of({{"run", run}, {"series", std::move(series)}}));
  }

  static void take_points(Known& run, const std::string& name, const std::vector<Later>& points,
                          double now) {
    std::vector<Later>& since = run.since[name];
    since.insert(since.end(), points.begin(), points.end());
    run.seen_at[name] = now;
    if (since.size() > k_most_since) since.erase(since.begin(), since.end() - k_most_since / 2);
    if (name != run.lead) return;
    run.step = points.back().step;
    run.last_step_at = now;
    if (!run.records.empty() && run.records.back().second >= *run.step) run.records.clear();
    run.records.emplace_back(now, *run.step);
    if (run.records.size() > k_ring) run.records.pop_front();
  }

  void tell_lines(Followed& file) {
    if (!file.tail->is_text() || file.run.empty()) return;
    const std::vector<LogLine> lines = file.tail->lines_after(file.last_line);
    if (lines.empty()) return;
    file.last_line = lines.back().number;
    Json told = Json::array();
    {
      const std::lock_guard lock(mutex_);
      const auto known = known_.find(file.run);
      if (known == known_.end()) return;
      for (const LogLine& each : lines) {
        known->second.lines.push_back({file.tail->path(), each, false});
        if (known->second.lines.size() > LastLines::k_most) known->second.lines.pop_front();
        told.push_back(line_json({file.tail->path(), each, false}));
      }
    }
    events_.add("log", file.run, line_of({{"run", file.run}, {"lines", std::move(told)}}));
  }

  // Judging.

  struct Outcome {
    std::vector<std::shared_ptr<const Judged>> runs;
    std::vector<std::optional<Noted>> notes;
    Clock::duration cost{};
  };

  bool is_time_to_judge() const {
    if (!dirty_ || judging_.valid()) return false;
    // What a verdict over the first part of a long log said is not kept longer than that.
    if (reading_ && judged_once_ && all_caught_up()) return true;
    if (Clock::now() < next_judging_) return false;
    return judged_once_ || all_caught_up() || Clock::now() >= began_ + k_first_patience;
  }

  void begin_judging() {
    dirty_ = false;
    reading_ = reading_ && !all_caught_up();
    const auto begin = spent();
    std::vector<discovery::Fragment> fragments;
    std::map<std::string, Wall::time_point> modified;
    for (auto& each : followed_) {
      discovery::Fragment fragment = each->tail->copy();
      if (fragment.run.sources.empty()) continue;
      for (const record::Series& series : fragment.run.series)
        each->series[key_of(fragment.run.sources[0].path, series)].pending = series.count;
      modified[fragment.run.sources[0].path] = each->tail->modified();
      fragments.push_back(std::move(fragment));
    }
    const auto copying = spent() - begin;
    judging_ = std::async(std::launch::async,
                          [this, copying, reading = reading_, modified = std::move(modified),
                           fragments = std::move(fragments)]() mutable {
                            return judge_all(std::move(fragments), modified, copying, reading);
                          });
  }

  Outcome judge_all(std::vector<discovery::Fragment> fragments,
                    const std::map<std::string, Wall::time_point>& modified,
                    Clock::duration copying, bool reading) {
    const auto begin = spent();
    Outcome outcome;
    std::map<std::string, std::shared_ptr<const Judged>> now;
    for (record::Run& run : discovery::runs_of(std::move(fragments))) {
      std::string id = fmt::format("r{:016x}", hash_of(run.name));
      while (now.contains(id)) id += 'x';
      std::optional<Noted> noted = note_of(run);
      Wall::time_point newest{};
      for (const record::Source& each : run.sources) {
        const auto at = modified.find(each.path);
        if (at != modified.end()) newest = std::max(newest, at->second);
      }
      const bool so_far = goes_on(noted, newest);
      const Stage stage = reading ? Stage::being_read : so_far ? Stage::so_far : Stage::whole;
      const std::uint64_t print = fingerprint(run, stage);
      const auto before = judged_.find(id);
      if (before != judged_.end() && before->second->print == print) {
        now[id] = before->second;
      } else {
        now[id] = judge(std::move(run), id, print, stage, options_, audits_);
      }
      outcome.runs.push_back(now[id]);
      outcome.notes.push_back(std::move(noted));
    }
    judged_ = std::move(now);
    outcome.cost = spent() - begin + copying;
    return outcome;
  }

  /// What can only be said over the whole of a run is not said of one that goes on.
  bool goes_on(const std::optional<Noted>& noted, Wall::time_point newest) const {
    if (noted) return noted->note.ended == 0 && watch::is_alive(noted->note);
    return Wall::now() - newest < options_.silent_after;
  }

  void take_judgement() {
    Outcome outcome = judging_.get();
    judged_once_ = true;
    next_judging_ =
        Clock::now() + std::max<Clock::duration>(k_between_judgings, k_rest * outcome.cost);
    const Homes homes = homes_of(outcome);
    std::map<std::string, Since> late;
    for (auto& each : followed_) bind(*each, homes, late);
    {
      // At once: who asks meanwhile finds every point, of the old verdict or of the new one.
      const std::lock_guard lock(mutex_);
      drop_gone(outcome);
      for (std::size_t i = 0; i < outcome.runs.size(); ++i)
        take_judged(outcome.runs[i], std::move(outcome.notes[i]), late[outcome.runs[i]->id]);
    }
    for (auto& each : followed_) tell_lines(*each);
    tell_verdicts(outcome);
  }

  /// Where the files of the runs belong, and each of their series.
  struct Homes {
    std::map<std::string, Binding> series;   ///< by key_of()
    std::map<std::string, std::string> run;  ///< by path
  };
  using Since = std::map<std::string, std::vector<Later>>;

  static Homes homes_of(const Outcome& outcome) {
    Homes homes;
    for (const auto& judged : outcome.runs) {
      const record::Run& run = *judged->run;
      for (const record::Source& each : run.sources) homes.run.emplace(each.path, judged->id);
      for (std::size_t i = 0; i < run.series.size(); ++i) {
        const record::Series& series = run.series[i];
        if (series.empty()) continue;
        const std::string& path = run.sources[series.source_at(series.size() - 1)].path;
        homes.series.emplace(key_of(path, series), Binding{judged->id, judged->names[i]});
      }
    }
    return homes;
  }

  void drop_gone(const Outcome& outcome) {
    std::set<std::string> there;
    for (const auto& each : outcome.runs) there.insert(each->id);
    for (auto each = known_.begin(); each != known_.end();) {
      if (there.contains(each->first)) {
        ++each;
        continue;
      }
      events_.add("gone", each->first, line_of({{"run", each->first}}));
      each = known_.erase(each);
    }
  }

  void take_judged(const std::shared_ptr<const Judged>& judged, std::optional<Noted> noted,
                   Since& late) {
    Known& known = known_[judged->id];
    known.noted = std::move(noted);
    known.since = std::move(late);
    if (known.judged != judged) {
      known.judged = judged;
      ++known.revision;
    }
    const record::Run& run = *judged->run;
    const record::Series* lead = lead_of(run);
    known.lead.clear();
    if (lead == nullptr || lead->empty()) return;
    known.lead = judged->names[static_cast<std::size_t>(lead - run.series.data())];
    known.step = lead->step[lead->size() - 1];
    const auto since = known.since.find(known.lead);
    if (since != known.since.end() && !since->second.empty())
      known.step = since->second.back().step;
  }

  /// Where a file's samples go from now on; those that were told while the others were judged are
  /// kept behind them.
  static void bind(Followed& file, const Homes& homes, std::map<std::string, Since>& late) {
    file.tail->with_run([&](const record::Run& run, std::uint64_t /*generation*/) {
      if (run.sources.empty()) return;
      const std::string& path = run.sources[0].path;
      const auto home = homes.run.find(path);
      file.run = home == homes.run.end() ? std::string() : home->second;
      for (auto& [key, told] : file.series) {
        const auto found = homes.series.find(key);
        const bool was_bound = told.bound.has_value();
        told.copied = told.pending;
        told.bound =
            found == homes.series.end() ? std::nullopt : std::optional<Binding>(found->second);
        if (told.bound && !was_bound) told.emitted = told.copied;
      }
      for (const record::Series& series : run.series) {
        const auto told = file.series.find(key_of(path, series));
        if (told == file.series.end() || !told->second.bound) continue;
        if (told->second.emitted <= told->second.copied) continue;
        const std::vector<Later> points =
            samples(series, told->second.copied, told->second.emitted);
        std::vector<Later>& since = late[told->second.bound->run][told->second.bound->name];
        since.insert(since.end(), points.begin(), points.end());
      }
    });
  }

  void tell_verdicts(const Outcome& outcome) {
    for (const auto& judged : outcome.runs) {
      std::uint64_t revision = 0;
      Json lines = Json::array();
      bool fresh = false;
      {
        const std::lock_guard lock(mutex_);
        Known& known = known_[judged->id];
        revision = known.revision;
        fresh = told_revision_[judged->id] != revision;
        told_revision_[judged->id] = revision;
        for (Known::Line& each : known.lines) {
          if (each.evidence || !judged->evidence.contains({each.path, each.line.number})) continue;
          each.evidence = true;
          lines.push_back(line_json(each));
        }
      }
      if (!lines.empty())
        events_.add("log", judged->id, line_of({{"run", judged->id}, {"lines", std::move(lines)}}));
      if (!fresh) continue;
      events_.add("marks", judged->id, line_of({{"run", judged->id}, {"marks", judged->marks}}));
      fresh_.insert(judged->id);
    }
    update_states(true);
    tell_summaries();
    for (const std::string& id : fresh_) {
      events_.add("report", id, line_of({{"run", id}, {"revision", told_revision_[id]}}));
    }
    fresh_.clear();
  }

  // States and summaries.

  void update_states(bool now_at_once) {
    const auto now = Clock::now();
    if (!now_at_once && now < next_states_) return;
    next_states_ = now + k_between_states;
    const std::lock_guard lock(mutex_);
    std::map<std::string, Wall::time_point> newest;
    for (const auto& each : followed_) {
      if (each->tail->ended() || each->run.empty()) continue;
      newest[each->run] = std::max(newest[each->run], each->tail->modified());
      if (const auto known = known_.find(each->run); known != known_.end())
        note_times(known->second, *each->tail);
    }
    for (auto& [id, known] : known_) {
      const Wall::time_point grown = newest[id];
      if (known.grown != Wall::time_point{} && grown > known.grown) known.grew = true;
      known.grown = grown;
      if (!known.last_step_at && grown != Wall::time_point{}) known.last_step_at = seconds(grown);
      if (known.noted) {
        if (const auto note = watch::read_note(known.noted->folder)) known.noted->note = *note;
      }
      known.state = state_of(known);
      // What is said of a run that has come to its end is said over the whole of it.
      if (goes_on(known.noted, grown) != known.judged->so_far) dirty_ = true;
    }
  }

  void note_times(Known& known, const Tail& tail) const {
    const bool fresh = known.written.insert_or_assign(tail.path(), seconds(tail.modified())).second;
    if (!fresh || !options_.price || known.noted) return;
    // Where the file system does not tell when it was made, it counts from when it was first seen.
    const double made = born(tail.path()).value_or(seconds(tail.modified()));
    known.born = known.born ? std::min(*known.born, made) : made;
  }

  /// Until now while it may still cost; until its end, or its last sign of life, of one that is over.
  Json cost_of(const Known& known) const {
    if (!options_.price) return nullptr;
    const bool goes_on = known.state == "running" || known.state == "silent";
    double ended = goes_on ? seconds(Wall::now()) : seconds(known.grown);
    if (!known.noted) return cost_json(*options_.price, known.born, ended);
    if (known.noted->note.ended > 0) ended = known.noted->note.ended;
    return cost_json(*options_.price, known.noted->note.started, ended);
  }

  /// Of each series what is newer than the run as it was judged, and when it came.
  static RankNews rank_news(const Known& known) {
    RankNews news;
    news.written = known.written;
    for (std::size_t i = 0; i < known.judged->names.size(); ++i) {
      const auto since = known.since.find(known.judged->names[i]);
      if (since != known.since.end() && !since->second.empty())
        news.step[i] = since->second.back().step;
      const auto seen = known.seen_at.find(known.judged->names[i]);
      if (seen != known.seen_at.end()) news.seen_at[i] = seen->second;
    }
    return news;
  }

  std::string state_of(const Known& known) const {
    const double still = seconds(Wall::now()) - seconds(known.grown);
    if (known.noted && known.noted->note.ended > 0) {
      if (known.noted->note.stopped) return "stopped";
      return known.noted->note.status == 0 ? "ended" : "failed";
    }
    if (known.noted && !watch::is_alive(known.noted->note)) return "unknown";
    const double least = std::max<double>(static_cast<double>(options_.silent_after.count()),
                                          k_silent_factor * known.median_interval());
    if (!known.noted) {
      if (known.judged->broke && still > k_dead_after_s) return "failed";
      if (is_complete(known) && still > k_dead_after_s) return "ended";
    }
    if (still < least) return "running";
    return known.grew || known.noted ? "silent" : "unknown";
  }

  static std::optional<std::int64_t> total_steps(const Known& known) {
    const record::Setting* setting = known.judged->run->setting("train.max_steps");
    const double* number = setting == nullptr ? nullptr : core::as_number(setting->value);
    if (number == nullptr || !(*number >= 1) || !(*number < 1e15)) return std::nullopt;
    return static_cast<std::int64_t>(*number);
  }

  static bool is_complete(const Known& known) {
    const auto total = total_steps(known);
    return total && known.step && *known.step >= *total;
  }

  void tell_summaries() {
    const auto now = Clock::now();
    Json changed = Json::array();
    {
      const std::lock_guard lock(mutex_);
      for (auto& [id, known] : known_) {
        if (now < known.next_summary && !fresh_.contains(id)) continue;
        known.next_summary = now + k_between_summaries;
        Json value = summary(known);
        std::string text = line_of(value);
        if (text == known.told) continue;
        known.told = std::move(text);
        changed.push_back(std::move(value));
      }
    }
    if (!changed.empty()) events_.add("runs", {}, line_of({{"runs", std::move(changed)}}));
  }

  Json summary(const Known& known) const {
    const record::Run& run = *known.judged->run;
    const auto total = total_steps(known);
    const auto rate = known.rate();
    std::optional<double> eta;
    if (rate && total && known.step && *total >= *known.step)
      eta = static_cast<double>(*total - *known.step) / *rate;
    std::optional<double> started;
    if (known.noted) started = known.noted->note.started;
    const bool ends_here = options_.may_stop && known.noted && known.noted->note.ended == 0;
    return {{"id", known.judged->id},
            {"name", short_name(run.name)},
            {"path", run.name},
            {"state", known.state},
            {"standing", known.judged->standing},
            {"headline", known.judged->headline},
            {"fix", known.judged->fix.empty() ? Json(nullptr) : Json(known.judged->fix)},
            {"step", or_null(known.step)},
            {"total_steps", or_null(total)},
            {"last_step_at", or_null(known.last_step_at)},
            {"started_at", or_null(started)},
            {"rate", or_null(rate)},
            {"eta_s", or_null(eta)},
            {"cost", cost_of(known)},
            {"can_stop", ends_here}};
  }

  static Json series_json(const Known& known) {
    Json out = Json::array();
    const record::Run& run = *known.judged->run;
    for (std::size_t i = 0; i < run.series.size(); ++i) {
      const record::Series& series = run.series[i];
      if (series.empty()) continue;
      Later last{series.step[series.size() - 1], series.value.back()};
      std::uint64_t count = series.count;
      const auto since = known.since.find(known.judged->names[i]);
      if (since != known.since.end() && !since->second.empty()) {
        last = since->second.back();
        count += since->second.size();
      }
      out.push_back({{"name", known.judged->names[i]},
                     {"role", record::name(series.role)},
                     {"unit", unit_of(series.role)},
                     {"count", count},
                     {"first_step", series.step[0]},
                     {"last_step", last.step},
                     {"last", wire(last.value)}});
    }
    return out;
  }

  static Json line_json(const Known::Line& line) {
    return {{"n", line.line.number}, {"text", line.line.text}, {"evidence", line.evidence}};
  }

  const FollowOptions options_;
  EventLog& events_;
  const Clock::time_point began_;

  // Of the thread that follows.
  std::vector<std::unique_ptr<Followed>> followed_;
  Clock::time_point next_search_{};
  Clock::time_point next_judging_{};
  Clock::time_point next_states_{};
  bool dirty_ = false;
  bool judged_once_ = false;
  bool reading_ = true;  ///< what was there at the start has not been read to its end
  std::map<std::string, std::uint64_t> told_revision_;
  std::set<std::string> fresh_;  ///< runs whose new verdict is being told
  std::future<Outcome> judging_;

  // Of the thread that judges: one at a time.
  std::map<std::string, std::shared_ptr<const Judged>> judged_;
  api::AuditMemory audits_;

  mutable std::mutex mutex_;
  std::map<std::string, Known> known_;

  std::mutex wait_mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  bool news_ = false;
  std::thread thread_;
};

Follower::Follower(FollowOptions options, EventLog& events)
    : work_(std::make_unique<Work>(std::move(options), events)) {}
Follower::~Follower() = default;
void Follower::start() { work_->start(); }
void Follower::stop() { work_->stop(); }
void Follower::settle() { work_->settle(); }
std::string Follower::summaries_text() const { return work_->summaries_text(); }
std::optional<std::string> Follower::run_text(const std::string& id) const {
  return work_->run_text(id);
}
std::optional<std::string> Follower::series_text(const std::string& id, const std::string& name,
                                                 std::optional<std::int64_t> from,
                                                 std::optional<std::int64_t> to,
                                                 std::size_t points) const {
  return work_->series_text(id, name, from, to, points);
}
core::Result<void> Follower::stop_run(const std::string& id) const { return work_->stop_run(id); }
std::vector<Glance> Follower::glances() const { return work_->glances(); }

}  // namespace aplomb::live
