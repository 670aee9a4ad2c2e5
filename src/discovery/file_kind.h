#pragma once
/// What a file is, before any reader sees it: an artifact of the run, or something that lies beside
/// it and says nothing of how it went. Told from the name and the first bytes, in this one place,
/// so that no reader takes a stranger's words for evidence.

#include <string_view>

#include "sources/reader.h"

namespace aplomb::discovery {

enum class FileKind {
  evidence,    ///< may be an artifact of a run: the readers decide
  model_card,  ///< README.md with the front matter of a model hub: tags and boilerplate
  own_output,  ///< a report that aplomb wrote of a run (hang-N.txt and output.log are evidence)
  data_table,  ///< rows of a data set: no column or member is a metric or a step
};
FileKind kind_of(const sources::Sniff& artifact);

/// Why such a file is left out, in a line; empty for evidence.
std::string_view why_left_out(FileKind kind);

}  // namespace aplomb::discovery
