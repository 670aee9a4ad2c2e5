#pragma once
/// Names of this machine that must not leave it: its user's and its own.

#include "report/redact.h"

namespace aplomb::cli {

report::RedactNames names_here();

}  // namespace aplomb::cli
