#pragma once
/// Group: the ranks of a run as the training loop sees them. All calls but those marked otherwise
/// are made by all ranks in the same order; with one rank they do nothing.
///
///     auto group = Group::join(world, {});            // or Group::alone()
///     group->sum(counts);                             // over all ranks, in place
///     if (group->any(wants_stop)) ...
///     return group->leave(status, reason);            // always the last word
///
/// A rank that cannot go on, or vanishes, ends all: calls then throw GroupLost, within
/// milliseconds where the rank waits for the others. An exception, since there is nothing that a
/// caller could do but end the run; who owns the run catches it and leaves with 2.

#include <ATen/ATen.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "core/result.h"
#include "train/dist/control.h"
#include "train/dist/rendezvous.h"
#include "train/dist/ring_backend.h"
#include "train/dist/world.h"

namespace aplomb::train::dist {

/// The run cannot go on with all its ranks; what() says which one failed and why.
class GroupLost : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct GroupOptions {
  std::chrono::seconds patience{300};  ///< until all ranks are there
  /// Called on a thread of the group where this rank computes on, 10 s after the run was lost.
  std::function<void(const std::string& reason)> on_stuck = [](const std::string&) {};
};

class Group {
 public:
  static core::Result<std::unique_ptr<Group>> join(const World& world, const GroupOptions& options);
  /// The one of a run with a single rank.
  static Group& alone();

  int rank() const { return world_.rank; }
  int size() const { return world_.size; }
  bool is_alone() const { return world_.size == 1; }
  /// Of rank 0, which alone writes and speaks.
  bool is_first() const { return world_.rank == 0; }
  const World& world() const { return world_; }
  /// Sums of tensors on this device: by NCCL where it is a GPU and this build has NCCL.
  void use(const at::Device& device);

  /// Throws where the run is lost; waits for nobody, costs nothing.
  void check() const;
  void sum(std::span<double> values);
  bool any(bool value);
  bool all(bool value) { return !any(!value); }
  /// The bytes of rank 0, on all ranks.
  void from_first(std::span<std::byte> bytes);
  void from_first(const at::Tensor& tensor);
  /// Begins the sum of a tensor, in place; wait() ends it. Sums are made in the order in which they
  /// are begun.
  c10::intrusive_ptr<c10d::Work> begin_sum(const at::Tensor& tensor);
  void wait(const c10::intrusive_ptr<c10d::Work>& work);

  /// The end, called once by each rank whenever it likes. Rank 0 ends the run for all with
  /// `status`. Another rank with status 2 tells rank 0 its reason, else it waits for the end. Gives
  /// the exit status, and puts into `unheard` what this rank has to say itself, since rank 0
  /// cannot.
  int leave(int status, const std::string& reason, std::string* unheard);

 private:
  Group() = default;

  World world_;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<RingBackend> ring_;
  c10::intrusive_ptr<c10d::Backend> nccl_;
  std::atomic<c10d::Backend*> breakable_ = nullptr;  ///< nccl_, for the thread of control_
  std::unique_ptr<Control> control_;
};

}  // namespace aplomb::train::dist
