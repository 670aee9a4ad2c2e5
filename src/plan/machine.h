#pragma once
/// The machine a plan is made for, from the card's name (knowledge/hardware.yaml) and what cards
/// really give (knowledge/plan.yaml).

#include <string>

#include "plan/known.h"
#include "plan/step.h"

namespace aplomb::plan {

struct SeenMachine {
  Machine machine;
  std::string name;
  double count = 0;  ///< of GPUs, where the name says so
  bool verified = true;
  double peak_flops = 0;  ///< of the datasheet, for the utilisation
  double context_bytes = 0;
  double fragmentation = 0;  ///< share
};

/// `gpu` as the user wrote it; empty: the one that the settings name.
SeenMachine machine_of(const Known& known, const std::string& gpu, const Training& training);
/// How many GPUs the name asks for; 0 where it does not say.
double gpus_named(const std::string& gpu);

}  // namespace aplomb::plan
