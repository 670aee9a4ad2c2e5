#pragma once
/// EventFile: TensorBoard's event file, scalars only (tensorflow/core/util/event.proto). Each
/// record is written whole and handed to the system at once: what a killed run leaves is readable.

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/result.h"

namespace aplomb::train::loop {

using Scalar = std::pair<std::string_view, double>;

class EventFile {
 public:
  /// `folder`/events.out.tfevents.TIME.HOST.PID.0, which must not be there yet.
  static core::Result<EventFile> create(const std::string& folder);

  /// One event with all scalars of a step. False where the disk took less than all.
  bool write(std::int64_t step, double wall_time_s, std::span<const Scalar> scalars);
  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  EventFile(std::FILE* file, std::string path) : file_(file), path_(std::move(path)) {}
  bool frame(std::string_view message);

  std::unique_ptr<std::FILE, Close> file_;
  std::string path_;
};

}  // namespace aplomb::train::loop
