/// Restarts: the run was stopped and went on. Does it go on where it was (loss, learning rate,
/// step), or did it lose its optimizer, its schedule or everything?

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/robust_window.h"
#include "detectors/support.h"

namespace aplomb::run_detectors {
namespace {

constexpr double k_way_back =
    0.75;  // judgement: of the way from the level before to that of the start
constexpr double k_loss_jump = 1.2;  // x the level before; beyond it and 5 sigma
constexpr double k_sigma = 5;
/// Medians of 16 and of 5 samples differ by 0.64 sigma (1.25 sigma sqrt(1/16 + 1/5)) by chance;
/// where the run was surely resumed, three sigma are told, as a note.
constexpr double k_small_jump = 1.03;
constexpr double k_small_sigma = 3;
constexpr double k_lr_jump = 1.5;
constexpr std::size_t k_after = 5;    // samples of the new segment that are compared
constexpr std::int64_t k_redone = 3;  // records: fewer are done again after every stop
/// Of what is saved: with two saves at equal distances, less than half of it lies behind the last one.
constexpr double k_most_between_saves = 0.5;
// Judgement, not measured apart: a pass further, fine-tuning on the same samples loses a tenth to a
// fifth of its loss at once.
constexpr double k_loss_drop = 0.75;
constexpr double k_drop_sigmas = 6;
constexpr int k_lr_watched = 8;        // records in which a warm-up that began anew comes up
constexpr double k_epoch_back = 0.05;  // epochs: beyond what rounding and repeated records make

/// Whether newer saves than that at `loaded` must be there: the distance between saves divides it, and
/// is longer than what is done again. A run that saved once is believed where that was at a round number.
bool saves_were_skipped(std::int64_t loaded, std::int64_t redone) {
  if (loaded <= 0 || redone <= 0) return false;
  for (std::int64_t saves = 2; saves <= loaded / redone; ++saves)
    if (loaded % saves == 0 && loaded / saves > redone) return false;
  std::int64_t head = loaded;
  while (head % 10 == 0) head /= 10;
  return head != 1 && head != 2 && head != 3 && head != 5 && head != 25;
}

const detectors::DetectorSpec& run_restart_spec() {
  static const detectors::DetectorSpec spec{
      "run.restart",
      {"run.restart", "resume.loss_jump", "resume.loss_drop", "resume.lr_jump", "resume.step_back",
       "resume.no_continuity", "resume.epoch_back"},
      "The run was restarted: is there continuity of loss, learning rate, step and data?",
      "A resume that drops optimizer or scheduler state unlearns for hundreds of steps, and "
      "nothing says so.",
      "step 900 loss 1.9 | step 800 loss 2.9, 2.8",
      {record::Role::loss, record::Role::lr, record::Role::epoch},
      {{"loss_jump", k_loss_jump, "x", 1.05, 10,
        "benchmark here: losses before and after a good resume differ by noise"},
       {"small_jump", k_small_jump, "x", 1.001, 2,
        "1.25 sigma sqrt(1/16 + 1/5) is the noise of the difference of the two medians"},
       {"lr_jump", k_lr_jump, "x", 1.05, 10,
        "a schedule moves by less between neighbouring records"}},
      {"https://docs.pytorch.org/tutorials/recipes/recipes/"
       "saving_and_loading_a_general_checkpoint.html"}};
  return spec;
}

/// The course of a learning rate up to a restart, and the records behind it in which a warm-up that
/// began anew comes up.
class LrCourse {
 public:
  void note(const detectors::Sample& sample) {
    if (sample.value > last_.value && !rising_) ++rises_;
    if (sample.value != last_.value) rising_ = sample.value > last_.value;
    peak_ = std::max(peak_, sample.value);
    last_ = sample;
    known_ = true;
  }
  void restart() {
    before_ = last_;
    // A schedule that only falls since its peak: if it rises after a restart, it began anew.
    // (Judgement, not measured: 5 % below the peak is past it, and warm-ups take a few records.)
    watched_ = rises_ <= 1 && last_.value < 0.95 * peak_ ? k_lr_watched : 0;
  }
  bool take() {
    const bool watched = watched_ > 0;
    if (watched) --watched_;
    return watched;
  }
  void stop() { watched_ = 0; }
  bool known() const { return known_; }
  const detectors::Sample& last() const { return last_; }
  const detectors::Sample& before() const { return before_; }

