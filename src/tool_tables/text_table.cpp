#include "tool_tables/text_table.h"

#include <algorithm>

namespace aplomb::tool_tables {

#define APLOMB_MEMBER(slug)             \
  const TableSpec& slug##_table_spec(); \
  std::unique_ptr<TextTable> make_##slug##_table();
#include "tool_tables/roster.def"
#undef APLOMB_MEMBER

const std::vector<TableKind>& table_kinds() {
  static const std::vector<TableKind> kinds = {
#define APLOMB_MEMBER(slug) {slug##_table_spec, make_##slug##_table},
#include "tool_tables/roster.def"
#undef APLOMB_MEMBER
  };
  return kinds;
}

void TextTables::offer(std::size_t kind, std::string_view line, std::uint64_t number,
                       std::uint64_t offset) {
  auto place =
      std::find_if(held_.begin(), held_.end(), [&](const Held& held) { return held.kind == kind; });
  if (place != held_.end() && place->open && place->took) return;
  auto table = table_kinds()[kind].make();
  if (!table->open(line)) return;
  if (place == held_.end()) place = held_.insert(held_.end(), Held{});
  if (!place->open) ++open_;
  *place = {kind, std::move(table), number, offset, true, false};
}

void TextTables::line(std::string_view line) {
  if (open_ == 0) return;
  for (Held& held : held_) {
    if (!held.open) continue;
    held.took = held.table->row(line);
    if (held.took) continue;
    held.open = false;
    --open_;
  }
}

void TextTables::finish(record::RunBuilder& build, record::SourceId source) {
  for (const Held& held : held_) held.table->say(build, {source, held.number, held.offset});
  held_.clear();
  open_ = 0;
}

}  // namespace aplomb::tool_tables
