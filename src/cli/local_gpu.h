#pragma once
#include <string>

namespace aplomb::cli {

/// The first NVIDIA card of this machine by name, as the driver says under /proc (where nvidia-smi
/// has it from, without starting it), else as nvidia-smi says; empty where there is none.
std::string local_gpu();

}  // namespace aplomb::cli
