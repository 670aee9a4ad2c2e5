#include "train/dist/ring_backend.h"

namespace aplomb::train::dist {
namespace {

Element element_of(at::ScalarType type) {
  if (type == at::kFloat) return Element::f32;
  if (type == at::kDouble) return Element::f64;
  TORCH_CHECK(type == at::kLong, "[ranks] sums of ", type, " are not made");
  return Element::i64;
}

}  // namespace

class RingBackend::Task final : public c10d::Work {
 public:
  Task(int rank, c10d::OpType kind, std::vector<at::Tensor> all, int from)
      : Work(rank, kind), tensors(std::move(all)), root(from) {}
  using Work::finish;

  std::vector<at::Tensor> tensors;
  int root;
};

RingBackend::RingBackend(int rank, int size, Socket next, Socket previous)
    : Backend(rank, size),
      ring_(rank, size, std::move(next), std::move(previous)),
      thread_([this] { work(); }) {}

RingBackend::~RingBackend() {
  ring_.abort();
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

c10::intrusive_ptr<c10d::Work> RingBackend::allreduce(std::vector<at::Tensor>& tensors,
                                                      const c10d::AllreduceOptions& options) {
  TORCH_CHECK(options.reduceOp.op_ == c10d::ReduceOp::SUM, "[ranks] only sums are made");
  return enqueue(c10d::OpType::ALLREDUCE, tensors, 0);
}

c10::intrusive_ptr<c10d::Work> RingBackend::broadcast(std::vector<at::Tensor>& tensors,
                                                      const c10d::BroadcastOptions& options) {
  return enqueue(c10d::OpType::BROADCAST, tensors, static_cast<int>(options.rootRank));
}

c10::intrusive_ptr<c10d::Work> RingBackend::enqueue(c10d::OpType kind,
                                                    std::vector<at::Tensor> tensors, int root) {
  auto task = c10::make_intrusive<Task>(getRank(), kind, std::move(tensors), root);
  const std::lock_guard lock(mutex_);
  tasks_.push_back(task);
  changed_.notify_all();
  return task;
}

void RingBackend::work() {
  for (;;) {
    c10::intrusive_ptr<Task> task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    std::exception_ptr fault;
    try {
      const auto done = run(*task);
      TORCH_CHECK(done, done.error().text);
    } catch (...) {
      fault = std::current_exception();
    }
    task->finish(fault);
  }
}

core::Result<void> RingBackend::run(const Task& task) {
  const at::NoGradGuard no_gradients;
  for (const at::Tensor& each : task.tensors) {
    at::Tensor host = each.detach().to(at::kCPU).contiguous();
    const auto done =
        task.retrieveOpType() == c10d::OpType::BROADCAST
            ? ring_.broadcast(host.mutable_data_ptr(), host.nbytes(), task.root)
            : ring_.sum(host.mutable_data_ptr(), static_cast<std::size_t>(host.numel()),
                        element_of(host.scalar_type()));
    if (!done) return done;
    if (host.data_ptr() != each.data_ptr()) each.detach().copy_(host);
  }
  return {};
}

}  // namespace aplomb::train::dist
