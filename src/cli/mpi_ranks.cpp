#include "cli/mpi_ranks.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace aplomb::cli {
namespace {

// The C interface of OpenMPI 4 and 5 (mpi.h): handles are pointers to these objects of the library,
// MPI_STATUS_IGNORE is null.
using Handle = void*;
using Init = int (*)(int*, char***);
using Ask = int (*)(Handle, int*);
using Send = int (*)(const void*, int, Handle, int, int, Handle);
using Receive = int (*)(void*, int, Handle, int, int, Handle, void*);
using Finalize = int (*)();

constexpr const char* k_library = "libmpi.so.40";
constexpr std::uint64_t k_part = 1U << 30U;  // MPI counts in int
constexpr int k_tag = 7;

class OpenMpi : public MpiRanks {
 public:
  explicit OpenMpi(void* library)
      : init_(reinterpret_cast<Init>(::dlsym(library, "MPI_Init"))),  // NOLINT: as dlsym is used
        ask_rank_(reinterpret_cast<Ask>(::dlsym(library, "MPI_Comm_rank"))),      // NOLINT
        ask_size_(reinterpret_cast<Ask>(::dlsym(library, "MPI_Comm_size"))),      // NOLINT
        send_(reinterpret_cast<Send>(::dlsym(library, "MPI_Send"))),              // NOLINT
        receive_(reinterpret_cast<Receive>(::dlsym(library, "MPI_Recv"))),        // NOLINT
        finalize_(reinterpret_cast<Finalize>(::dlsym(library, "MPI_Finalize"))),  // NOLINT
        world_(::dlsym(library, "ompi_mpi_comm_world")),
        byte_(::dlsym(library, "ompi_mpi_byte")) {}
  ~OpenMpi() override {
    if (started_) finalize_();
  }
  OpenMpi(const OpenMpi&) = delete;
  OpenMpi& operator=(const OpenMpi&) = delete;

  bool begin() {
    const bool whole = init_ != nullptr && ask_rank_ != nullptr && ask_size_ != nullptr &&
                       send_ != nullptr && receive_ != nullptr && finalize_ != nullptr &&
                       world_ != nullptr && byte_ != nullptr;
    started_ = whole && init_(nullptr, nullptr) == 0;
    return started_ && ask_rank_(world_, &rank_) == 0 && ask_size_(world_, &size_) == 0;
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::vector<std::string> gather(const std::string& own) override {
    if (rank_ != 0) {
      const std::uint64_t bytes = own.size();
      send_(&bytes, sizeof bytes, byte_, 0, k_tag, world_);
      for (std::uint64_t at = 0; at < bytes; at += k_part) {
        const auto part = static_cast<int>(std::min(k_part, bytes - at));
        send_(own.data() + at, part, byte_, 0, k_tag, world_);
      }
      return {};
    }
    std::vector<std::string> all{own};
    for (int from = 1; from < size_; ++from) {
      std::uint64_t bytes = 0;
      receive_(&bytes, sizeof bytes, byte_, from, k_tag, world_, nullptr);
      std::string& theirs = all.emplace_back(bytes, '\0');
      for (std::uint64_t at = 0; at < bytes; at += k_part) {
        const auto part = static_cast<int>(std::min(k_part, bytes - at));
        receive_(theirs.data() + at, part, byte_, from, k_tag, world_, nullptr);
      }
    }
    return all;
  }

 private:
  Init init_;
  Ask ask_rank_;
  Ask ask_size_;
  Send send_;
  Receive receive_;
  Finalize finalize_;
  Handle world_;
  Handle byte_;
  int rank_ = 0;
  int size_ = 1;
  bool started_ = false;
};

}  // namespace

std::unique_ptr<MpiRanks> MpiRanks::start(std::string& why) {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");  // NOLINT(concurrency-mt-unsafe)
  if (size == nullptr || std::atoi(size) < 2) return nullptr;
  void* library = ::dlopen(k_library, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    why = "mpirun started this, but OpenMPI cannot be loaded (libmpi.so.40)";
    return nullptr;
  }
  auto ranks = std::make_unique<OpenMpi>(library);
  if (!ranks->begin()) {
    why = "mpirun started this, but OpenMPI does not start";
    return nullptr;
  }
  return ranks;
}

}  // namespace aplomb::cli
