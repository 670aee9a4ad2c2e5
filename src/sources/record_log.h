#pragma once
/// RecordLog: the records of a file in the log format of LevelDB, as trackers write their runs.
///
///     four bytes of the writer, two of magic, version | crc32 (4) | length (2) | type (1) | bytes | crc32 ...
///
/// Blocks of 32 KiB; a record goes on over several of them in pieces (whole, first, middle, last). The CRC-32
/// is zlib's, over type and bytes. The last record is cut where the process was killed, and a damaged
/// block lies between whole ones: both are told as Defects, and reading goes on.

#include <string>
#include <string_view>

#include "input/byte_window.h"
#include "record/run_builder.h"

namespace aplomb::sources {

class RecordLog {
 public:
  /// `who`: the slug of the reader, for the text of defects.
  RecordLog(input::ByteStream& bytes, record::RunBuilder& build, record::SourceId source,
            std::string who);

  /// The next record, valid until the next call; false at the end.
  bool next(std::string_view& record);
  /// Where its last piece begins.
  std::uint64_t offset() const { return window_.offset(); }

 private:
  void defect(std::string kind, core::Severity severity, std::string text);
  bool torn();
  bool piece();
  bool next_block(std::uint64_t room, bool padding);
  void take(unsigned char type, std::string_view content);

  input::ByteWindow window_;
  record::RunBuilder& build_;
  record::SourceId source_;
  std::string who_;
  std::size_t read_ = 0;  ///< bytes of the piece at hand, to be dropped
  bool open_ = false;     ///< a record over several pieces has begun
  bool whole_ = false;    ///< given_ is one
  std::string_view given_;
  std::string record_;  ///< the pieces of a record that goes over several
};

}  // namespace aplomb::sources
