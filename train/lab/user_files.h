#pragma once
/// The settings of a LabRun as its user wrote them, by the trainer that he uses.

#include "train/lab/evidence.h"
#include "train/lab/lab_run.h"

namespace aplomb::train::lab {

UserFiles files_of(const LabRun& lab, const Request& request);

}  // namespace aplomb::train::lab
