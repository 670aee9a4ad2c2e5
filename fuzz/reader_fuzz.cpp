/// Fuzzes one reader of src/sources/roster.def, that of the target's name: any bytes, in parts of
/// any size. The first byte of the input chooses the part size and, for formats whose frames carry
/// checksums, whether the rest is taken as the content of frames (so that the fuzzer gets behind
/// the checksums) or as the file itself.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "recorder/record_file.h"
#include "sources/made_files.h"
#include "sources/reader.h"
#include "target_name.h"

namespace {

using namespace aplomb;

/// Pieces of the input, each led by its length in two bytes.
template <class Take>
void each_piece(std::string_view bytes, Take take) {
  while (bytes.size() >= 2) {
    const std::size_t size =
        static_cast<unsigned char>(bytes[0]) + 256U * static_cast<unsigned char>(bytes[1]);
    bytes.remove_prefix(2);
    take(bytes.substr(0, size));
    bytes.remove_prefix(std::min(size, bytes.size()));
  }
}

/// Puts right the checksums of a step record, so that the fuzzer gets behind them.
std::string with_checksums(std::string file) {
  using namespace recorder;
  RecordHead head{};
  if (file.size() < sizeof head) return file;
  std::memcpy(&head, file.data(), sizeof head);
  std::copy(k_magic.begin(), k_magic.end(), head.magic);
  head.version = k_version;
  head.checksum = checksum_of(head);
  std::memcpy(file.data(), &head, sizeof head);
  for (std::size_t at = k_head_bytes + std::size_t{head.text_bytes} % (1U << 20U);
       at + sizeof(RecordSlot) <= file.size(); at += sizeof(RecordSlot)) {
    RecordSlot slot{};
    std::memcpy(&slot, file.data() + at, sizeof slot);
    slot.checksum = checksum_of(slot);
    std::memcpy(file.data() + at, &slot, sizeof slot);
  }
  return file;
}

std::string framed(std::string_view slug, std::string_view bytes) {
  if (slug == "tensorboard") {
    std::string file;
    each_piece(bytes, [&file](std::string_view message) { file += test::frame(message); });
    return file;
  }
  if (slug == "wandb") {
    test::WandbWriter writer;
    each_piece(bytes, [&writer](std::string_view record) { writer.record(record); });
    return writer.bytes();
  }
  if (slug == "step-record") return with_checksums(std::string(bytes));
  return std::string(bytes);
}

const sources::Reader& the_reader() {
  for (const auto& reader : sources::readers()) {
    if (reader->spec().slug == fuzz::target_name()) return *reader;
  }
  std::abort();  // the build names a reader that the roster does not hold
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const sources::Reader& reader = the_reader();
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool in_frames = (data[0] & 1U) != 0;
  const std::size_t part = std::size_t{1} << ((data[0] >> 1U) % 13U);
  const std::string file = in_frames ? framed(reader.spec().slug, input) : std::string(input);
  const std::string path = "run/metrics/" + reader.spec().slug;
  reader.sniff({path, std::string_view(file).substr(0, sources::Sniff::k_head_bytes), file.size()});
  record::Run run;
  record::RunBuilder build(run);
  const record::SourceId source = build.open(path, reader.spec().slug, file.size());
  const auto bytes = input::bytes_of(file, part);
  reader.read(*bytes, build, source);
  // Text that readers put into the record reaches terminals and JSON: it must be bounded.
  for (const record::Defect& defect : run.defects) {
    if (defect.text.size() > 4096) std::abort();
  }
  return 0;
}
