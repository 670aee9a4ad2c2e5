/// Runs that learn as they should and take too long: what a processor alone can show.
///
/// Fault and twin both print how long a step took and how long it waited for its data.

#include <chrono>
#include <map>
#include <memory>
#include <thread>

#include "train/lab/fault_parts.h"

namespace aplomb::train::lab {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* k_sound = "every step is sound; it only takes long";

/// Times of the steps, as a user's loop takes them: from one step's end to the next one's.
struct Times {
  Clock::time_point last = Clock::now();  ///< end of the step before
  double data_s = 0;
  std::map<std::int64_t, std::pair<double, double>> of_step;  ///< step and data, in seconds
};

double seconds(Clock::duration of) { return std::chrono::duration<double>(of).count(); }

/// `load`: what fetching a batch costs beyond what it does here; may be empty.
void keep_times(LabRun& lab, std::function<void(const TokenBatch&)> load) {
  const auto times = std::make_shared<Times>();
  lab.hooks.batch = [times, load](TokenBatch& batch, const Place& place) {
    if (!place.training) {  // what an evaluation takes is no waiting
      times->last = Clock::now();
      return;
    }
    if (load) load(batch);
    times->data_s += seconds(Clock::now() - times->last);
  };
  lab.hooks.after_step = [times](const auto&, const Place& place) {
    const Clock::time_point now = Clock::now();
    times->of_step[place.step] = {seconds(now - times->last), times->data_s};
    times->last = now;
    times->data_s = 0;
  };
  lab.hooks.logged = [times](Trace& trace) {
    for (Sample& each : trace.samples) {
      const auto found = times->of_step.find(each.step);
      if (found == times->of_step.end()) continue;
      each.values.emplace_back("step_time", found->second.first);
      each.values.emplace_back("data_time", found->second.second);
    }
  };
}

Fault make_slow_fault(FaultText text, Harm harm, std::function<void(const TokenBatch&)> load) {
  Fault fault = make_code_fault(std::move(text), std::move(harm), GuardRole::nothing, k_sound, {});
  fault.run = [load = std::move(load)](const Request& request) {
    LabRun lab(request.seed);
    keep_times(lab, request.faulty ? load : nullptr);
    return run_lab(lab, request);
  };
  return fault;
}

/// Decoding on one worker: two milliseconds a sample and a millisecond for every sixteen tokens.
Fault slow_loader() {
  using std::chrono::microseconds;
  return make_slow_fault(
      {"slow.loader-waits",
       "each sample is decoded while the model waits",
       {"slow.data-starvation"}},
      at_end("most of each step is waiting"), [](const TokenBatch& batch) {
        std::this_thread::sleep_for(
            microseconds(4000 * batch.rows + 60 * static_cast<std::int64_t>(batch.ids.size())));
      });
}

}  // namespace

void add_slow_faults(std::vector<Fault>& roster) { roster.push_back(slow_loader()); }

}  // namespace aplomb::train::lab
