#include "train/dist/nccl.h"

namespace aplomb::train::dist {

c10::intrusive_ptr<c10d::Backend> open_nccl(const c10::intrusive_ptr<c10d::Store>& /*store*/,
                                            int /*rank*/, int /*size*/) {
  return nullptr;
}

}  // namespace aplomb::train::dist
