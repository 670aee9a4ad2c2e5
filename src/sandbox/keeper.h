#pragma once
/// Keeper: a small process that is forked off before this one gives up its rights, and does for it
/// the few things that were announced beforehand, and no others: make, name and drop the files that
/// the command line named as outputs, and start the interpreter that parses programs.
///
/// It reads no input but short messages of this process over a socket. Where this process ends,
/// however it ends, the keeper ends what it had started, removes the temporary files that were not
/// given their names, and ends.

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/new_file.h"
#include "sandbox/program.h"

namespace aplomb::sandbox {

/// All that may be asked of a keeper.
struct Announced {
  std::vector<std::string> outputs;      ///< files, or folders with what comes to stand in them
  std::vector<std::string> temporaries;  ///< files of ours that are removed in the end
  std::vector<Command> commands;
};

class Keeper : public core::FileMaker, public ProgramStarter {
 public:
  /// Forks: to be called before there are other threads. Errors: internal.
  static core::Result<std::unique_ptr<Keeper>> start(const Announced& may);
  /// Ends it, and waits until it has cleaned up.
  ~Keeper() override;
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  core::Result<Made> make(const std::string& target) override;
  core::Result<void> commit(int id) override;
  void drop(int id) override;
  core::Result<void> make_folder(const std::string& path) override;
  void remove(const std::string& path) override;
  core::Result<Started> start(const Command& command, int socket) override;
  int end(Started program, bool kill) override;

 private:
  Keeper(int socket, pid_t process, std::vector<Command> commands)
      : socket_(socket), process_(process), commands_(std::move(commands)) {}

  struct Answer {
    int value = -1;
    int descriptor = -1;
  };
  core::Result<Answer> ask(char what, int value, const std::string& text, int descriptor = -1);

  std::mutex mutex_;
  int socket_;
  pid_t process_;
  std::vector<Command> commands_;
};

}  // namespace aplomb::sandbox
