#pragma once
/// Result<T>: the value, or why there is none. Used where a function cannot go on; bad *input* is
/// data instead (record/ledger.h): the reader notes a Defect and goes on.
///
/// The text of an Error reads `[who] what happened, with the numbers; likely reason; what to do`.

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace aplomb::core {

enum class ErrorCode {
  not_found,     ///< the path does not exist
  not_readable,  ///< it exists, but may not be read
  not_writable,  ///< the place for the output cannot be written
  bad_format,    ///< the content is not what its name or head says
  too_large,     ///< a size in the input is beyond what is sane or fits
  unsupported,   ///< a known kind that this build does not read
  bad_usage,     ///< the caller's arguments are off
  internal,      ///< a fault of ours
};

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string text;
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string text) {
  return tl::unexpected<Error>(Error{code, std::move(text)});
}

}  // namespace aplomb::core
