#pragma once
/// Sink: where notices go. `command:...`, `webhook:URL`, `ntfy:URL`, `desktop`.
///
/// The web is left to curl, the name server to getent: TLS, certificates and name services are the
/// machine's own, their faults end another process, and no key stands on a command line. curl is told the address that
/// was checked and connects to no other; it follows no redirection and asks no proxy.

#include <memory>
#include <string>

#include "alarm/notice.h"
#include "core/result.h"

namespace aplomb::alarm {

class Sink {
 public:
  virtual ~Sink() = default;
  /// For people, without what is secret in it: `webhook hooks.example.org`.
  virtual std::string name() const = 0;
  /// Within k_limit. The notice is redacted already.
  virtual core::Result<void> send(const Notice& notice) const = 0;
};

/// Errors: bad_usage.
core::Result<std::unique_ptr<Sink>> make_sink(const std::string& words, bool may_be_private);

/// The notice as JSON, schema aplomb.alert/1, ASCII alone.
std::string json_of(const Notice& notice);

}  // namespace aplomb::alarm
