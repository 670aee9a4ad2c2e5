#include "checkpoint/checkpoint_format.h"

#include <algorithm>

namespace aplomb::checkpoint {

#define APLOMB_MEMBER(slug) std::unique_ptr<CheckpointFormat> make_##slug##_format();
#include "checkpoint/roster.def"
#undef APLOMB_MEMBER

namespace {

std::vector<std::unique_ptr<CheckpointFormat>> make_formats() {
  std::vector<std::unique_ptr<CheckpointFormat>> formats;
#define APLOMB_MEMBER(slug) formats.push_back(make_##slug##_format());
#include "checkpoint/roster.def"
#undef APLOMB_MEMBER
  return formats;
}

std::string read_by_first(const StoredFile& file, Opening& opening) {
  if (file.bytes().empty()) {
    opening.refuse(file.path, "is empty; the disk was full, or it is being written");
    return {};
  }
  const auto& formats = checkpoint_formats();
  const auto format = std::find_if(formats.begin(), formats.end(),
                                   [&](const auto& each) { return each->takes(file); });
  return format == formats.end() ? std::string() : (*format)->read(file, opening);
}

}  // namespace

bool CheckpointFormat::takes(const StoredFile&) const { return false; }
std::string CheckpointFormat::read(const StoredFile&, Opening&) const { return {}; }
bool CheckpointFormat::is_shard(std::string_view) const { return false; }
void CheckpointFormat::read_shards(Opening&, const std::string&,
                                   const std::vector<std::string>&) const {}

const std::vector<std::unique_ptr<CheckpointFormat>>& checkpoint_formats() {
  static const std::vector<std::unique_ptr<CheckpointFormat>> the_formats = make_formats();
  return the_formats;
}

void open_file(Opening& opening, const std::string& path, FileRole role) {
  CheckpointFile entry{path, role, {}, 0, false};
  if (auto mapped = tensors::MappedFile::open(path)) {
    entry.bytes = (*mapped)->size();
    entry.format = read_by_first({path, role, opening.out.files.size(), *mapped}, opening);
    entry.readable = !entry.format.empty();
  } else {
    opening.unreadable(path, mapped.error());
  }
  opening.out.files.push_back(std::move(entry));
}

}  // namespace aplomb::checkpoint
