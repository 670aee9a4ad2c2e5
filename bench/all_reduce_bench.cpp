/// One rank that sums arrays over all ranks, as training sums a bucket of gradients; started by
/// bench/all_reduce.py with a launcher's environment: all_reduce_bench BYTES REPEATS.
/// Rank 0 prints the seconds of each repeat, one a line; a wrong sum ends it with 1.

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "train/dist/group.h"

int main(int argc, char** argv) {
  using namespace aplomb::train;
  if (argc != 3) return 2;
  const std::int64_t elements = std::atoll(argv[1]) / 4;
  const int repeats = std::atoi(argv[2]);
  const auto world = train::dist::world_from([](const char* name) { return std::getenv(name); });
  if (!world) return 2;
  const auto joined = train::dist::Group::join(*world, {});
  if (!joined) {
    fmt::print(stderr, "{}\n", joined.error().text);
    return 2;
  }
  train::dist::Group& group = **joined;
  const at::Tensor values = at::empty({elements}, at::kFloat);
  int status = 0;
  for (int i = 0; i < repeats; ++i) {
    values.fill_(group.rank() + 1);
    (void)group.any(false);  // all begin together
    const auto began = std::chrono::steady_clock::now();
    group.wait(group.begin_sum(values));
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    const auto wanted = static_cast<float>(group.size() * (group.size() + 1) / 2);
    if (!values.eq(wanted).all().item<bool>()) status = 1;
    if (group.is_first()) fmt::print("{:.9f}\n", seconds);
  }
  std::string unheard;
  return group.leave(status, {}, &unheard);
}
