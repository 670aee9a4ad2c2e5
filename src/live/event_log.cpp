#include "live/event_log.h"

#include <fmt/format.h>

#include <charconv>
#include <random>
#include <utility>

namespace aplomb::live {

EventLog::EventLog() : boot_(fmt::format("{:08x}", std::random_device{}())) {}

void EventLog::add(std::string type, std::string run, std::string data) {
  auto event = std::make_shared<Happening>();
  event->type = std::move(type);
  event->run = std::move(run);
  event->data = std::move(data);
  const std::lock_guard lock(mutex_);
  event->number = ++newest_;
  bytes_ += event->data.size();
  events_.push_back(std::move(event));
  while (events_.size() > k_most_events || (bytes_ > k_most_bytes && events_.size() > 1)) {
    bytes_ -= events_.front()->data.size();
    events_.pop_front();
  }
  wake_.notify_all();
}

EventLog::Batch EventLog::after(std::uint64_t number, std::chrono::milliseconds patience) const {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, patience, [&] { return closed_ || newest_ != number; });
  Batch batch;
  batch.closed = closed_;
  if (events_.empty()) return batch;
  const std::uint64_t oldest = events_.front()->number;
  batch.lost = number > newest_ || number + 1 < oldest;
  if (batch.lost) return batch;
  for (std::size_t i = static_cast<std::size_t>(number + 1 - oldest); i < events_.size(); ++i)
    batch.events.push_back(events_[i]);
  return batch;
}

std::uint64_t EventLog::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

std::string EventLog::id_of(std::uint64_t number) const {
  return fmt::format("{}-{}", boot_, number);
}

std::optional<std::uint64_t> EventLog::number_of(std::string_view id) const {
  if (!id.starts_with(boot_) || id.size() < boot_.size() + 2 || id[boot_.size()] != '-')
    return std::nullopt;
  id.remove_prefix(boot_.size() + 1);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), number);
  if (error != std::errc() || end != id.data() + id.size()) return std::nullopt;
  return number;
}

void EventLog::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  wake_.notify_all();
}

}  // namespace aplomb::live
