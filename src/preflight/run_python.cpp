#include "preflight/run_python.h"

#include <array>

namespace aplomb::preflight {

core::Result<std::string> run_python(const std::string& python, const std::string& program,
                                     const std::string& input, std::chrono::seconds limit,
                                     Packages packages) {
  PythonProcess process;
  if (auto started = process.start(python, program, packages); !started)
    return tl::unexpected(started.error());
  const auto end = std::chrono::steady_clock::now() + limit;
  bool whole = process.send(input);
  std::string output;
  std::array<char, 65536> part{};
  while (whole) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    const std::size_t size = process.receive(part.data(), part.size(), left);
    whole = !process.timed_out();
    if (size == 0) break;
    output.append(part.data(), size);
  }
  const bool missing = process.end_missing(!whole);
  if (missing && output.empty())
    return core::fail(core::ErrorCode::not_found, "[python] " + python + " was not found");
  if (!whole || output.empty())
    return core::fail(core::ErrorCode::internal, "[python] " + python + " gave no answer");
  return output;
}

}  // namespace aplomb::preflight
