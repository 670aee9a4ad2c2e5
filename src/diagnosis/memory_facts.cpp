#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "core/text.h"
#include "diagnosis/incident_facts.h"

namespace aplomb::diagnosis {
namespace {

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

std::optional<double> caught(const record::Event& event, const char* name) {
  const auto found = event.caught.find(name);
  if (found == event.caught.end()) return std::nullopt;
  const double* value = core::as_number(found->second);
  return value == nullptr ? std::nullopt : std::optional<double>(*value);
}

/// The event with the most numbers; the first of equals.
const record::Event* fullest(const record::Run& run, std::string_view kind) {
  const record::Event* best = nullptr;
  for (const record::Event& event : run.events) {
    if (event.kind != kind) continue;
    if (best == nullptr || event.caught.size() > best->caught.size()) best = &event;
  }
  return best;
}

class MemoryMessage {
 public:
  MemoryMessage(const record::Event& event, FactTable& facts) : event_(event), facts_(facts) {
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
    facts_.set({name, std::move(value), std::move(because), {event_.origin}});
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
  FactTable& facts_;
  std::optional<double> requested_, total_, free_, allocated_, reserved_, in_use_;
};

void say_places(const record::Run& run, std::string_view kind, FactTable& facts) {
  constexpr std::array<std::string_view, 9> k_places = {
      "in_backward", "in_optimizer_step", "in_eval",      "at_save", "in_load",
      "in_generate", "in_logits",         "in_attention", "in_init"};
  for (const record::Event& event : run.events) {
    if (event.kind != kind) continue;
    for (const std::string_view place : k_places) {
      if (event.caught.count(std::string(place)) == 0) continue;
      facts.set({fmt::format("oom.{}", place),
                 true,
                 fmt::format("the stack of the error: {}", place),
                 {event.origin}});
    }
  }
}

/// Where training had ended when the error came: a closing line of the trainer stands before it.
void say_time(const record::Run& run, const record::Event& event, FactTable& facts) {
  const bool ended =
      std::any_of(run.events.begin(), run.events.end(), [&](const record::Event& other) {
        return other.kind == "training-ended" && other.origin.source == event.origin.source &&
               other.origin.offset <= event.origin.offset;
      });
  const bool closed =
      std::any_of(run.series.begin(), run.series.end(), [&](const record::Series& series) {
        return series.raw_name.find("train_runtime") != std::string::npos &&
               series.source == event.origin.source && !series.empty() &&
               series.offset.front() <= event.origin.offset;
      });
  if (ended || closed)
    facts.set({"oom.after_training_end",
               true,
               "the error stands after the end of training",
               {event.origin}});
  if (event.step) {
    facts.set({"oom.step",
               static_cast<double>(*event.step),
               fmt::format("after step {}", *event.step),
               {event.origin}});
  }
  const record::Series* loss = run.primary(record::Role::loss);
  const bool logged = loss != nullptr && loss->source == event.origin.source &&
                      loss->offset.front() < event.origin.offset;
  if (event.step || logged)
    facts.set({"oom.late", true, "steps were logged before the error", {event.origin}});
  const bool went_on = loss != nullptr && loss->source == event.origin.source &&
                       loss->offset.back() > event.origin.offset;
  if (loss != nullptr)
    facts.set({"oom.went_on", went_on, "steps were logged after the error", {event.origin}});
}

/// The smallest vocabularies of language models have some 30,000 words (BERT: 30,522).
constexpr double k_least_vocabulary = 30000;
/// Messages round to two digits behind the point.
constexpr double k_rounding = 0.02;

bool is_near(double value, double product) {
  return product > 0 && std::fabs(value - product) <= k_rounding * product;
}

/// Which tensor has the size that was asked for: told from the settings (2 or 4 bytes a number), or
/// from a shape that the message or a person gives.
class RequestedTensor {
 public:
  RequestedTensor(const record::Run& run, FactTable& facts) : run_(run), facts_(facts) {}

  void say() {
    const auto asked = held("oom.requested_bytes");
    const double micro = held("batch.micro").value_or(1);
    const auto length = held("data.max_length");
    if (asked && length) {
      if (const auto vocabulary = held("model.vocab_size"))
        compare("oom.request_is_logits", *asked, micro * *length * *vocabulary);
      if (const auto heads = held("model.heads"))
        compare("oom.request_is_scores", *asked, micro * *heads * *length * *length);
    }
    for (const record::Event& event : run_.events) {
      const auto b = caught(event, "b");
      const auto c = caught(event, "c");
      if (event.kind != "tensor-product" || !b || !c) continue;
      if (*b == *c) set("oom.request_is_scores", event.text, event.origin);
      if (*b != *c && *c >= k_least_vocabulary)
        set("oom.request_is_logits", event.text, event.origin);
    }
  }

 private:
  std::optional<double> held(std::string_view name) const {
    const record::Fact* fact = facts_.find(name);
    const double* value = fact == nullptr ? nullptr : core::as_number(fact->value);
    return value == nullptr ? std::nullopt : std::optional<double>(*value);
  }
  void compare(const char* name, double asked, double numbers) {
    for (const double bytes : {2.0, 4.0}) {
      if (!is_near(asked, numbers * bytes)) continue;
      const record::Fact* request = facts_.find("oom.requested_bytes");
      set(name,
          fmt::format("{} asked for: {:.0f} numbers of {:.0f} bytes", core::show_bytes(asked),
                      numbers, bytes),
          request->evidence.empty() ? record::Origin{} : request->evidence.front());
    }
  }
  void set(const char* name, std::string because, const record::Origin& origin) {
    facts_.set({name, true, std::move(because), {origin}});
  }

  const record::Run& run_;
  FactTable& facts_;
};

/// (reserved - allocated) / reserved, from the message or from what a person or a summary says.
void say_slack_share(const record::Run& run, FactTable& facts) {
  for (const record::Event& event : run.events) {
    if (event.kind != "cuda-oom" && event.kind != "memory-pools") continue;
    auto reserved = caught(event, "reserved");
    auto allocated = caught(event, "allocated");
    if (!reserved) reserved = caught(event, "reserved_b");
    if (!allocated) allocated = caught(event, "allocated_b");
    const auto unallocated = caught(event, "unallocated");
    if (!reserved && allocated && unallocated) reserved = *allocated + *unallocated;
    if (!reserved || !allocated || !(*reserved > *allocated)) continue;
    facts.set({"oom.slack_share",
               (*reserved - *allocated) / *reserved,
               fmt::format("{} held by PyTorch, {} of it in use", core::show_bytes(*reserved),
                           core::show_bytes(*allocated)),
               {event.origin}});
  }
}

}  // namespace

void add_memory_facts(const record::Run& run, FactTable& facts) {
  say_slack_share(run, facts);
  const record::Event* device = fullest(run, "cuda-oom");
  if (device != nullptr) {
    MemoryMessage(*device, facts).say();
    say_places(run, "cuda-oom", facts);
    say_time(run, *device, facts);
    facts.set({"oom.device", true, core::shorten(device->text, 160), {device->origin}});
  }
  RequestedTensor(run, facts).say();
  for (const std::string_view kind : {"host-oom", "process-killed", "loader-worker-killed"}) {
    const record::Event* host = fullest(run, kind);
    if (host == nullptr) continue;
    if (device == nullptr) {
      say_places(run, kind, facts);
      say_time(run, *host, facts);
    }
    facts.set({"oom.host", true, core::shorten(host->text, 160), {host->origin}});
  }
}

}  // namespace aplomb::diagnosis
