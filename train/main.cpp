/// aplomb-train: the trainer. So far it only says what it was built with.

#include <fmt/core.h>
#include <torch/version.h>

#include <string_view>

#include "core/version.h"

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    fmt::print("aplomb-train {} (LibTorch {})\n", aplomb::version(), TORCH_VERSION);
    return 0;
  }
  fmt::print(stderr, "usage: aplomb-train --version\n");
  return 2;
}
