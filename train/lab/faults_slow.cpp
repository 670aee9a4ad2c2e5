/// Runs that learn as they should and take too long, or ever more memory: what a processor alone
/// can show. (Waiting for a device is not among it: there is none to wait for.)
///
/// Fault and twin both print how long a step took, how long it waited for its data, and the memory
/// that is in use.

#include <fmt/format.h>

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <thread>

#include "core/median.h"
#include "train/lab/fault_parts.h"

namespace aplomb::train::lab {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* k_sound = "every step is sound; it only takes long";

struct Costs {
  double step_s = 0;
  double data_s = 0;
  double memory_bytes = 0;
};

/// What the program holds, not what its allocator keeps for later.
double bytes_in_use() {
  const struct mallinfo2 heap = ::mallinfo2();
  return static_cast<double>(heap.uordblks) + static_cast<double>(heap.hblkhd);
}

/// Costs of the steps, as a user's loop takes them: from one step's end to the next one's.
struct Meter {
  Clock::time_point last = Clock::now();  ///< end of the step before
  double held_before = bytes_in_use();    ///< by runs that came before this one
  double data_s = 0;
  std::map<std::int64_t, Costs> of_step;
};

double seconds(Clock::duration of) { return std::chrono::duration<double>(of).count(); }

/// `load`: what fetching a batch costs beyond what it does here; may be empty.
void keep_costs(LabRun& lab, const std::function<void(text::TokenBatch&)>& load) {
  const auto meter = std::make_shared<Meter>();
  lab.hooks.batch = [meter, load](text::TokenBatch& batch, const Place& place) {
    if (!place.training) {  // what an evaluation takes is no training time
      meter->last = Clock::now();
      return;
    }
    const Clock::time_point began = Clock::now();
    if (load) load(batch);
    meter->data_s += seconds(Clock::now() - began);
  };
  lab.hooks.after_step = [meter](const auto&, const Place& place) {
    const Clock::time_point now = Clock::now();
    meter->of_step[place.step] = {seconds(now - meter->last), meter->data_s,
                                  std::max(bytes_in_use() - meter->held_before, 0.0)};
    meter->last = now;
    meter->data_s = 0;
  };
  lab.hooks.logged = [meter](Trace& trace) {
    for (Sample& each : trace.samples) {
      const auto found = meter->of_step.find(each.step);
      if (found == meter->of_step.end()) continue;
      each.values.emplace_back("step_time", found->second.step_s);
      each.values.emplace_back("data_time", found->second.data_s);
      each.values.emplace_back("host_memory_bytes", found->second.memory_bytes);
    }
  };
}

double median(std::vector<double> values) {
  return values.empty() ? 0 : core::upper_median(std::move(values));
}

std::vector<double> values_of(const Trace& trace, std::string_view name) {
  std::vector<double> values;
  for (const auto& [step, value] : trace.series(name)) values.push_back(value);
  return values;
}

/// Of the whole run, which is what is paid for.
Harm slower_than_twin(double ratio) {
  return {
      fmt::format("the run's end: a step takes {:g} times as long as the healthy twin's", ratio),
      [ratio](const Trace& run, const Trace& twin) -> std::optional<std::int64_t> {
        const double usual = median(values_of(twin, "step_time"));
        if (median(values_of(run, "step_time")) < ratio * usual) return std::nullopt;
        return run.steps;
      }};
}

/// A card or host that is full when the healthy run still fits twice.
Harm more_memory_than_twin(double ratio) {
  return {fmt::format("memory in use is {:g} times the most that the healthy twin takes", ratio),
          [ratio](const Trace& run, const Trace& twin) -> std::optional<std::int64_t> {
            const std::vector<double> usual = values_of(twin, "host_memory_bytes");
            if (usual.empty()) return std::nullopt;
            const double most = *std::max_element(usual.begin(), usual.end());
            for (const auto& [step, bytes] : run.series("host_memory_bytes")) {
              if (bytes >= ratio * most) return step;
            }
            return std::nullopt;
          }};
}

using Load = std::function<void(text::TokenBatch&)>;

/// `load` and `change` (after the costs are kept) with the fault alone.
Fault make_slow_fault(FaultText text, Harm harm, Load load, std::function<void(LabRun&)> change,
                      std::int64_t steps = 120) {
  Fault fault = make_code_fault(std::move(text), std::move(harm), GuardRole::nothing, k_sound, {});
  fault.run = [load = std::move(load), change = std::move(change), steps](const Request& request) {
    LabRun lab(request.seed);
    lab.options.length.max_steps = steps;
    keep_costs(lab, request.faulty ? load : nullptr);
    if (request.faulty && change) change(lab);
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
      slower_than_twin(1.5),
      [](text::TokenBatch& batch) {
        std::this_thread::sleep_for(
            microseconds(4000 * batch.rows + 60 * static_cast<std::int64_t>(batch.ids.size())));
      },
      {});
}

/// Rows as wide as `columns`.
void pad_to(text::TokenBatch& batch, std::int64_t columns) {
  const auto spread = [&](std::vector<std::int64_t>& values, std::int64_t filler) {
    std::vector<std::int64_t> wide;
    for (std::int64_t row = 0; row < batch.rows; ++row) {
      const auto begin = values.begin() + row * batch.columns;
      wide.insert(wide.end(), begin, begin + batch.columns);
      wide.resize(static_cast<std::size_t>((row + 1) * columns), filler);
    }
    values = std::move(wide);
  };
  spread(batch.ids, k_vocabulary - 1);
  spread(batch.labels, text::k_ignored);
  spread(batch.positions, 0);
  spread(batch.segments, -1);
  batch.columns = columns;
}

Fault padded_to_limit() {
  constexpr std::int64_t k_limit = 512;
  return make_slow_fault(
      {"slow.padded-to-limit",
       "every sample is padded to the longest length allowed",
       {"slow.padding-waste"}},
      slower_than_twin(1.5),
      [](text::TokenBatch& batch) {
        if (batch.columns < k_limit) pad_to(batch, k_limit);
      },
      [](LabRun& lab) {
        lab.own_settings.emplace_back("pad_to_max_length", "true");
        lab.own_settings.emplace_back("max_length", std::to_string(k_limit));
      },
      60);
}

/// Weights and optimizer, written and synced.
Fault saved_each_step() {
  return make_slow_fault(
      {"slow.saved-each-step", "a checkpoint is written after each step", {"slow.disk-bound"}},
      slower_than_twin(1.5), {}, [](LabRun& lab) {
        lab.options.output.save_step = 1;
        lab.own_settings.emplace_back("save_steps", "1");
      });
}

/// Outputs are collected for a metric at the end of the pass, with their graphs.
Fault outputs_kept() {
  return make_slow_fault(
      {"oom.outputs-kept",
       "losses and outputs of each step are kept with their graphs",
       {"oom.graph-retained-leak"}},
      more_memory_than_twin(2), {}, [](LabRun& lab) {
        const auto kept = std::make_shared<std::vector<at::Tensor>>();
        lab.hooks.forward = [kept](model::LanguageModel& model, const text::TokenBatch& batch,
                                   const Place& place) {
          const Prediction made = predict(model, batch);
          const at::Tensor loss = as_sum(mean_cross_entropy(made), batch);
          if (place.training) kept->insert(kept->end(), {made.logits, loss});
          return loss;
        };
        lab.script.set("loss",
                       "out = model(**batch)\n"
                       "loss = out.loss\n"
                       "all_logits.append(out.logits)\n"
                       "all_losses.append(loss)");
        lab.script.set("start",
                       "step, micro, running = 0, 0, 0.0\nall_logits, all_losses = [], []");
      });
}

}  // namespace

void add_slow_faults(std::vector<Fault>& roster) {
  for (auto make : {slow_loader, padded_to_limit, saved_each_step, outputs_kept}) {
    roster.push_back(make());
  }
}

}  // namespace aplomb::train::lab