 private:
  int watched_ = 0;  ///< records since a restart that are yet to be compared
  int rises_ = 0;    ///< times that it began to rise
  bool rising_ = false;
  bool known_ = false;
  double peak_ = 0;
  detectors::Sample last_;
  detectors::Sample before_;
};

/// The level of the loss at one end of a restart, and its noise.
class LossLevel {
 public:
  void push(double value) {
    if (!lately_.empty()) changes_.push(std::fabs(value - last_));
    recent_.push(value);
    lately_.push(value);
    last_ = value;
  }
  void clear() {
    recent_.clear();
    lately_.clear();
    changes_.clear();
  }
  std::size_t size() const { return recent_.size(); }
  double most() const { return recent_.most(); }
  double median() const { return recent_.median(); }

  /// Where the loss is: of one that falls, what it fell to.
  double level() const {
    return lately_.empty() ? recent_.median() : std::min(recent_.median(), lately_.median());
  }

  /// Of one sample. Changes of neighbours have a median of 0.95 sigma in white noise, and hold
  /// little of a fall, which the spread of many samples is made of.
  double noise() const {
    constexpr std::size_t k_least = 4;
    const double spread = changes_.size() >= k_least
                              ? std::min(recent_.spread(), 1.05 * changes_.median())
                              : recent_.spread();
    return std::max(spread, 1e-4 * std::fabs(recent_.median()));
  }

 private:
  double last_ = 0;
  core::SortedWindow<16> recent_;
  core::SortedWindow<16> changes_;
  core::SortedWindow<4> lately_;
};

/// The learning rates that were logged, in order. One that comes once more in the midst of its course was
/// gone back to, with the schedule as it was there: a schedule that is built anew begins at its start.
class RatesSeen {
 public:
  void note(double lr) {
    if (seen_.size() < k_most) seen_.push_back(lr);
  }
  std::size_t size() const { return seen_.size(); }
  /// Whether a rate moves on as the last two did, by a step or two of theirs: of a schedule that comes
  /// back to its peak every rate was seen before.
  bool goes_on(double lr) const {
    if (seen_.empty()) return false;
    // A resume often prints the rate that it was saved with once more.
    const auto other = std::find_if(seen_.rbegin(), seen_.rend(),
                                    [&](double each) { return each != seen_.back(); });
    if (other == seen_.rend()) return false;
    const double before = seen_.back() - *other;
    const double now = lr - seen_.back();
    return before * now >= 0 && std::fabs(now) <= k_pace * std::fabs(before);
  }
  /// How many came before the last one that was equal; 0: none was, or one of the first.
  std::size_t before_equal(double lr) const {
    for (std::size_t i = seen_.size(); i-- > k_start;)
      if (std::fabs(seen_[i] - lr) <= k_digits * lr) return i;
    return 0;
  }
  /// Whether the rate was there at two places with others between: a schedule that restarts by itself.
  bool comes_back(double lr) const {
    std::size_t stays = 0;
    bool there = false;
    for (const double each : seen_) {
      const bool equal = std::fabs(each - lr) <= k_digits * lr;
      stays += equal && !there ? 1 : 0;
      there = equal;
    }
    return stays >= 2;
  }

 private:
  static constexpr std::size_t k_most = 16384;
  static constexpr std::size_t k_start = 3;
  static constexpr double k_digits = 1e-3;  // trainers print four
  /// Judgement: what is done again is three records and more, and those were fallen through.
  static constexpr double k_pace = 3;
  std::vector<double> seen_;
};

class RunRestartDetector final : public detectors::Detector {
 public:
  const detectors::DetectorSpec& spec() const override { return run_restart_spec(); }

  void observe(const detectors::Frame& frame, const detectors::RunContext& context,
               std::vector<detectors::Symptom>& out) override {
    if (started_ && frame.segment != segment_ && begins_stage(frame, context)) {
      anew();
    } else if (started_ && frame.segment != segment_) {
      ++restarts_;
      begin_segment(frame);
      // Records that are merely counted begin at 0 in every part of a log.
      const bool counted = context.step_kind == record::StepKind::ordinal;
      repeated_ = counted ? 0 : std::max<std::int64_t>(0, furthest_ - frame.step);
      furthest_before_ = furthest_;
      restart_.to_start = !counted && frame.step <= first_step_ + (furthest_ - first_step_) / 20;
    } else if (started_ && is_said(frame.step, context)) {
      begin_segment(frame);
    }
    segment_ = frame.segment;
    started_ = true;
    if (const detectors::Reading* loss = finite_of(frame, record::Role::loss))
      see_loss(sample_of(frame, *loss), context, out);
    if (const detectors::Reading* lr = finite_of(frame, record::Role::lr))
      see_lr(sample_of(frame, *lr), context, out);
    if (const detectors::Reading* epoch = finite_of(frame, record::Role::epoch))
      see_epoch(sample_of(frame, *epoch), context, out);
    furthest_ = std::max(furthest_, frame.step);
    first_step_ = std::min(first_step_, frame.step);
  }

