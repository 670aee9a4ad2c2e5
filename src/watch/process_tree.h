#pragma once
/// The processes below one, and what they are doing, from /proc.

#include <sys/types.h>

#include <string>
#include <vector>

namespace aplomb::watch {

/// `root` and all that descends from it, parents before children. Only `root` where /proc is not
/// there.
std::vector<pid_t> process_tree(pid_t root);

/// What each process and thread of the tree waits for: command line, state, wait channel, kernel
/// stack where it may be read; with `py-spy dump` and `nvidia-smi` where those programs are there.
/// Takes a minute at most. Nothing is stopped or changed (py-spy stops a Python process for some
/// milliseconds).
std::string hang_evidence(pid_t root);

}  // namespace aplomb::watch
