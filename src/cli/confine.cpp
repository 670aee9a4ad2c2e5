#include "cli/confine.h"

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "cli/output.h"
#include "core/memory_budget.h"
#include "preflight/embedded_python.h"
#include "preflight/python_process.h"

namespace aplomb::cli {
namespace {

constexpr const char* k_variable = "APLOMB_SANDBOX";
constexpr const char* k_python = "python3";  // as in DiagnoseOptions and CheckOptions

}  // namespace

void Confinement::declare(const arguments::Verb& verb) {
  verb.flag("--no-sandbox", no_sandbox_,
            "keep all rights of this process while files are read (also APLOMB_SANDBOX=off)");
  verb.option("--max-memory", max_memory_bytes_,
              "leave out what needs more memory than this, as 4G, and name it; without it half of "
              "the machine")
      .is_size()
      .value_name("SIZE");
}

bool Confinement::is_off() const {
  const char* value =
      std::getenv(k_variable);  // NOLINT(concurrency-mt-unsafe): nobody sets it here
  const std::string_view word = value == nullptr ? std::string_view() : std::string_view(value);
  return no_sandbox_ || word == "off" || word == "0" || word == "no";
}

void Confinement::enter(const std::vector<std::string>& outputs,
                        const std::vector<std::string>& temporaries) {
  core::limit_memory(max_memory_bytes_ > 0 ? max_memory_bytes_ : core::half_of_the_machine());
  if (is_off()) return;
  sandbox::Announced may;
  for (const std::string& each : outputs) {
    if (each.empty()) continue;
    std::error_code none;
    if (std::filesystem::is_directory(each, none) || !open_beforehand(each))
      may.outputs.push_back(each);
  }
  may.temporaries = temporaries;
  for (const auto packages : {preflight::Packages::none, preflight::Packages::installed}) {
    sandbox::Command python =
        preflight::python_command(k_python, preflight::embedded_program(), packages);
    if (!python.words.empty()) may.commands.push_back(std::move(python));
  }
  sandbox_ = sandbox::Sandbox::enter(may);
}

}  // namespace aplomb::cli
