#pragma once
/// What an exception from below the loop means to the user.

#include <exception>
#include <string>

namespace aplomb::train::loop {

/// Memory that ran out (std::bad_alloc, torch's allocators on CPU and GPU) with what helps;
/// anything else as a fault of the program, to be reported. One line.
std::string told_fault(const std::exception& fault);

}  // namespace aplomb::train::loop
