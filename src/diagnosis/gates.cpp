#include "diagnosis/gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "core/text.h"
#include "diagnosis/standing.h"

namespace aplomb::diagnosis {
namespace {

bool holds(const facts::FactTable& facts, const char* name) {
  const record::Fact* fact = facts.find(name);
  return fact != nullptr && core::is_true(fact->value);
}

/// An exception or a signal; `loss is nan` is a failure in the midst of a run that may go on.
bool says_an_end(const std::string& text) {
  constexpr std::array<std::string_view, 6> k_words = {"Error",       "Exception", "core dumped",
                                                       "Interrupted", "exitcode",  "Aborted"};
  return std::any_of(k_words.begin(), k_words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

/// What ended the run, in words; empty where nothing did.
std::string end_of(const record::Run& run, const facts::FactTable& facts) {
  if (holds(facts, "oom.went_on")) return {};
  if (holds(facts, "error.cuda-oom") || holds(facts, "error.host-oom"))
    return "it ran out of memory";
  if (holds(facts, "error.process-killed")) return "its process was killed";
  if (holds(facts, "incident.timeout")) return "its ranks waited for each other until a time-out";
  const bool broke_off =
      std::any_of(run.events.begin(), run.events.end(), [&](const record::Event& event) {
        return says_an_end(event.text) && severity_of(run, event) == core::Severity::failed;
      });
  return broke_off ? "it ended in an error" : "";
}

void fail(detectors::Symptom& symptom, const std::string& why) {
  const auto told = symptom.measures.find("reasons");
  const std::string* held = told == symptom.measures.end() ? nullptr : core::as_text(told->second);
  const bool known = held != nullptr && !held->empty();
  symptom.measures["passed"] = false;
  symptom.measures["reasons"] = known ? *held + ", " + why : why;
}

}  // namespace

void close_gates(const record::Run& run, const facts::FactTable& facts,
                 std::vector<detectors::Symptom>& symptoms) {
  const std::string why = end_of(run, facts);
  if (why.empty()) return;
  constexpr double k_gate = 10;  // records
  for (detectors::Symptom& symptom : symptoms) {
    if (symptom.id == "gate.first_ten") {
      const auto held = symptom.measures.find("records");
      const double* records =
          held == symptom.measures.end() ? nullptr : core::as_number(held->second);
      if (records == nullptr || *records >= k_gate) continue;
      fail(symptom, why);
      symptom.severity = core::Severity::warning;
      symptom.summary = fmt::format("the first {} records do not pass: {}", *records,
                                    *core::as_text(symptom.measures["reasons"]));
    } else if (symptom.id == "gate.success") {
      const std::string open =
          symptom.measures["passed"] == core::Value(false) ? "; " + symptom.summary : "";
      fail(symptom, why);
      symptom.summary = "not met: the run completes without a crash (" + why + ")" + open;
    }
  }
}

}  // namespace aplomb::diagnosis
