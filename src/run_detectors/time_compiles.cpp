/// Steps that take many times as long as the others, again and again and ever more rarely: each new shape of the
/// input is compiled (jit, torch.compile, tf.function) or tuned (cuDNN), and shapes that were seen before are fast.

#include <fmt/format.h>

#include <algorithm>

#include "detectors/kept.h"
#include "detectors/support.h"

namespace aplomb::run_detectors {
namespace {

constexpr std::size_t k_least_steps = 12;
/// Of the fast quarter of the steps: a checkpoint or an evaluation within a step costs that as well, compiling a
/// training step takes seconds.
constexpr double k_many_times = 20;
constexpr std::size_t k_least_slow = 5;  // a warm-up compiles once for each phase
constexpr double k_share = 0.5;          // of all the time: judgement
constexpr double k_rarer = 2;            // x: checkpoints and evaluations come as often later on
/// Where most steps bring a new shape the fast ones are few; no work beside the steps takes a second and more at most of
/// them, and a fiftieth of it at the others.
constexpr std::size_t k_least_fast = 3;
constexpr double k_far_apart = 50;
constexpr double k_compiling = 1.0;  // seconds

const detectors::DetectorSpec& time_compiles_spec() {
  static const detectors::DetectorSpec spec{
      "time.compiles",
      {"time.compiles"},
      "Steps that take many times as long as the others, ever more rarely",
      "A step is compiled anew for each new shape: most of the time goes into compilation.",
      "step_time_s 3.1, 3.4, 0.006, 2.9, 0.006, 0.005, 3.3, 0.006",
      {record::Role::step_time_s},
      {{"many_times", k_many_times, "x", 5, 1000, "judgement: compiling takes seconds"},
       {"share", k_share, "fraction", 0.1, 1, "judgement: the larger part"},
       {"rarer", k_rarer, "x", 1, 10, "judgement: periodic work comes as often"}},
      {"https://docs.jax.dev/en/latest/jit-compilation.html",
       "https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html"}};
  return spec;
}

class TimeCompilesDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return time_compiles_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    const detectors::Reading* time = finite_of(frame, record::Role::step_time_s);
    if (time != nullptr && time->value > 0) times_.add(sample_of(frame, *time));
  }

  void finish(const detectors::RunContext&, std::vector<detectors::Symptom>& out) override {
    if (times_.size() < k_least_steps) return;
    std::vector<double> sorted;
    for (const detectors::Sample& each : times_.samples()) sorted.push_back(each.value);
    std::sort(sorted.begin(), sorted.end());
    const double few = sorted[k_least_fast - 1];
    const double middle = sorted[sorted.size() / 2];
    const bool mostly = middle >= k_compiling && middle >= k_far_apart * few;
    const double fast = mostly ? few : sorted[sorted.size() / 4];
    Slow slow;
    double all = 0;
    for (std::size_t i = 0; i < times_.size(); ++i) {
      all += times_[i].value;
      if (times_[i].value >= k_many_times * fast) slow.add(times_[i], 2 * i < times_.size());
    }
    const bool rarer = static_cast<double>(slow.early) >= k_rarer * static_cast<double>(slow.late);
    if (slow.count() < k_least_slow || slow.seconds < k_share * all) return;
    if (!rarer && !mostly) return;
    out.push_back(symptom(slow, fast, slow.seconds / all));
  }

 private:
  struct Slow {
    std::size_t early = 0;  ///< in the first half of the run
    std::size_t late = 0;
    double seconds = 0;
    detectors::Sample first;
    detectors::Sample last;

    std::size_t count() const { return early + late; }
    void add(const detectors::Sample& sample, bool in_first_half) {
      if (count() == 0) first = sample;
      last = sample;
      ++(in_first_half ? early : late);
      seconds += sample.value;
    }
  };

  detectors::Symptom symptom(const Slow& slow, double fast, double share) const {
    detectors::Symptom symptom;
    symptom.id = "time.compiles";
    symptom.severity = core::Severity::warning;
    symptom.series = "step_time_s";
    symptom.first_step = slow.first.step;
    symptom.last_step = slow.last.step;
    const double mean = slow.seconds / static_cast<double>(slow.count());
    symptom.measures["count"] = static_cast<double>(slow.count());
    symptom.measures["ratio"] = mean / fast;
    symptom.measures["share"] = share;
    symptom.summary = fmt::format("{} of {} steps take about {} s, the others {} s: {} of the time",
                                  slow.count(), times_.size(), core::show_number(mean, 2),
                                  core::show_number(fast, 2), detectors::percent(share));
    add_evidence(symptom, slow.first.origin);
    add_evidence(symptom, slow.last.origin);
    return symptom;
  }

  detectors::Kept times_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_time_compiles_detector() {
  return std::make_unique<TimeCompilesDetector>();
}

}  // namespace aplomb::run_detectors
