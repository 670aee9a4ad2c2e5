#pragma once
#include <cstddef>
#include <optional>

#include "record/series.h"

namespace aplomb::diagnosis {

/// Median of the finite samples of [begin, end); nothing where there is none.
std::optional<double> finite_median(const record::Series& series, std::size_t begin,
                                    std::size_t end);

}  // namespace aplomb::diagnosis
