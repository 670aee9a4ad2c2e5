#include "core/version.h"

namespace aplomb::core {

std::string_view version() { return APLOMB_VERSION; }

}  // namespace aplomb::core
