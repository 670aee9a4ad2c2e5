#pragma once
/// The remedy of a report put into the files that configure the run: which files, and what they say
/// then.
///
///     auto fix = plan_fix(report);
///     for (const FileFix& file : fix->files) ...   // file.path, file.original, file.fixed.text
///
/// Reads the report's inputs, writes nothing.

#include <aplomb/report.h>

#include <string>
#include <vector>

#include "fix/fix.h"

namespace aplomb::fix {

struct FileFix {
  std::string path;  ///< of the input that was read
  std::string original;
  FixedConfig fixed;
  bool written_by_program = false;  ///< a trainer's own dump: changing it changes no run by itself
};

struct RunFix {
  std::string remedy;  ///< what it does, in words
  std::vector<FileFix> files;
  std::vector<std::string> left_out;  ///< canonical names of what no file here can hold
  std::string doubt;      ///< which other cause is as likely and not mended by this; empty: none
  std::string elsewhere;  ///< those in the words of the files' framework; empty where it has no key
};

/// Takes the first remedy of the first cause that would change a file; where the report puts two
/// causes forward, one that both share comes first, and `doubt` says what any other leaves open. A
/// setting is changed in every file that states it (a batch size stands in the trainer's and in
/// DeepSpeed's configuration, and they must agree); one that no file states is added to the
/// trainer's own file, else to one of its parts. What people write comes before what programs wrote
/// down
/// (`training_args.json` with all defaults, Lightning's hparams.yaml, `.hydra/`): those serve only
/// where nothing else is there. Of several runs only the files of the leading one are touched.
///
/// Errors: unsupported (no remedy that is a change of settings, no configuration among the inputs,
/// none that has a place for it, or all of it is set already); the text says what to do by hand.
core::Result<RunFix> plan_fix(const Report& report);

/// Where each file of the fix goes. `out` is one file, or a folder: one that exists, a name with a
/// slash at its end, or one without an ending where several files change. Errors: bad_usage where
/// `out` or a file in it is an input, where something else stands there already, or where several
/// files need a folder.
core::Result<std::vector<std::string>> places_of(const RunFix& fix, const Report& report,
                                                 const std::string& out);

}  // namespace aplomb::fix
