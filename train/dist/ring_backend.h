#pragma once
/// RingBackend: the Ring as a backend of c10d, with a thread of its own that works through what it
/// is given in order. Tensors on other devices go through host memory.

#include <ATen/ATen.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "train/dist/ring.h"

namespace aplomb::train::dist {

class RingBackend final : public c10d::Backend {
 public:
  RingBackend(int rank, int size, Socket next, Socket previous);
  ~RingBackend() override;

  const std::string getBackendName() const override { return "aplomb-ring"; }
  /// Sums only, of fp32, fp64 and int64.
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override;
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override;
  /// What waits and what comes later fails; from any thread.
  void abort() override { ring_.abort(); }

 private:
  class Task;
  c10::intrusive_ptr<c10d::Work> enqueue(c10d::OpType kind, std::vector<at::Tensor> tensors,
                                         int root);
  void work();
  core::Result<void> run(const Task& task);

  Ring ring_;
  std::mutex mutex_;  // of the two below
  std::condition_variable changed_;
  std::deque<c10::intrusive_ptr<Task>> tasks_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace aplomb::train::dist
