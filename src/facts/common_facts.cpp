#include "facts/common_facts.h"

namespace aplomb::facts {

std::vector<Deriver> common_facts() {
  return joined({framework_facts(), training_facts(), batch_facts(), length_facts()});
}

}  // namespace aplomb::facts
