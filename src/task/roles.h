#pragma once
/// settle_roles(): metrics under names of a program's own get the role that their words and the
/// rest of the run give them. A run that prints `huber` and no `loss` is trained on huber; `rss`
/// beside it is host memory. What a reader knew already is never changed.

#include "record/run.h"

namespace aplomb::task {

void settle_roles(record::Run& run);

}  // namespace aplomb::task
