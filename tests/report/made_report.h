#pragma once
/// A report as a broken run gives it, made by hand: every member filled, hostile texts among them.

#include <aplomb/report.h>

#include <cmath>

namespace aplomb::test {

inline constexpr const char* k_hostile =
    "</script><img src=x onerror=alert(1)> & \"quotes\" 'n' \xE2\x80\xA8";

inline Evidence made_evidence() {
  return {"out/train.log", 31, 30, "{'loss': nan, 'grad_norm': nan}"};
}

inline ReportSeries made_series(const char* name, const char* role) {
  ReportSeries series;
  series.name = name;
  series.role = role;
  series.points = 40;
  series.first_step = 1;
  series.last_step = 40;
  series.min = 1.25;
  series.max = 96.0;
  series.first = 4.0;
  series.last = std::nan("");
  series.nonfinite = 11;
  series.path = "out/train.log";
  for (int step = 1; step <= 40; ++step) {
    const double value = step < 25 ? 4.0 / step + 1.15 : std::pow(1.9, step - 22);
    series.chart.push_back({step, step < 30 ? value : std::nan("")});
  }
  return series;
}

inline ReportCause made_cause(const char* id, const char* title, double probability) {
  ReportCause cause;
  cause.id = id;
  cause.family = "nan";
  cause.title = title;
  cause.probability = probability;
  cause.because = "The loss rises for several steps before it stops being a number.";
  cause.weights = {{"lr.max >= 0.003", 2.5, "lr reaches 0.01", {made_evidence()}},
                   {"known(optim.grad_clip)", -0.5, "clipping is on", {}}};
  cause.evidence = {made_evidence()};
  cause.remedies = {{"Lower the peak learning rate",
                     {{"optim.lr", 2e-5}},
                     {{"generic", "optim.lr: 2e-05"}, {"hf-trainer", "learning_rate=2e-05"}}},
                    {"Warm up over 5 % of the steps",
                     {{"schedule.warmup_frac", 0.05}},
                     {{"generic", "schedule.warmup_frac: 0.05"}}}};
  cause.verify = "100 steps without a NaN";
  cause.references = {"https://arxiv.org/abs/2304.13013"};
  return cause;
}

inline Report made_report() {
  Report report;
  report.verdict = Verdict::failed;
  report.inputs = {{"out/train.log", "text_log", 40, {}},
                   {"out/events.out", "tensorboard", 0, {std::string("torn tail: ") + k_hostile}}};
  report.series = {made_series("loss", "loss"), made_series("grad_norm", "grad_norm"),
                   made_series("lr", "lr")};
  report.symptoms = {
      {"loss.nonfinite",
       "failed",
       30,
       40,
       "loss",
       "loss becomes NaN at step 30",
       {made_evidence(), {"out/train.log", 32, 31, k_hostile}}},
      {"lr.no_warmup", "note", 1, 1, "lr", "the learning rate starts at its peak", {}}};
  report.causes = {made_cause("nan.lr-too-high", "The learning rate is too high", 0.87),
                   made_cause("nan.bad-data-nonfinite", "A sample holds a non-finite value", 0.09)};
  report.ruled_out = {{"nan.fp16-overflow",
                       "A value exceeds what fp16 can hold (65504)",
                       "nothing is computed in fp16: fp32",
                       {made_evidence()}},
                      {"nan.no-grad-clip",
                       "One large gradient is not clipped",
                       "gradients are clipped at a norm of 1",
                       {}},
                      {"nan.unstable-op", "An operation has no finite result", k_hostile, {}}};
  report.health.against = {{"the held-out loss is never below its first value", {}}};
  report.health.missing = {{"no loss, score or reward was read", {}}};
  report.unknown_probability = 0.04;
  report.experiments = {{"Run 50 steps at a tenth of the learning rate",
                         {"nan.lr-too-high", "nan.bad-data-nonfinite"},
                         "no NaN: the learning rate; the same step again: the data"}};
  report.runs = {{"out", Verdict::failed, "the loss became NaN at step 30", "nan.lr-too-high", 40}};
  report.settings = {
      {"optim.lr", 0.01}, {"precision.compute", std::string("bf16")}, {"data.packing", true}};
  report.summary = {{"headline", std::string("the loss became NaN at step 30")},
                    {"first_action", std::string("Lower the peak learning rate")},
                    {"framework", std::string("hf-trainer")},
                    {"run", std::string("out")},
                    {"runs", 1.0},
                    {"steps", 40.0},
                    {"seconds", 0.012}};
  return report;
}

inline Report made_healthy_report() {
  Report report;
  report.verdict = Verdict::healthy;
  report.inputs = {{"out/train.log", "text_log", 40, {}}};
  report.symptoms = {{"run.healthy",
                      "note",
                      1,
                      40,
                      "loss",
                      "loss falls 4.1 -> 1.3, gradients stay in 0.2-1.1",
                      {}}};
  report.runs = {{"out", Verdict::healthy, "nothing is wrong", "", 40}};
  report.summary = {{"headline", std::string("loss falls 4.1 -> 1.3, gradients stay in 0.2-1.1")},
                    {"seen", std::string("loss falls 4.1 -> 1.3, gradients stay in 0.2-1.1")},
                    {"first_action", std::string("go on: nothing needs to change")},
                    {"runs", 1.0}};
  return report;
}

}  // namespace aplomb::test
