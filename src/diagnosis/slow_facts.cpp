#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/text.h"
#include "diagnosis/incident_facts.h"

namespace aplomb::diagnosis {
namespace {

/// Below this a card waits for something: users of starved runs report 0 to 46 %.
constexpr double k_idle_percent = 60;
constexpr double k_busy_percent = 90;

std::optional<double> caught(const record::Event& event, const char* name) {
  const auto found = event.caught.find(name);
  if (found == event.caught.end()) return std::nullopt;
  const double* value = core::as_number(found->second);
  return value == nullptr ? std::nullopt : std::optional<double>(*value);
}

/// DeepSpeed's and Megatron's breakdowns: the shares of forward, backward, optimizer step and
/// all-reduce.
void add_breakdown(const record::Run& run, FactTable& facts) {
  double forward = 0;
  double backward = 0;
  double step = 0;
  double allreduce = 0;
  double data = 0;
  record::Origin origin;
  bool seen = false;
  for (const record::Event& event : run.events) {
    if (event.kind != "wall-clock") continue;
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
    facts.set({name,
               part / all,
               fmt::format("{} takes {:.0f} % of a step", words, 100 * part / all),
               {origin}});
  };
  share("slow.optimizer_share", step, "the optimizer step");
  share("slow.communication_share", allreduce, "the all-reduce");
  share("slow.data_share", data, "the batch generator");
}

/// `Time 3.06 (10.06)  Data 2.99 (9.80)`: the mean of both where it is printed, else the mean of
/// what was caught.
void add_waits(const record::Run& run, FactTable& facts) {
  double time = 0;
  double data = 0;
  record::Origin origin;
  for (const record::Event& event : run.events) {
    if (event.kind != "time-and-data") continue;
    const auto mean = caught(event, "mean");
    const auto data_mean = caught(event, "data_mean");
    time += mean.value_or(caught(event, "now").value_or(0));
    data += data_mean.value_or(caught(event, "data_now").value_or(0));
    origin = event.origin;
  }
  if (time <= 0) return;
  const double share = data / time;
  facts.set({"slow.data_share",
             share,
             fmt::format("{:.0f} % of a step is spent waiting for data", 100 * share),
             {origin}});
}

void add_series_waits(const record::Run& run, FactTable& facts) {
  const record::Series* data = run.primary(record::Role::data_time_s);
  const record::Series* step = run.primary(record::Role::step_time_s);
  if (data == nullptr || step == nullptr) return;
  double waited = 0;
  double all = 0;
  for (const double value : data->value) waited += value;
  for (const double value : step->value) all += value;
  if (!(all > 0) || data->size() != step->size()) return;
  const double share = waited / all;
  facts.set({"slow.data_share",
             share,
             fmt::format("{:.0f} % of the time is spent waiting for data", 100 * share),
             {data->origin(data->size() - 1)}});
}

/// nvidia-smi's own numbers first, then what a sentence says of the card, then any percentage that
/// stands near it.
void add_utilisation(const record::Run& run, FactTable& facts) {
  std::vector<double> percents;
  record::Origin origin;
  const auto take = [&](const char* name, double scale) {
    const record::Fact* fact = facts.find(name);
    const double* value = fact == nullptr ? nullptr : core::as_number(fact->value);
    if (!percents.empty() || value == nullptr || scale * *value > 100) return;
    percents.push_back(scale * *value);
    if (!fact->evidence.empty()) origin = fact->evidence.front();
  };
  take("monitor.gpu_percent", 1);
  take("said.gpu_util.value", 100);
  const bool told = !percents.empty();
  for (const record::Event& event : run.events) {
    if (told || event.kind != "gpu-utilisation") continue;
    for (const char* name : {"percent", "percent_b", "percent_c"}) {
      const auto percent = caught(event, name);
      if (!percent || *percent > 100) continue;
      percents.push_back(*percent);
      origin = event.origin;
    }
  }
  if (percents.empty()) return;
  std::sort(percents.begin(), percents.end());
  const double median = percents[percents.size() / 2];
  const std::string words = fmt::format("the card is {:.0f} % busy", median);
  facts.set({"slow.gpu_percent", median, words, {origin}});
  facts.set({"slow.gpu_idle", median < k_idle_percent, words, {origin}});
  facts.set({"slow.gpu_busy", median >= k_busy_percent, words, {origin}});
}

/// A card that waits, in words. Said first: a single percentage does not deny it.
void add_said_idleness(FactTable& facts) {
  for (const char* name : {"said.gpu_util.low", "said.gpu_util.zero", "said.gpu_util.idle",
                           "said.gpu_util.falls", "said.gpu_util.jumps", "said.gpu_util.oscillates",
                           "said.gpu.idle", "said.about.gpu_waits"}) {
    const record::Fact* fact = facts.find(name);
    if (fact != nullptr && core::is_true(fact->value))
      facts.set({"slow.gpu_idle", true, fact->because, fact->evidence});
  }
}

}  // namespace

void add_slow_facts(const record::Run& run, FactTable& facts) {
  add_breakdown(run, facts);
  add_series_waits(run, facts);
  add_waits(run, facts);
  add_said_idleness(facts);
  add_utilisation(run, facts);
  for (const record::Event& event : run.events) {
    if (event.kind == "gpu-idle")
      facts.set({"slow.gpu_idle", true, core::shorten(event.text, 160), {event.origin}});
  }
}

}  // namespace aplomb::diagnosis
