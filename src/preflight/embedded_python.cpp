#include "preflight/embedded_python.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/json_text.h"
#include "preflight/audit_files.h"

namespace aplomb::preflight {

std::string embedded_program() {
  return R"(
import importlib, importlib.abc, importlib.util, json, sys
given = json.load(sys.stdin)
if given["limits"]:
    import resource
    resource.setrlimit(resource.RLIMIT_CPU, (given["limits"]["cpu_s"],) * 2)
    resource.setrlimit(resource.RLIMIT_AS, (given["limits"]["memory_bytes"],) * 2)
packages = {name.rpartition(".")[0] for name in given["sources"]}
class Embedded(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name in given["sources"]:
            return importlib.util.spec_from_loader(name, self, is_package=name in packages)
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        exec(compile(given["sources"][module.__name__], "<" + module.__name__ + ">", "exec"), module.__dict__)
sys.meta_path.insert(0, Embedded())
importlib.import_module("aplomb_audit." + given["module"]).main(given["request"])
)";
}

std::string embedded_request(const std::string& module, nlohmann::json request,
                             const PythonLimits& limits) {
  nlohmann::json sources = nlohmann::json::object();
  for (std::size_t i = 0; i < k_audit_file_count; ++i) {
    const std::string name = k_audit_files[i].name;
    sources[name.empty() ? "aplomb_audit" : "aplomb_audit." + name] = k_audit_files[i].text;
  }
  nlohmann::json bounds;
  if (limits.cpu_s > 0) bounds = {{"cpu_s", limits.cpu_s}, {"memory_bytes", limits.memory_bytes}};
  const nlohmann::json all = {{"sources", std::move(sources)},
                              {"module", module},
                              {"request", std::move(request)},
                              {"limits", std::move(bounds)}};
  return core::json_text(all);
}

}  // namespace aplomb::preflight
