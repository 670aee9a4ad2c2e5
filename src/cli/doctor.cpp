#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/confine.h"
#include "cli/local_gpu.h"
#include "cli/output.h"
#include "cli/trainer_program.h"
#include "core/json_text.h"
#include "core/text.h"
#include "core/version.h"
#include "preflight/python_process.h"
#include "sandbox/sandbox.h"
#include "scan/scan.h"

namespace aplomb::cli {
namespace {

/// One line of the answer. `fine` is false where something that aplomb counts on is missing.
struct Checked {
  std::string name;
  std::string found;
  bool fine = true;
};

Checked sandbox_here(bool is_off) {
  const sandbox::Probe seen = sandbox::probe();
  const sandbox::InForce& now = seen.in_force;
  if (is_off) return {"sandbox", "switched off (APLOMB_SANDBOX, or --no-sandbox)", false};
  if (!now.any())
    return {"sandbox", fmt::format("none: {}; {}", now.why_no_files, now.why_no_calls), false};
  const bool holds = !seen.can_execute && !seen.can_connect && !seen.can_write;
  std::string text = holds ? "in force" : "in part";
  text += now.files ? fmt::format(", Landlock {}", now.landlock_version)
                    : fmt::format(", no Landlock ({})", now.why_no_files);
  text += now.calls ? ", seccomp" : fmt::format(", no seccomp ({})", now.why_no_calls);
  text += holds ? ": a reader can start, connect to and write nothing"
                : fmt::format(": a reader can still{}{}{}", seen.can_execute ? " execute" : "",
                              seen.can_connect ? " connect" : "", seen.can_write ? " write" : "");
  return {"sandbox", text, holds};
}

/// What an interpreter prints for a program of one line; empty where it fails.
std::string answer_of(const std::string& program) {
  preflight::PythonProcess python;
  if (!python.start("python3", program, preflight::Packages::installed)) return {};
  (void)python.send({});
  std::array<char, 256> part{};
  const std::size_t size = python.receive(part.data(), part.size(), std::chrono::seconds(20));
  return std::string(core::trim(std::string_view(part.data(), size)));
}

Checked python_here() {
  const std::string path = preflight::find_python("python3", preflight::Packages::none);
  if (path.empty())
    return {"python", "no python3 on PATH: programs are read by patterns alone", false};
  const std::string version = answer_of("import platform; print(platform.python_version())");
  if (version.empty()) return {"python", path + " does not start", false};
  return {"python", version + ", " + path, true};
}

Checked package_here() {
  const std::string place = answer_of(
      "import importlib.util as u; s = u.find_spec('aplomb'); print(s.origin if s else '')");
  return {"package",
          place.empty() ? "aplomb is not installed for this python3 (pip install .)" : place};
}

class DoctorCommand : public Command {
 public:
  void declare(const arguments::Verb& program) override {
    verb_ = program.verb("doctor", "Say what of aplomb is here and in force on this machine");
    verb_.flag("--json", json_, "print as JSON (schema aplomb.doctor/1)");
    confinement_.declare(verb_);
    verb_.footer(
        "The sandbox is tried, not asked for: a process enters it and then tries to start a\n"
        "program, to open a socket and to make a file.\n"
        "\n"
        "Exit status: 0 all that aplomb counts on is here, 1 something is missing or off, 2 "
        "usage.");
  }

  int run() override {
    const std::string trainer = trainer_path();
    const std::string gpu = local_gpu();
    const std::array<Checked, 7> all{
        Checked{"version", std::string(core::version())},
        Checked{"simd", std::string(scan::scan_target())},
        sandbox_here(confinement_.is_off()),
        python_here(),
        package_here(),
        Checked{"trainer",
                trainer.empty() ? "aplomb-train is not here (it is built apart)" : trainer},
        Checked{"gpu", gpu.empty() ? "none" : gpu}};
    bool fine = true;
    std::string text;
    nlohmann::ordered_json json{{"schema", "aplomb.doctor/1"}};
    for (const Checked& each : all) {
      fine = fine && each.fine;
      text += fmt::format("{:<8} {} {}\n", each.name, each.fine ? " " : "!",
                          core::sanitize(each.found));
      json["checks"].push_back({{"name", each.name}, {"found", each.found}, {"fine", each.fine}});
    }
    const std::string shown = json_ ? core::json_text(json, 2) + "\n" : text;
    if (const auto done = write_out(shown); !done) return k_exit_usage;
    return fine ? k_exit_healthy : k_exit_found;
  }

 private:
  bool json_ = false;
  Confinement confinement_;
};

}  // namespace

std::unique_ptr<Command> make_doctor_command() { return std::make_unique<DoctorCommand>(); }

}  // namespace aplomb::cli
