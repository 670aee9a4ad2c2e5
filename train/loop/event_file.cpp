#include "train/loop/event_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <protozero/pbf_writer.hpp>

#include "core/crc32c.h"

namespace aplomb::train::loop {
namespace {

// event.proto: Event{wall_time = 1, step = 2, file_version = 3, summary = 5};
// summary.proto: Summary{value = 1}, Value{tag = 1, simple_value = 2}.
enum Field : protozero::pbf_tag_type {
  k_wall_time = 1,
  k_step = 2,
  k_version = 3,
  k_summary = 5,
  k_value = 1,
  k_tag = 1,
  k_simple_value = 2
};

double now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

template <class Word>
std::string little_endian(Word word) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof word; ++i) {
    bytes += static_cast<char>(word & 0xFFU);
    word >>= 8U;
  }
  return bytes;
}

}  // namespace

core::Result<EventFile> EventFile::create(const std::string& folder) {
  char host[256] = "host";
  ::gethostname(host, sizeof host - 1);
  for (int number = 0; number < 1000; ++number) {
    std::string path = fmt::format("{}/events.out.tfevents.{}.{}.{}.{}", folder,
                                   static_cast<std::int64_t>(now_s()), host, ::getpid(), number);
    std::FILE* file = std::fopen(path.c_str(), "wxe");
    if (file == nullptr && errno == EEXIST) continue;
    if (file == nullptr)
      return core::fail(core::ErrorCode::not_writable,
                        "[events] " + path + ": " + std::strerror(errno));
    EventFile events(file, path);
    std::string message;
    protozero::pbf_writer writer(message);
    writer.add_double(k_wall_time, now_s());
    writer.add_string(k_version, "brain.Event:2");
    if (!events.frame(message))
      return core::fail(core::ErrorCode::not_writable,
                        "[events] " + path + ": " + std::strerror(errno));
    return events;
  }
  return core::fail(core::ErrorCode::not_writable, "[events] " + folder + ": every name is taken");
}

bool EventFile::write(std::int64_t step, double wall_time_s, std::span<const Scalar> scalars) {
  std::string message;
  protozero::pbf_writer event(message);
  event.add_double(k_wall_time, wall_time_s);
  event.add_int64(k_step, step);
  {
    protozero::pbf_writer summary(event, k_summary);
    for (const auto& [tag, value] : scalars) {
      protozero::pbf_writer entry(summary, k_value);
      entry.add_string(k_tag, tag.data(), tag.size());
      entry.add_float(k_simple_value, static_cast<float>(value));
    }
  }
  return frame(message);
}

bool EventFile::frame(std::string_view message) {
  const std::string head = little_endian(std::uint64_t{message.size()});
  std::string bytes = head + little_endian(core::masked_crc32c(head));
  bytes += message;
  bytes += little_endian(core::masked_crc32c(message));
  return std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) == bytes.size() &&
         std::fflush(file_.get()) == 0;
}

}  // namespace aplomb::train::loop
