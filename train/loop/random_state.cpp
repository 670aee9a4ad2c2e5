#include "train/loop/random_state.h"

#include <torch/cuda.h>
#include <torch/types.h>

#include <mutex>

namespace aplomb::train::loop {
namespace {

std::vector<at::Device> devices() {
  std::vector<at::Device> all = {at::Device(at::kCPU)};
  for (int i = 0; i < static_cast<int>(torch::cuda::device_count()); ++i)
    all.emplace_back(at::kCUDA, static_cast<at::DeviceIndex>(i));
  return all;
}

}  // namespace

void seed_all(std::uint64_t seed) { torch::manual_seed(seed); }

std::map<std::string, std::string> random_states() {
  std::map<std::string, std::string> states;
  for (const at::Device& device : devices()) {
    at::Generator generator = at::globalContext().defaultGenerator(device);
    const std::lock_guard<std::mutex> lock(generator.mutex());
    const at::Tensor state = generator.get_state();
    states[device.str()] =
        std::string(static_cast<const char*>(state.const_data_ptr()), state.nbytes());
  }
  return states;
}

core::Result<void> set_random_states(const std::map<std::string, std::string>& states) {
  for (const at::Device& device : devices()) {
    const auto found = states.find(device.str());
    if (found == states.end()) continue;  // saved on a machine without this device
    at::Tensor state = at::empty({static_cast<std::int64_t>(found->second.size())}, at::kByte);
    std::copy(found->second.begin(), found->second.end(),
              static_cast<char*>(state.mutable_data_ptr()));
    at::Generator generator = at::globalContext().defaultGenerator(device);
    const std::lock_guard<std::mutex> lock(generator.mutex());
    try {
      generator.set_state(state);
    } catch (const c10::Error& fault) {
      return core::fail(
          core::ErrorCode::bad_format,
          "[checkpoint] random state of " + device.str() + ": " + fault.what_without_backtrace());
    }
  }
  return {};
}

}  // namespace aplomb::train::loop