  void interim(const detectors::RunContext& context,
               std::vector<detectors::Symptom>& out) const override {
    if (!comparing_) {
      report_restarts(context, out);
    } else if (!after_.empty() && jumps_clearly(context)) {
      report_jump(true, context, out);
    }
  }

  void finish(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) override {
    if (comparing_ && after_.size() >= 2) compare(context, out);
    report_restarts(context, out);
  }

 private:
  void report_restarts(const detectors::RunContext& context,
                       std::vector<detectors::Symptom>& out) const {
    if (restarts_ == 0) return;
    detectors::Symptom symptom = about("run.restart", core::Severity::note, back_from_, back_to_);
    symptom.measures["count"] = static_cast<double>(restarts_);
    symptom.summary =
        fmt::format("steps start again {} time{}", restarts_, restarts_ == 1 ? "" : "s");
    out.push_back(std::move(symptom));
    if (repeated_ <= 0) return;
    // What was learnt is there, and still step and schedule begin anew.
    const bool count_lost = restart_.to_start && restart_.goes_on && restart_.lr_anew;
    // The number of steps done where they are counted from 1; where they are counted from 0, of the
    // next one.
    const std::int64_t loaded = back_to_.step - (first_step_ == 0 ? 0 : interval_);
    const std::int64_t redone = furthest_before_ - loaded;
    const bool skips_saves = interval_ > 0 && redone >= k_redone * interval_ &&
                             !restart_.to_start && saves_were_skipped(loaded, redone);
    const bool wrong = count_lost || skips_saves;
    detectors::Symptom back =
        about("resume.step_back", wrong ? core::Severity::warning : core::Severity::note,
              back_from_, back_to_);
    back.measures["count_lost"] = count_lost;
    back.measures["steps"] = static_cast<double>(repeated_);
    back.measures["to_start"] = restart_.to_start;
    back.measures["loaded"] = static_cast<double>(loaded);
    back.measures["skips_saves"] = skips_saves;
    back.summary = fmt::format("goes back from {} to {} {}", at_step(context, back_from_.step),
                               context.step_word(), back_to_.step);
    out.push_back(std::move(back));
  }

  void begin_segment(const detectors::Frame& frame) {
    before_ = recent_;
    start_level_ = first_.median();
    comparing_ = recent_.size() >= 4;
    comparing_lr_ = lr_.known();
    comparing_epoch_ = epoch_known_;
    after_.clear();
    recent_.clear();
    back_from_ = last_;
    back_to_ = {0, frame.step,
                frame.readings.empty() ? record::Origin{} : frame.readings.front().origin};
    restart_ = {};
  }

  /// The program announces another stage between the last frame and this one: its steps begin anew,
  /// and nothing was resumed.
  bool begins_stage(const detectors::Frame& frame, const detectors::RunContext& context) const {
    if (frame.readings.empty()) return false;
    const record::Origin& here = frame.readings.front().origin;
    return std::any_of(context.stages.begin(), context.stages.end(), [&](const task::Stage& stage) {
      return stage.origin.offset > 0 && stage.origin.source == here.source &&
             last_.origin.source == here.source && stage.origin.offset > last_.origin.offset &&
             stage.origin.offset <= here.offset;
    });
  }

  /// Another stage: what came before is no measure of it.
  void anew() {
    recent_.clear();
    first_.clear();
    after_.clear();
    comparing_ = false;
    furthest_ = 0;
    first_step_ = std::numeric_limits<std::int64_t>::max();
  }

  /// The artifact says that the run was resumed between the last frame and this one.
  bool is_said(std::int64_t step, const detectors::RunContext& context) const {
    return std::any_of(context.resumed_at.begin(), context.resumed_at.end(),
                       [&](std::int64_t at) { return at > furthest_ && at <= step; });
  }

