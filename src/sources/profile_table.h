#pragma once
/// ProfileTable: reads the tables that torch.profiler prints (`key_averages().table()`), line by
/// line as they stand in a log, and says where the time goes:
///   profile.loader_share     of the host's time, inside the data loader's iterator
///   profile.sync_share       of the host's time, waiting for the card
///   profile.launch_share     of the host's time, launching kernels
///   profile.optimizer_share  of the host's time, in the optimizer's step
///   profile.sgemm_share, .nccl_share, .copy_share   of the card's time
///
///     Name            Self CPU %   Self CPU   CPU total %  ...  Self CUDA   Self CUDA %  # of
///     Calls aten::addmm          1.01%   93.315ms        18.35%  ...     4.336s        47.79% 3000
///
/// Columns are apart by two blanks or more; which there are differs between versions (`CUDA`,
/// `XPU`, none). Of several tables the last one counts.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/run_builder.h"

namespace aplomb {

class ProfileTable {
 public:
  /// Whether the line is a table's head; it opens the table.
  bool open(std::string_view line, std::uint64_t number, std::uint64_t offset);
  /// Takes a row of the open table; closes it at the first line that is none.
  void line(std::string_view line);
  bool is_open() const { return open_; }
  void finish(RunBuilder& build, SourceId source);

 private:
  struct Shares {
    double loader = 0;
    double sync = 0;
    double launch = 0;
    double optimizer = 0;
    double sgemm = 0;
    double nccl = 0;
    double copy = 0;
  };
  void add(std::string_view name, double host_total, double host_self, double device_self);

  bool open_ = false;
  bool any_ = false;
  bool device_ = false;  ///< the table has a device column
  std::size_t rows_ = 0;
  std::size_t fields_ = 0;
  std::size_t host_total_ = 0;  ///< index of the column; 0: there is none
  std::size_t host_self_ = 0;
  std::size_t device_self_ = 0;
  Shares shares_;
  std::uint64_t number_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace aplomb
