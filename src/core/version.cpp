#include "core/version.h"

namespace aplomb {

std::string_view version() { return APLOMB_VERSION; }

}  // namespace aplomb