  void see_loss(const detectors::Sample& sample, const detectors::RunContext& context,
                std::vector<detectors::Symptom>& out) {
    if (!first_.full()) first_.push(sample.value);
    if (comparing_) {
      if (after_.empty()) after_first_ = sample;
      after_.push(sample.value);
      if (after_.size() == k_after) compare(context, out);
    }
    recent_.push(sample.value);
    const std::int64_t ahead = sample.step - last_.step;
    if (recent_.size() > 1 && ahead > 0 && (interval_ == 0 || ahead < interval_)) interval_ = ahead;
    last_ = sample;
  }

  /// Each loss since the restart stands out of those before it: the first one may say so.
  bool jumps_clearly(const detectors::RunContext& context) const {
    const double before = before_.level();
    const double least = after_.least();
    return !context.reinforcement && before > 0 && least > before_.most() &&
           least >= k_loss_jump * before && least - before >= k_sigma * before_.noise();
  }

  void compare(const detectors::RunContext& context, std::vector<detectors::Symptom>& out) {
    comparing_ = false;
    const double before = before_.level();
    const double after = after_.median();
    restart_.goes_on = start_level_ > k_loss_jump * before && 2 * after < before + start_level_;
    if (!context.reinforcement && after > 0 && after < k_loss_drop * before &&
        before - after >= k_drop_sigmas * before_.noise())
      report_drop(before, after, context, out);
    if (context.reinforcement || !(before > 0) || after < k_small_jump * before ||
        after - before < k_small_sigma * before_.noise())
      return;
    const bool clear = after >= k_loss_jump * before && after - before >= k_sigma * before_.noise();
    report_jump(clear, context, out);
  }

  void report_jump(bool clear, const detectors::RunContext& context,
                   std::vector<detectors::Symptom>& out) const {
    const double before = before_.level();
    const double after = after_.median();
    // Back at the level of the very first losses: not a bad resume but a new start.
    const bool anew = start_level_ > k_loss_jump * before && after > 0.8 * start_level_ &&
                      after - before > k_way_back * (start_level_ - before);
    const char* id = anew ? "resume.no_continuity" : "resume.loss_jump";
    const core::Severity severity =
        !clear || (anew && restart_.to_start) ? core::Severity::note : core::Severity::warning;
    detectors::Symptom symptom = about(id, severity, back_from_, after_first_);
    symptom.measures["before"] = before;
    symptom.measures["after"] = after;
    symptom.measures["ratio"] = after / before;
    symptom.measures["from_scratch"] = anew;
    symptom.measures["clear"] = clear;
    symptom.summary =
        fmt::format("loss {} before the restart, {} after it ({})", core::show_number(before),
                    core::show_number(after), at_step(context, after_first_.step));
    if (anew) symptom.summary += ": as at the very start";
    out.push_back(std::move(symptom));
  }

  /// No resume makes a model better: what is easier behind it was seen before.
  void report_drop(double before, double after, const detectors::RunContext& context,
                   std::vector<detectors::Symptom>& out) const {
    detectors::Symptom symptom =
        about("resume.loss_drop", core::Severity::warning, back_from_, after_first_);
    symptom.measures["before"] = before;
    symptom.measures["after"] = after;
    symptom.measures["ratio"] = after / before;
    symptom.summary = fmt::format(
        "loss {} before the resume, {} right after it ({}): as on samples seen before",
        core::show_number(before), core::show_number(after), at_step(context, after_first_.step));
    out.push_back(std::move(symptom));
  }

  /// The learning rate is one that was logged `before` records from the start: the run went back to there.
  void report_again(std::size_t before, const detectors::Sample& from, const detectors::Sample& to,
                    const detectors::RunContext& context, std::vector<detectors::Symptom>& out) {
    const auto loaded = static_cast<double>(before);
    const double redone = static_cast<double>(rates_.size()) - loaded;
    const bool skips_saves = redone > k_most_between_saves * loaded;
    detectors::Symptom back = about(
        "resume.step_back", skips_saves ? core::Severity::warning : core::Severity::note, from, to);
    back.series = "lr";
    back.measures["count_lost"] = false;
    back.measures["loaded"] = loaded;
    back.measures["skips_saves"] = skips_saves;
    back.summary =
        fmt::format("goes back by {} of {} records ({}): learning rate {} once more", redone,
                    rates_.size(), at_step(context, to.step), core::show_number(to.value, 3));
    out.push_back(std::move(back));
  }

