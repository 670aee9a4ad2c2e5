/// Memory that grows for the whole run: a leak (a loss kept with its graph, a growing cache), not
/// the rise to a peak that every run has in its first steps.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/block_summary.h"
#include "detectors/support.h"

namespace aplomb::run_detectors {
namespace {

constexpr double k_growth = 1.2;  // x over the run, its start-up left out
constexpr double k_late_share =
    0.2;  // of the growth that falls into the last third: a peak would have none there
constexpr double k_rising = 0.7;     // share of blocks that are not below the one before
constexpr double k_straight = 0.99;  // what is kept of each batch lies on a line
constexpr std::size_t k_least = 8;   // blocks
/// Fewer are enough where they lie on a line and grow by half: caches that fill level off.
constexpr std::size_t k_least_straight = 5;
constexpr double k_growth_straight = 1.5;
constexpr std::size_t k_least_live = 40;  // samples, while the run goes on: past the start-up
/// Of an evaluation's growth: what training adds meanwhile. Judgement: caches fill in the first batches.
constexpr double k_level = 0.1;
constexpr std::size_t k_least_of_stage = 3;  // records
constexpr std::array k_names{"memory_bytes", "host_memory_bytes"};

const detectors::DetectorSpec& memory_growth_spec() {
  static const detectors::DetectorSpec spec{
      "memory.growth",
      {"memory.growth"},
      "Memory grows all through the run",
      "A leak ends in an out-of-memory error hours later, far from the line that leaks.",
      "memory_bytes 20e9, 22e9, 24e9, 26e9",
      {record::Role::memory_bytes, record::Role::host_memory_bytes, record::Role::loss},
      {{"growth", k_growth, "x", 1.01, 10,
        "the bf16 stability checklist: memory is consistent across steps"},
       {"late_share", k_late_share, "fraction", 0, 1,
        "a running maximum that has settled does not grow in the last third"}},
      {"https://docs.pytorch.org/docs/stable/notes/faq.html"}};
  return spec;
}

/// Share of the levels' variance that a straight line over their places explains.
double straightness(std::span<const core::Block> blocks) {
  const auto n = static_cast<double>(blocks.size());
  double mean = 0;
  for (const core::Block& block : blocks) mean += block.level() / n;
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const double x = static_cast<double>(i) - (n - 1) / 2;
    const double y = blocks[i].level() - mean;
    xy += x * y;
    xx += x * x;
    yy += y * y;
  }
  return xx > 0 && yy > 0 ? xy * xy / (xx * yy) : 0;
}

class MemoryGrowthDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return memory_growth_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext&,
               std::vector<detectors::Symptom>&) override {
    see(frame, record::Role::memory_bytes, watched_[0]);
    see(frame, record::Role::host_memory_bytes, watched_[1]);
  }

  void interim(const detectors::RunContext& context,
               std::vector<detectors::Symptom>& out) const override {
    for (std::size_t i = 0; i < watched_.size(); ++i) {
      if (watched_[i].blocks.count() >= k_least_live) judge(watched_[i], k_names[i], context, out);
    }
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    for (std::size_t i = 0; i < watched_.size(); ++i) judge(watched_[i], k_names[i], context, out);
  }

 private:
  /// The records of one kind: first, last and how many.
  struct Span {
    double first = 0;
    double last = 0;
    std::size_t count = 0;
    void add(double value) {
      if (count++ == 0) first = value;
      last = value;
    }
    double grown() const { return last - first; }
  };

  struct Watched {
    core::BlockSummary blocks;
    detectors::Sample first;
    detectors::Sample last;
    Span beside_loss;     ///< records that hold a training loss
    Span without_losses;  ///< records that hold none: those of an evaluation

    /// It grows where there is no training loss, and hardly where there is one.
    bool grows_in_eval() const {
      return beside_loss.count >= k_least_of_stage && without_losses.count >= k_least_of_stage &&
             without_losses.grown() > 0 &&
             std::fabs(beside_loss.grown()) <= k_level * without_losses.grown();
    }
  };

  static void see(const detectors::Frame& frame, record::Role role, Watched& watched) {
    const detectors::Reading* memory = finite_of(frame, role);
    if (memory == nullptr || memory->value <= 0) return;
    watched.last = sample_of(frame, *memory);
    if (watched.blocks.count() == 0) watched.first = watched.last;
    watched.blocks.add(frame.step, memory->value);
    const bool trains = finite_of(frame, record::Role::loss) != nullptr;
    (trains ? watched.beside_loss : watched.without_losses).add(memory->value);
  }

  static void judge(const Watched& watched, const char* series,
                    const detectors::RunContext& context, std::vector<detectors::Symptom>& out) {
    const auto blocks = watched.blocks.blocks();
    if (blocks.size() < k_least_straight) return;
    const std::size_t from = std::max<std::size_t>(1, blocks.size() / 10);  // start-up
    const double early = blocks[from].level();
    const double third = blocks[blocks.size() * 2 / 3].level();
    const double late = blocks.back().level();
    detectors::Tally rising;
    for (std::size_t i = from + 1; i < blocks.size(); ++i)
      rising.add(blocks[i].level() >= blocks[i - 1].level());
    if (blocks.size() < k_least &&
        !(late >= k_growth_straight * early && straightness(blocks.subspan(from)) >= k_straight))
      return;
    const bool keeps_growing = late - third >= k_late_share * (late - early);
    if (!(late >= k_growth * early) || !keeps_growing || rising.share() < k_rising) return;
    const auto steps = static_cast<double>(
        std::max<std::int64_t>(blocks.back().last_step - blocks[from].first_step, 1));
    detectors::Symptom symptom;
    symptom.id = "memory.growth";
    symptom.severity = core::Severity::warning;
    symptom.series = series;
    symptom.first_step = blocks[from].first_step;
    symptom.last_step = blocks.back().last_step;
    symptom.measures["ratio"] = late / early;
    symptom.measures["slope"] = (late - early) / steps;  // bytes a step
    symptom.measures["linear"] = straightness(blocks.subspan(from)) >= k_straight;
    symptom.measures["records"] = static_cast<double>(watched.blocks.count());
    symptom.measures["in_eval"] = watched.grows_in_eval();
    symptom.measures["host"] = std::string_view(series) == "host_memory_bytes";
    symptom.summary = fmt::format("{} grows {} -> {} over {}", series, core::show_bytes(early),
                                  core::show_bytes(late),
                                  over_steps(context, symptom.first_step, symptom.last_step));
    if (watched.grows_in_eval())
      symptom.summary += ", in the records that hold no training loss: in evaluation";
    add_evidence(symptom, watched.first.origin);
    add_evidence(symptom, watched.last.origin);
    out.push_back(std::move(symptom));
  }

  std::array<Watched, 2> watched_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_memory_growth_detector() {
  return std::make_unique<MemoryGrowthDetector>();
}

}  // namespace aplomb::run_detectors
