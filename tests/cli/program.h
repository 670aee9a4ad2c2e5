#pragma once
/// Runs the program as a user does and keeps what it said.

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "core/folder.h"

namespace aplomb::test {

struct Said {
  int status = -1;
  std::string out;
  std::string error;
};

/// `words` goes through the shell, so that pipes and redirections work; `%` stands for the program.
inline Said run_program(std::string words) {
  const Folder folder;
  for (std::size_t at = 0; (at = words.find('%', at)) != std::string::npos;) {
    words.replace(at, 1, APLOMB_BINARY);
  }
  ::setenv("APLOMB_STORE", "off", 0);  // no test adds to the memory of whoever runs it
  const std::string line =
      "{ " + words + " ; } >" + (folder / "out") + " 2>" + (folder / "error") + " </dev/null";
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(folder / "out"),
          content(folder / "error")};
}

}  // namespace aplomb::test
