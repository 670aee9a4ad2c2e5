#include "log_text/record_writer.h"

#include <utility>

namespace aplomb::log_text {
namespace {

constexpr std::uint64_t k_most_restart_events = 16;

}  // namespace

void RecordWriter::say_restart(const Where& where) {
  restarts_ = build_.run().restarts;
  if (++restart_events_ > k_most_restart_events) return;
  record::Event event;
  event.kind = "restart";
  event.rank = where.rank;
  event.step = step(where.rank);
  event.text = "the step goes back: the run starts again, or another run begins";
  event.origin = {source_, where.number, where.offset};
  build_.event(std::move(event));
}

}  // namespace aplomb::log_text
