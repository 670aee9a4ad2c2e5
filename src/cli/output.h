#pragma once
/// Where the program's words go. Everything that prints goes through here, so that a full disk or a
/// closed pipe is never taken for success.

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace aplomb::cli {

/// Exit statuses, the same in every command.
enum Exit : int { k_exit_healthy = 0, k_exit_found = 1, k_exit_usage = 2 };

/// Writes all of it to standard output; the reason where that fails (`Broken pipe`).
core::Result<void> write_out(std::string_view text);

/// One line on standard error, with the program's name before it.
void complain(std::string_view text);

/// Paths that the command line names to be read: from here on neither they nor files below them are
/// written, whatever link or second name leads to them.
void never_write(const std::vector<std::string>& paths);
/// Whether a file may be written there; why not, for people.
core::Result<void> may_write(const std::string& path);

/// Opens what is no plain file (a pipe, a terminal, /dev/stdout) for write_file(), while this process
/// still may. False where it is a plain file, or none yet.
bool open_beforehand(const std::string& path);

/// Writes a whole file, if it may be written, through a temporary one beside it: a reader never sees half of it, and what
/// stood there before stays where writing fails.
core::Result<void> write_file(const std::string& path, std::string_view text);

/// Columns of the terminal on standard output; 80 where it is none or does not say.
int terminal_width();
bool is_terminal_out();
bool is_terminal_error();

/// `auto` asks the terminal and NO_COLOR (https://no-color.org), TERM=dumb and CLICOLOR_FORCE.
bool wants_colour(std::string_view when);

/// Whether the locale's characters are UTF-8; taken to be so where no locale is set.
bool is_utf8_locale();

}  // namespace aplomb::cli
