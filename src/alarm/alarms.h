#pragma once
/// Alarms: notices to all sinks, from a thread of its own. tell() never waits: whoever trains must not
/// be held by a slow or broken sink.
///
///     Alarms alarms(std::move(sinks), redact, say);
///     alarms.explain_with(explain);   // of what was only seen: its cause, from the sending thread
///     alarms.tell(notice);
///     alarms.finish(10s);        // what waits is sent, for so long at most

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "alarm/sink.h"

namespace aplomb::alarm {

class Alarms {
 public:
  /// Of a run that goes up and down: further notices are left out, and the last one says so.
  static constexpr std::size_t k_most = 50;
  static constexpr std::chrono::seconds k_gather{3};  // judgement: one mishap shows in several ways
  static constexpr int k_rest = 20;

  /// `redact`: what of a notice goes out (called from the sending thread); `say`: told once of each
  /// sink that fails, from the sending thread.
  Alarms(std::vector<std::unique_ptr<Sink>> sinks,
         std::function<std::string(std::string_view)> redact,
         std::function<void(std::string_view)> say);
  ~Alarms();
  Alarms(const Alarms&) = delete;
  Alarms& operator=(const Alarms&) = delete;

  /// How what is seen comes to have a cause and a first fix: called with the worst of what was seen within
  /// k_gather, and at most so often that it takes one part in k_rest of the time.
  using Explain = std::function<void(Notice&)>;
  void explain_with(Explain explain);

  /// Once a key (Notice::key()); of those that are explained once more by the key that they have then.
  void tell(const Notice& notice);
  /// Sends what waits and ends. What has not been sent by then is given up.
  void finish(std::chrono::milliseconds patience);

 private:
  struct Work;
  std::shared_ptr<Work> work_;  ///< shared with the thread, which may outlive this object
};

}  // namespace aplomb::alarm