  /// After a resume that the log tells, steps go on and the epoch goes back: the data began again.
  void see_epoch(const detectors::Sample& sample, const detectors::RunContext& context,
                 std::vector<detectors::Symptom>& out) {
    const bool compare_now = comparing_epoch_;
    comparing_epoch_ = false;
    const detectors::Sample previous = last_epoch_;
    last_epoch_ = sample;
    epoch_known_ = true;
    if (!compare_now || sample.step <= previous.step ||
        sample.value >= previous.value - k_epoch_back)
      return;
    detectors::Symptom symptom =
        about("resume.epoch_back", core::Severity::warning, previous, sample);
    symptom.series = "epoch";
    symptom.measures["before"] = previous.value;
    symptom.measures["after"] = sample.value;
    symptom.summary =
        fmt::format("epoch {} before the restart, {} after it ({}), while steps go on",
                    core::show_number(previous.value, 3), core::show_number(sample.value, 3),
                    at_step(context, sample.step));
    out.push_back(std::move(symptom));
  }

  void see_lr(const detectors::Sample& sample, const detectors::RunContext& context,
              std::vector<detectors::Symptom>& out) {
    // A warm-up that begins anew is at 0 first: the next value tells.
    if (comparing_lr_ && sample.value <= 0) return;
    const bool compare_now = comparing_lr_;
    comparing_lr_ = false;
    const detectors::Sample previous = compare_now ? lr_.last() : lr_.before();
    if (compare_now) lr_.restart();
    lr_.note(sample);
    const std::size_t again =
        compare_now && !rates_.goes_on(sample.value) ? rates_.before_equal(sample.value) : 0;
    if (!compare_now || again == 0) rates_.note(sample.value);
    const bool watched = !compare_now && lr_.take();
    if (!(compare_now || watched) || previous.value <= 0 || sample.value <= 0) return;
    if (again > 0) {
      lr_.stop();
      if (rates_.comes_back(sample.value)) return;
      const bool redone = rates_.size() >= again + static_cast<std::size_t>(k_redone);
      if (redone && repeated_ <= 0) report_again(again, previous, sample, context, out);
      return;
    }
    const double ratio = sample.value / previous.value;
    if (ratio < k_lr_jump && (watched || ratio > 1 / k_lr_jump)) return;
    lr_.stop();
    restart_.lr_anew = true;
    if (restart_.to_start) return;
    detectors::Symptom symptom = about("resume.lr_jump", core::Severity::warning, previous, sample);
    symptom.series = "lr";
    symptom.measures["before"] = previous.value;
    symptom.measures["after"] = sample.value;
    symptom.measures["ratio"] = ratio;
    symptom.summary =
        fmt::format("learning rate {} before the restart, {} after it ({})",
                    core::show_number(previous.value, 3), core::show_number(sample.value, 3),
                    at_step(context, sample.step));
    out.push_back(std::move(symptom));
  }

  static detectors::Symptom about(std::string id, core::Severity severity,
                                  const detectors::Sample& from, const detectors::Sample& to) {
    detectors::Symptom symptom;
    symptom.id = std::move(id);
    symptom.severity = severity;
    symptom.series = "loss";
    symptom.first_step = to.step;
    symptom.last_step = to.step;
    add_evidence(symptom, from.origin);
    add_evidence(symptom, to.origin);
    return symptom;
  }

  /// What is seen of the last restart.
  struct Restart {
    bool goes_on = false;   ///< the loss, where it was
    bool lr_anew = false;   ///< the learning rate is another
    bool to_start = false;  ///< the steps
  };

  bool started_ = false;
  bool comparing_ = false;
  bool comparing_lr_ = false;
  bool comparing_epoch_ = false;
  bool epoch_known_ = false;
  Restart restart_;
  std::uint16_t segment_ = 0;
  std::uint64_t restarts_ = 0;
  std::int64_t furthest_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t first_step_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t repeated_ = 0;
  std::int64_t furthest_before_ = 0;  ///< the restart
  std::int64_t interval_ = 0;         ///< shortest between two losses; 0: not seen
  double start_level_ = 0;
  LrCourse lr_;
  RatesSeen rates_;
  core::SortedWindow<3> first_;
  LossLevel recent_;
  LossLevel before_;
  core::SortedWindow<8> after_;
  detectors::Sample last_;
  detectors::Sample last_epoch_;
  detectors::Sample after_first_;
  detectors::Sample back_from_;
  detectors::Sample back_to_;
};

}  // namespace

std::unique_ptr<detectors::Detector> make_run_restart_detector() {
  return std::make_unique<RunRestartDetector>();
}

}  // namespace aplomb::run_detectors
