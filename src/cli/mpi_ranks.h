#pragma once
/// The processes that `mpirun -n N aplomb ...` started, where it did. OpenMPI is loaded only then,
/// at run time: nothing needs it to be built or to run alone.

#include <memory>
#include <string>
#include <vector>

namespace aplomb::cli {

class MpiRanks {
 public:
  /// Null where mpirun did not start this process, or started it alone. `why`: says where OpenMPI
  /// did start it but cannot be loaded; every process then works for itself.
  static std::unique_ptr<MpiRanks> start(std::string& why);
  virtual ~MpiRanks() = default;  ///< waits for the others

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Each gives its bytes; rank 0 gets those of all, in their order, the others nothing.
  virtual std::vector<std::string> gather(const std::string& own) = 0;
};

}  // namespace aplomb::cli
