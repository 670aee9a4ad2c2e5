#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "core/median.h"
#include "core/text.h"
#include "diagnosis/caught_values.h"
#include "diagnosis/derivers.h"
#include "task/metric_words.h"

namespace aplomb::diagnosis {
namespace {

using facts::FactView;

/// Below this a card waits for something: users of starved runs report 0 to 46 %.
constexpr double k_idle_percent = 60;
constexpr double k_busy_percent = 90;

/// DeepSpeed's and Megatron's breakdowns: the shares of forward, backward, optimizer step and
/// all-reduce.
void say_breakdown(FactView& view) {
  double forward = 0;
  double backward = 0;
  double step = 0;
  double allreduce = 0;
  double data = 0;
  record::Origin origin;
  bool seen = false;
  for (const record::Event* each : view.events("wall-clock")) {
    const record::Event& event = *each;
    if (!seen) origin = event.origin;
    seen = true;
    forward = std::max(forward, caught(event, "forward").value_or(0));
    backward = std::max(backward, caught(event, "backward").value_or(0));
    step = std::max(step, caught(event, "step").value_or(0));
    allreduce = std::max(allreduce, caught(event, "allreduce").value_or(0));
    data = std::max(data, caught(event, "data").value_or(0));
  }
  const double all = forward + backward + step;
  if (!seen || forward <= 0 || backward <= 0 || all <= 0) return;
  const auto share = [&](const char* name, double part, const char* words) {
    view.set_at(name, part / all,
                fmt::format("{} takes {:.0f} % of a step", words, 100 * part / all), {origin});
  };
  share("slow.optimizer_share", step, "the optimizer step");
  share("slow.communication_share", allreduce, "the all-reduce");
  share("slow.data_share", data, "the batch generator");
}

/// `Time 3.06 (10.06)  Data 2.99 (9.80)`: the mean of both where it is printed, else the mean of
/// what was caught.
void say_printed_waits(FactView& view) {
  double time = 0;
  double data = 0;
  record::Origin origin;
  for (const record::Event* each : view.events("time-and-data")) {
    const record::Event& event = *each;
    const auto mean = caught(event, "mean");
    const auto data_mean = caught(event, "data_mean");
    time += mean.value_or(caught(event, "now").value_or(0));
    data += data_mean.value_or(caught(event, "data_now").value_or(0));
    origin = event.origin;
  }
  if (time <= 0) return;
  const double share = data / time;
  view.set_at("slow.data_share", share,
              fmt::format("{:.0f} % of a step is spent waiting for data", 100 * share), {origin});
}

/// What a logged part of each step takes of it, over all records.
void say_logged_part(FactView& view, const record::Series* part, const char* fact,
                     const char* words) {
  const record::Series* step = view.series(record::Role::step_time_s);
  if (part == nullptr || step == nullptr) return;
  double waited = 0;
  double all = 0;
  for (const double value : part->value) waited += value;
  for (const double value : step->value) all += value;
  if (!(all > 0) || part->size() != step->size()) return;
  const double share = waited / all;
  view.set_at(fact, share, fmt::format("{:.0f} % of the time is spent {}", 100 * share, words),
              {part->origin(part->size() - 1)});
}

/// Where the step is logged in parts and not as a whole: the wait for data beside forward and backward.
void say_wait_beside_work(FactView& view) {
  const record::Series* data = view.series(record::Role::data_time_s);
  if (data == nullptr || view.series(record::Role::step_time_s) != nullptr) return;
  const auto& all = view.all_series();
  const auto work = std::find_if(all.begin(), all.end(), [](const record::Series& each) {
    return task::metric_words(each.name).part == task::Part::compute_time;
  });
  if (work == all.end() || work->size() != data->size()) return;
  const double waited = std::accumulate(data->value.begin(), data->value.end(), 0.0);
  const double worked = std::accumulate(work->value.begin(), work->value.end(), 0.0);
  if (!(waited > 0) || !(worked > 0)) return;
  const double share = waited / (waited + worked);
  view.set_at("slow.data_share", share,
              fmt::format("{:.0f} % of the time is spent waiting for data", 100 * share),
              {data->origin(data->size() - 1)});
}

void say_logged_waits(FactView& view) {
  say_wait_beside_work(view);
  say_logged_part(view, view.series(record::Role::data_time_s), "slow.data_share",
                  "waiting for data");
  const auto& all = view.all_series();
  const auto in_collectives = std::find_if(all.begin(), all.end(), [](const record::Series& each) {
    return each.name == "comm_time_s";
  });
  if (in_collectives != all.end())
    say_logged_part(view, &*in_collectives, "slow.communication_share", "in collectives");
}

/// What is logged before what is printed; a breakdown of the step before both.
void derive_shares(FactView& view) {
  say_breakdown(view);
  say_logged_waits(view);
  say_printed_waits(view);
}

/// A card that waits, in words. Said first: a single percentage does not deny it.
constexpr std::array<const char*, 8> k_waits = {"said.gpu_util.low",   "said.gpu_util.zero",
                                                "said.gpu_util.idle",  "said.gpu_util.falls",
                                                "said.gpu_util.jumps", "said.gpu_util.oscillates",
                                                "said.gpu.idle",       "said.about.gpu_waits"};

void say_idleness(FactView& view) {
  for (const char* name : k_waits) {
    const record::Fact* fact = view.find(name);
    if (fact != nullptr && core::is_true(fact->value))
      view.set_at("slow.gpu_idle", true, fact->because, fact->evidence);
  }
}

/// nvidia-smi's own numbers first, then what a sentence says of the card, then any percentage that
/// stands near it.
void say_utilisation(FactView& view) {
  std::vector<double> percents;
  record::Origin origin;
  const auto take = [&](const char* name, double scale) {
    const auto value = view.number(name);
    if (!percents.empty() || !value || scale * *value > 100) return;
    percents.push_back(scale * *value);
    const record::Fact* fact = view.find(name);
    if (!fact->evidence.empty()) origin = fact->evidence.front();
  };
  take("monitor.gpu_percent", 1);
  take("said.gpu_util.value", 100);
  const bool told = !percents.empty();
  for (const record::Event* event : view.events("gpu-utilisation")) {
    if (told) break;
    for (const char* name : {"percent", "percent_b", "percent_c"}) {
      const auto percent = caught(*event, name);
      if (!percent || *percent > 100) continue;
      percents.push_back(*percent);
      origin = event->origin;
    }
  }
  if (percents.empty()) return;
  std::sort(percents.begin(), percents.end());
  const double median = percents[percents.size() / 2];
  const std::string words = fmt::format("the card is {:.0f} % busy", median);
  view.set_at("slow.gpu_percent", median, words, {origin});
  view.set_at("slow.gpu_idle", median < k_idle_percent, words, {origin});
  view.set_at("slow.gpu_busy", median >= k_busy_percent, words, {origin});
}

void derive_card(FactView& view) {
  say_idleness(view);
  say_utilisation(view);
  for (const record::Event* event : view.events("gpu-idle"))
    view.set_at("slow.gpu_idle", true, core::shorten(event->text, 160), {event->origin});
}

/// Of the arithmetic that the card could do: 46 % is PaLM's, 21 % GPT-3's, the lowest of that table
/// (arXiv:2204.02311, table 3). Below half of the lowest the card waits, or works on something else.
constexpr double k_low_mfu = 0.1;

double middle_of(const record::Series& series) {
  std::vector<double> finite;
  for (const double value : series.value) {
    if (std::isfinite(value)) finite.push_back(value);
  }
  if (finite.empty()) return 0;
  return core::upper_median(std::move(finite));
}

void say_mfu(FactView& view, double share, const std::string& told, record::Origin origin) {
  view.set_at("speed.mfu", share, told, {origin});
  view.set_at("slow.mfu_low", share < k_low_mfu && !view.truth("config.toy"), told, {origin});
}

/// As logged (a share, or per cent), or 6 operations a weight and token, 4 where the weights of the
/// base get no gradient, over the peak of one card: what several cards did together counts as one's,
/// so that the share is at least told too high.
void derive_mfu(FactView& view) {
  constexpr std::size_t k_least = 3;
  if (const record::Series* logged = view.series(record::Role::mfu_frac);
      logged != nullptr && logged->size() >= k_least) {
    const double middle = middle_of(*logged);
    const double share = middle > 1 ? middle / 100 : middle;
    if (share > 0) {
      say_mfu(
          view, share,
          fmt::format("the model's arithmetic is {:.1f} % of what the card could do", 100 * share),
          logged->origin(logged->size() - 1));
    }
    return;
  }
  const record::Series* speed = view.series(record::Role::tokens_per_s);
  const auto weights = view.positive("config.weights");
  // Where no format is told a card that has bf16 is taken to use it, as trainers of today do.
  std::string format = view.word("precision.compute");
  if (format.empty() && view.positive("hardware.peak_flops.bf16")) format = "bf16";
  const auto peak = view.positive("hardware.peak_flops." + (format == "fp32" ? "tf32" : format));
  if (speed == nullptr || speed->size() < k_least || !weights || format.empty() || !peak) return;
  const double tokens = middle_of(*speed);
  const double operations = view.truth("config.adapter") ? 4 : 6;
  const double share = operations * *weights * tokens / *peak;
  if (!(share > 0)) return;
  say_mfu(
      view, share,
      fmt::format("{} tokens/s of about {} weights are {:.1f} % of the {:.0f} Tflop/s of the card "
                  "(model FLOPs utilisation)",
                  core::show_number(tokens, 3), core::show_number(*weights, 2), 100 * share,
                  *peak / 1e12),
      speed->origin(speed->size() - 1));
  const double cards = view.positive("env.gpu_count").value_or(1);
  if (cards > 1)
    view.set_at("speed.mfu_all", share / cards,
                fmt::format("{:.1f} % of what {:.0f} cards could do", 100 * share / cards, cards),
                {speed->origin(speed->size() - 1)});
}

std::vector<std::string> what_tells_of_the_card() {
  std::vector<std::string> names = {"monitor.gpu_percent", "said.gpu_util.value",
                                    "event:gpu-utilisation", "event:gpu-idle"};
  names.insert(names.end(), k_waits.begin(), k_waits.end());
  return names;
}

}  // namespace

std::vector<facts::Deriver> slow_facts() {
  return {
      {.name = "shares of a step",
       .reads = {"event:wall-clock", "event:time-and-data", "series:data_time_s",
                 "series:step_time_s", "series:*"},
       .gives = {"slow.optimizer_share", "slow.communication_share", "slow.data_share"},
       .derive = derive_shares},
      {.name = "model FLOPs utilisation",
       .reads = {"series:mfu_frac", "series:tokens_per_s", "config.weights", "config.toy",
                 "config.adapter", "precision.compute", "hardware.peak_flops.*", "env.gpu_count"},
       .gives = {"speed.mfu", "speed.mfu_all", "slow.mfu_low"},
       .derive = derive_mfu},
      {.name = "use of the card",
       .reads = what_tells_of_the_card(),
       .gives = {"slow.gpu_percent", "slow.gpu_idle", "slow.gpu_busy"},
       .derive = derive_card}};
}

}  // namespace aplomb::diagnosis
