#include "cli/alert_option.h"

#include <utility>

#include "cli/names_here.h"
#include "cli/output.h"
#include "core/text.h"
#include "report/redact.h"

namespace aplomb::cli {

void AlertOption::declare(const arguments::Verb& verb) {
  verb.option("--alert", words_,
              "tell when the verdict becomes worse, the run hangs or ends: command:WORDS, "
              "webhook:URL, ntfy:URL, desktop (several times: all of them)")
      .value_name("SINK")
      .one_each();
  verb.flag("--alert-private", may_be_private_,
            "a name in --alert may lead to this machine's own network");
}

core::Result<std::unique_ptr<alarm::Alarms>> AlertOption::make() const {
  if (words_.empty()) return std::unique_ptr<alarm::Alarms>();
  std::vector<std::unique_ptr<alarm::Sink>> sinks;
  for (const std::string& each : words_) {
    auto sink = alarm::make_sink(each, may_be_private_);
    if (!sink) return tl::unexpected(sink.error());
    sinks.push_back(*std::move(sink));
  }
  // Used by the thread that sends alone.
  auto redactor = std::make_shared<report::Redactor>(names_here());
  return std::make_unique<alarm::Alarms>(
      std::move(sinks), [redactor](std::string_view text) { return (*redactor)(text); },
      [](std::string_view text) { complain(core::sanitize(text)); });
}

}  // namespace aplomb::cli
