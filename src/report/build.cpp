#include "report/build.h"
namespace aplomb {
Report build_report(const std::vector<DiagnosedRun>&, std::size_t) { return {}; }
}  // namespace aplomb
