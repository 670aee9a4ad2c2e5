#pragma once
/// Whether the loss jumps where the run says that its task changes: a curriculum's next stage
/// (`digits` goes from 1 to 2, `maxlen` from 3 to 5), a restart of the learning rate. Gives
/// `loss.rises_with_stage`: every large rise of the loss from one record to the next falls on such
/// a change; unknown where there is no such rise or nothing that changes in stages.

#include "diagnosis/diagnosis.h"

namespace aplomb::diagnosis {

void add_stage_facts(const record::Run& run, FactTable& facts);

}  // namespace aplomb::diagnosis
