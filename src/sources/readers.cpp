#include "sources/reader.h"

namespace aplomb::sources {

#define APLOMB_MEMBER(slug) std::unique_ptr<Reader> make_##slug##_reader();
#include "sources/roster.def"
#undef APLOMB_MEMBER

const std::vector<std::unique_ptr<Reader>>& readers() {
  static const std::vector<std::unique_ptr<Reader>> the_readers = [] {
    std::vector<std::unique_ptr<Reader>> all;
#define APLOMB_MEMBER(slug) all.push_back(make_##slug##_reader());
#include "sources/roster.def"
#undef APLOMB_MEMBER
    return all;
  }();
  return the_readers;
}

}  // namespace aplomb::sources
