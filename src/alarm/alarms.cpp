#include "alarm/alarms.h"

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <exception>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "core/text.h"

namespace aplomb::alarm {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::string_view k_last = " (Further alarms are left out.)";

}  // namespace

struct Alarms::Work {
  std::vector<std::unique_ptr<Sink>> sinks;
  std::function<std::string(std::string_view)> redact;
  std::function<void(std::string_view)> say;
  Explain explain;
  Clock::time_point next_explained{};  // of the thread alone
  std::set<std::string> sent;          // of the thread alone
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Notice> waiting;
  std::set<std::string> told;
  std::set<const Sink*> failed;  // of the thread alone
  bool closed = false;
  bool over = false;
  bool given_up = false;

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      wake.wait(lock, [this] { return closed || !waiting.empty(); });
      if (waiting.empty()) break;
      Notice notice = std::move(waiting.front());
      waiting.pop_front();
      if (explain && notice.what != Notice::What::end) {
        if (notice.what == Notice::What::verdict) gather(notice, lock);
        lock.unlock();
        explain_and_send(std::move(notice));
      } else {
        lock.unlock();
        send(std::move(notice));
      }
      lock.lock();
    }
    over = true;
    wake.notify_all();
  }

  /// The worst of what is seen within a while, and until it may be explained.
  void gather(Notice& notice, std::unique_lock<std::mutex>& lock) {
    const auto joins = [&](const Notice& each) {
      return each.what == notice.what && each.run == notice.run;
    };
    wake.wait_until(lock, std::max(Clock::now() + k_gather, next_explained),
                    [&] { return closed || !std::all_of(waiting.begin(), waiting.end(), joins); });
    const std::size_t before = waiting.size();
    for (const Notice& each : waiting) {
      if (joins(each) && each.standing == "failed" && notice.standing != "failed") notice = each;
    }
    std::erase_if(waiting, joins);
    if (told.size() == k_most && waiting.size() < before && !notice.text.ends_with(k_last))
      notice.text += k_last;
  }

  void explain_and_send(Notice notice) {
    const auto begin = Clock::now();
    try {
      explain(notice);
    } catch (const std::exception&) {  // told as it was seen
    }
    next_explained = Clock::now() + k_rest * (Clock::now() - begin);
    if (sent.insert(notice.key()).second) send(std::move(notice));
  }

  void send(Notice notice) {
    // A line of a log may hold anything: what goes out shows every character, and no names or keys.
    for (std::string* text : {&notice.run, &notice.text, &notice.fix, &notice.place})
      *text = core::shorten(core::sanitize(redact(*text)), 1000);
    for (const auto& sink : sinks) {
      core::Result<void> done;
      try {
        done = sink->send(notice);
      } catch (const std::exception& fault) {
        done = core::fail(core::ErrorCode::internal, fault.what());
      }
      if (done || !failed.insert(sink.get()).second) continue;
      const std::lock_guard lock(mutex);
      if (!given_up)
        say("an alarm did not get through (" + sink->name() + "): " + done.error().text +
            "; this is said once");
    }
  }
};

Alarms::Alarms(std::vector<std::unique_ptr<Sink>> sinks,
               std::function<std::string(std::string_view)> redact,
               std::function<void(std::string_view)> say)
    : work_(std::make_shared<Work>()) {
  work_->sinks = std::move(sinks);
  work_->redact = std::move(redact);
  work_->say = std::move(say);
  // No signal is this thread's: those of a run (its end, Ctrl-C) are waited for by another, and one that came
  // here would be lost.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  std::thread([work = work_] { work->run(); }).detach();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Alarms::~Alarms() { finish(std::chrono::milliseconds(0)); }

void Alarms::explain_with(Explain explain) {
  const std::lock_guard lock(work_->mutex);
  work_->explain = std::move(explain);
}

void Alarms::tell(const Notice& notice) {
  const std::lock_guard lock(work_->mutex);
  if (work_->closed || work_->told.size() >= k_most || !work_->told.insert(notice.key()).second)
    return;
  work_->waiting.push_back(notice);
  if (work_->told.size() == k_most) work_->waiting.back().text += k_last;
  work_->wake.notify_all();
}

void Alarms::finish(std::chrono::milliseconds patience) {
  std::unique_lock lock(work_->mutex);
  work_->closed = true;
  work_->wake.notify_all();
  work_->wake.wait_for(lock, patience, [this] { return work_->over; });
  if (work_->over) return;
  work_->given_up = true;  // from here on `say` and what it refers to may be gone
  work_->waiting.clear();
}

}  // namespace aplomb::alarm
