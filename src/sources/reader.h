#pragma once
/// Reader: turns one kind of artifact into parts of a Run. One reader a file;
/// src/sources/roster.def lists them.
///
/// A reader is passive: `sniff` says how sure it is that an artifact is its own from the first
/// bytes and the name, and `read` puts what it finds through a RunBuilder. Bad input is data: a
/// reader notes a Defect and goes on; it never throws for content, never executes anything, and
/// checks every size before it asks for memory.
///
/// A new reader: src/sources/<slug>.cpp with `std::unique_ptr<Reader> make_<slug>_reader()`,
/// tests/sources/<slug>_test.cpp, one line in roster.def.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "input/byte_stream.h"
#include "record/run_builder.h"

namespace aplomb::sources {

/// Written once; feeds `aplomb list`, `aplomb explain SLUG` and the docs.
struct ReaderSpec {
  std::string slug;                   ///< `trainer-state`
  std::string summary;                ///< one line: what artifact, written by whom
  std::string example;                ///< one real line (or the head) of the format
  std::vector<std::string> oddities;  ///< what it must survive
};

/// What a reader sees before it is chosen.
struct Sniff {
  std::string_view path;  ///< as given; the name may say what the bytes do not
  std::string_view
      head;  ///< the first k_head_bytes (after decompression), or the whole of a smaller artifact
  std::uint64_t size = 0;  ///< bytes of the artifact on disk
  static constexpr std::size_t k_head_bytes = std::size_t{64} * 1024;
};

class Reader {
 public:
  virtual ~Reader() = default;
  virtual const ReaderSpec& spec() const = 0;
  /// 0: not mine; 1: certainly. The text log scanner is the last resort and answers 0.1 for any
  /// text.
  virtual double sniff(const Sniff& artifact) const = 0;
  /// Reads the artifact to its end or to where it cannot go on. `source` has been opened by the
  /// caller.
  virtual void read(input::ByteStream& bytes, record::RunBuilder& build,
                    record::SourceId source) const = 0;
  /// Whether it reads a stream that leaves parts of the artifact out (log_survey/sampled_log.h).
  virtual bool takes_samples() const { return false; }
};

/// Every reader of the roster, in its order.
const std::vector<std::unique_ptr<Reader>>& readers();

}  // namespace aplomb::sources
