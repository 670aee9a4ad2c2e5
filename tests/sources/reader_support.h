#pragma once
/// What every reader's test needs: reads bytes in parts of any size into a Run.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "sources/reader.h"

namespace aplomb::test {

inline const sources::Reader& reader_of(std::string_view slug) {
  for (const auto& reader : sources::readers()) {
    if (reader->spec().slug == slug) return *reader;
  }
  ADD_FAILURE() << "no reader " << slug;
  return *sources::readers().front();
}

inline aplomb::record::Run read_with(std::string_view slug, std::string_view bytes,
                                     std::size_t part = 1U << 20U, std::string path = "artifact") {
  aplomb::record::Run run;
  record::RunBuilder build(run);
  const sources::Reader& reader = reader_of(slug);
  const record::SourceId source = build.open(std::move(path), reader.spec().slug, bytes.size());
  const auto stream = input::bytes_of(bytes, part);
  reader.read(*stream, build, source);
  return run;
}

/// The slug of the reader that collect() would choose; `none` where none wants it.
inline std::string chosen_reader(std::string_view path, std::string_view bytes) {
  double most = 0;
  std::string slug = "none";
  for (const auto& reader : sources::readers()) {
    const double sure =
        reader->sniff({path, bytes.substr(0, sources::Sniff::k_head_bytes), bytes.size()});
    if (sure > most) {
      most = sure;
      slug = reader->spec().slug;
    }
  }
  return slug;
}

/// Equal in every sample: the record must not depend on where the parts end.
inline void expect_same_series(const aplomb::record::Run& a, const aplomb::record::Run& b) {
  ASSERT_EQ(a.series.size(), b.series.size());
  for (std::size_t i = 0; i < a.series.size(); ++i) {
    EXPECT_EQ(a.series[i].raw_name, b.series[i].raw_name);
    EXPECT_EQ(a.series[i].step, b.series[i].step) << a.series[i].raw_name;
    EXPECT_EQ(a.series[i].offset, b.series[i].offset) << a.series[i].raw_name;
    EXPECT_EQ(a.series[i].line, b.series[i].line) << a.series[i].raw_name;
    ASSERT_EQ(a.series[i].value.size(), b.series[i].value.size());
    for (std::size_t k = 0; k < a.series[i].value.size(); ++k) {
      const double x = a.series[i].value[k];
      const double y = b.series[i].value[k];
      EXPECT_TRUE(x == y || (x != x && y != y)) << a.series[i].raw_name << " sample " << k;
    }
  }
}

}  // namespace aplomb::test
