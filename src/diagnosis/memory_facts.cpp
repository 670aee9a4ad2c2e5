#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "core/text.h"
#include "diagnosis/caught_values.h"
#include "diagnosis/derivers.h"

namespace aplomb::diagnosis {
namespace {

using facts::FactView;

/// From here on one tensor is a large part of the card: in public reports where a single tensor was
/// the cause (logits, a score matrix, collected predictions, a flat optimizer state) it asked for
/// 13 % of the card and more, where the standing load was the cause for 6 % and less.
constexpr double k_giant_share = 0.10;
constexpr double k_half_empty =
    0.30;  ///< free share from which "the card is full" is not the story
constexpr double k_small_request =
    0.02;                        ///< request share below which any tensor would have failed
constexpr double k_full = 0.10;  ///< free share below which the card counts as full
constexpr double k_notable_slack = 0.10;  ///< of the card, reserved but not allocated
constexpr double k_foreign = 0.15;        ///< of the card, held by other processes

/// The event with the most numbers; the first of equals.
const record::Event* fullest(const FactView& view, std::string_view kind) {
  const record::Event* best = nullptr;
  for (const record::Event* event : view.events(kind)) {
    if (best == nullptr || event->caught.size() > best->caught.size()) best = event;
  }
  return best;
}

class MemoryMessage {
 public:
  MemoryMessage(const record::Event& event, FactView& view) : event_(event), view_(view) {
    requested_ = caught(event, "requested");
    total_ = caught(event, "total");
    free_ = caught(event, "free");
    allocated_ = caught(event, "allocated");
    reserved_ = caught(event, "reserved");
    const auto unallocated = caught(event, "unallocated");
    if (!reserved_ && allocated_ && unallocated) reserved_ = *allocated_ + *unallocated;
    in_use_ = caught(event, "in_use");
    if (!free_ && total_ && in_use_) free_ = std::max(0.0, *total_ - *in_use_);
    if (!in_use_) in_use_ = reserved_ ? reserved_ : allocated_;
  }

  void say() {
    bytes("oom.requested_bytes", requested_);
    if (requested_) set("oom.asked", core::show_bytes(*requested_), "asked for");
    bytes("oom.total_bytes", total_);
    bytes("oom.free_bytes", free_);
    bytes("oom.allocated_bytes", allocated_);
    bytes("oom.reserved_bytes", reserved_);
    if (!total_ || *total_ <= 0) return;
    say_request();
    say_slack();
    say_foreign();
  }

 private:
  void set(const char* name, core::Value value, std::string because) {
    view_.set_at(name, std::move(value), std::move(because), {event_.origin});
  }
  void bytes(const char* name, std::optional<double> value) {
    if (value) set(name, *value, std::string(name + 4) + " " + core::show_bytes(*value));
  }

  void say_request() {
    if (!requested_) return;
    const double share = *requested_ / *total_;
    const std::string asked =
        fmt::format("{} asked for, {:.1f} % of the card's {}", core::show_bytes(*requested_),
                    100 * share, core::show_bytes(*total_));
    set("oom.request_share", share, asked);
    set("oom.impossible_request", share > 1, asked);
    if (!free_) return;
    const double free_share = *free_ / *total_;
    const std::string left = fmt::format("{}, {} free", asked, core::show_bytes(*free_));
    set("oom.free_share", free_share, left);
    const bool giant =
        share >= k_giant_share || (free_share >= k_half_empty && *requested_ > *free_);
    set("oom.one_giant_tensor", giant, left);
    set("oom.base_load_full", share < k_small_request && free_share < k_full, left);
    // A small request that fails on an empty card is not about memory: another process or a broken
    // driver.
    set("oom.free_but_failed", *free_ > *requested_ && free_share > k_half_empty, left);
  }

  void say_slack() {
    if (!allocated_ || !reserved_) return;
    const double slack = std::max(0.0, *reserved_ - *allocated_);
    const std::string text =
        fmt::format("{} reserved by PyTorch, {} of it allocated", core::show_bytes(*reserved_),
                    core::show_bytes(*allocated_));
    set("oom.fragmentation", slack / *total_, text);
    set("oom.fragmented", requested_ && slack > *requested_ && slack / *total_ > k_notable_slack,
        text);
  }

  void say_foreign() {
    if (!free_ || !in_use_) return;
    const double foreign = std::max(0.0, *total_ - *free_ - *in_use_) / *total_;
    set("oom.foreign_share", foreign,
        fmt::format("{:.0f} % of the card is held by neither this process nor free",
                    100 * foreign));
    set("oom.card_shared", foreign > k_foreign,
        fmt::format("{:.0f} % of the card is held by others", 100 * foreign));
  }

  const record::Event& event_;
  FactView& view_;
  std::optional<double> requested_, total_, free_, allocated_, reserved_, in_use_;
};

void say_places(FactView& view, std::string_view kind) {
  static constexpr std::array<std::string_view, 10> k_places = {
      "in_backward", "in_optimizer_step", "in_eval",      "at_save", "in_load",
      "in_generate", "in_logits",         "in_attention", "in_init", "in_forward"};
  for (const record::Event* event : view.events(kind)) {
    for (const std::string_view place : k_places) {
      if (event->caught.count(std::string(place)) == 0) continue;
      view.set_at(fmt::format("oom.{}", place), true,
                  fmt::format("the stack of the error: {}", place), {event->origin});
    }
  }
}

/// Where training had ended when the error came: a closing line of the trainer stands before it.
void say_time(FactView& view, const record::Event& event) {
  const auto ends = view.events("training-ended");
  const bool ended = std::any_of(ends.begin(), ends.end(), [&](const record::Event* other) {
    return other->origin.source == event.origin.source &&
           other->origin.offset <= event.origin.offset;
  });
  const auto& all = view.all_series();
  const bool closed = std::any_of(all.begin(), all.end(), [&](const record::Series& series) {
    return series.raw_name.find("train_runtime") != std::string::npos &&
           series.source == event.origin.source && !series.empty() &&
           series.offset.front() <= event.origin.offset;
  });
  const auto say = [&](const char* name, core::Value value, std::string because) {
    view.set_at(name, std::move(value), std::move(because), {event.origin});
  };
  if (ended || closed)
    say("oom.after_training_end", true, "the error stands after the end of training");
  if (event.step) {
    say("oom.step", static_cast<double>(*event.step), fmt::format("after step {}", *event.step));
  }
  const record::Series* loss = view.series(record::Role::loss);
  const bool logged = loss != nullptr && loss->source == event.origin.source &&
                      loss->offset.front() < event.origin.offset;
  if (event.step || logged) say("oom.late", true, "steps were logged before the error");
  const bool went_on = loss != nullptr && loss->source == event.origin.source &&
                       loss->offset.back() > event.origin.offset;
  if (loss != nullptr) say("oom.went_on", went_on, "steps were logged after the error");
}

/// The smallest vocabularies of language models have some 30,000 words (BERT: 30,522).
constexpr double k_least_vocabulary = 30000;
/// Messages round to two digits behind the point.
constexpr double k_rounding = 0.02;

bool is_near(double value, double product) {
  return product > 0 && std::fabs(value - product) <= k_rounding * product;
}

void compare(FactView& view, const char* name, double asked, double numbers) {
  for (const double bytes : {2.0, 4.0}) {
    if (!is_near(asked, numbers * bytes)) continue;
    view.set(name, true,
             fmt::format("{} asked for: {:.0f} numbers of {:.0f} bytes", core::show_bytes(asked),
                         numbers, bytes),
             {"oom.requested_bytes"});
  }
}

/// Which tensor has the size that was asked for: told from the settings (2 or 4 bytes a number), or
/// from a shape that the message or a person gives.
/// The logits of this run, from its own settings alone; where a length or the vocabulary is not
/// known, nothing.
void derive_logits(FactView& view) {
  const auto micro = view.number("batch.micro");
  auto length = view.number("data.max_length");
  if (const auto completion = view.number("rl.max_completion_length")) length = completion;
  const auto vocabulary = view.number("model.vocab_size");
  if (!micro || !length || !vocabulary || *micro <= 0 || *length <= 0 || *vocabulary <= 0) return;
  const bool half = view.text("precision.compute") != "fp32";
  const double generations = view.number("rl.num_generations").value_or(1);
  const auto asked = view.number("oom.requested_bytes");
  for (const double each : {generations, 1.0}) {
    const double bytes = *micro * each * *length * *vocabulary * (half ? 2 : 4);
    // A micro-batch counts prompts or completions: the size that was asked for tells which.
    if (each > 1 && !(asked && is_near(*asked, bytes))) continue;
    view.set("oom.logits_told",
             fmt::format("{}{} x {} tokens x {} words x {} bytes = {}", core::show_number(*micro),
                         each > 1 ? " prompts x " + core::show_number(each) + " generations" : "",
                         core::show_number(*length, 9), core::show_number(*vocabulary, 9),
                         half ? 2 : 4, core::show_bytes(bytes)),
             "micro-batch x length x vocabulary",
             {"batch.micro", "data.max_length", "rl.max_completion_length", "model.vocab_size",
              "rl.num_generations", "precision.compute"});
    return;
  }
}

void derive_requested_tensor(FactView& view) {
  const auto asked = view.number("oom.requested_bytes");
  const double micro = view.number("batch.micro").value_or(1);
  const auto length = view.number("data.max_length");
  if (asked && length) {
    if (const auto vocabulary = view.number("model.vocab_size"))
      compare(view, "oom.request_is_logits", *asked, micro * *length * *vocabulary);
    if (const auto heads = view.number("model.heads"))
      compare(view, "oom.request_is_scores", *asked, micro * *heads * *length * *length);
  }
  for (const record::Event* event : view.events("tensor-product")) {
    const auto b = caught(*event, "b");
    const auto c = caught(*event, "c");
    if (!b || !c) continue;
    if (*b == *c) view.set_at("oom.request_is_scores", true, event->text, {event->origin});
    if (*b != *c && *c >= k_least_vocabulary)
      view.set_at("oom.request_is_logits", true, event->text, {event->origin});
  }
}

/// (reserved - allocated) / reserved, from the message or from what a person or a summary says.
void derive_slack(FactView& view) {
  for (const char* kind : {"cuda-oom", "memory-pools"}) {
    for (const record::Event* event : view.events(kind)) {
      auto reserved = caught(*event, "reserved");
      auto allocated = caught(*event, "allocated");
      if (!reserved) reserved = caught(*event, "reserved_b");
      if (!allocated) allocated = caught(*event, "allocated_b");
      const auto unallocated = caught(*event, "unallocated");
      if (!reserved && allocated && unallocated) reserved = *allocated + *unallocated;
      if (!reserved || !allocated || !(*reserved > *allocated)) continue;
      view.set_at("oom.slack_share", (*reserved - *allocated) / *reserved,
                  fmt::format("{} held by PyTorch, {} of it in use", core::show_bytes(*reserved),
                              core::show_bytes(*allocated)),
                  {event->origin});
    }
  }
}

void derive_memory(FactView& view) {
  const record::Event* device = fullest(view, "cuda-oom");
  if (device != nullptr) {
    MemoryMessage(*device, view).say();
    say_places(view, "cuda-oom");
    say_time(view, *device);
    view.set_at("oom.device", true, core::shorten(device->text, 160), {device->origin});
  }
  for (const std::string_view kind : {"host-oom", "process-killed", "loader-worker-killed"}) {
    const record::Event* host = fullest(view, kind);
    if (host == nullptr) continue;
    if (device == nullptr) {
      say_places(view, kind);
      say_time(view, *host);
    }
    view.set_at("oom.host", true, core::shorten(host->text, 160), {host->origin});
  }
}

}  // namespace

std::vector<facts::Deriver> memory_facts() {
  return {
      {.name = "memory that ran out",
       .reads = {"event:cuda-oom", "event:host-oom", "event:process-killed",
                 "event:loader-worker-killed", "event:training-ended", "series:*", "series:loss"},
       .gives = {"oom.device",
                 "oom.host",
                 "oom.requested_bytes",
                 "oom.asked",
                 "oom.total_bytes",
                 "oom.free_bytes",
                 "oom.allocated_bytes",
                 "oom.reserved_bytes",
                 "oom.request_share",
                 "oom.impossible_request",
                 "oom.free_share",
                 "oom.one_giant_tensor",
                 "oom.base_load_full",
                 "oom.free_but_failed",
                 "oom.fragmentation",
                 "oom.fragmented",
                 "oom.foreign_share",
                 "oom.card_shared",
                 "oom.in_backward",
                 "oom.in_optimizer_step",
                 "oom.in_eval",
                 "oom.at_save",
                 "oom.in_load",
                 "oom.in_generate",
                 "oom.in_logits",
                 "oom.in_attention",
                 "oom.in_init",
                 "oom.in_forward",
                 "oom.after_training_end",
                 "oom.step",
                 "oom.late",
                 "oom.went_on"},
       .derive = derive_memory},
      {.name = "requested tensor",
       .reads = {"oom.requested_bytes", "batch.micro", "data.max_length", "model.vocab_size",
                 "model.heads", "event:tensor-product"},
       .gives = {"oom.request_is_logits", "oom.request_is_scores"},
       .derive = derive_requested_tensor},
      {.name = "logits of the run",
       .reads = {"batch.micro", "data.max_length", "rl.max_completion_length", "model.vocab_size",
                 "rl.num_generations", "precision.compute", "oom.requested_bytes"},
       .gives = {"oom.logits_told"},
       .derive = derive_logits},
      {.name = "slack",
       .reads = {"event:cuda-oom", "event:memory-pools"},
       .fills = {"oom.slack_share"},
       .derive = derive_slack}};
}

}  // namespace aplomb::diagnosis
