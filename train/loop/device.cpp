#include "train/loop/device.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <dlfcn.h>

#include <algorithm>

#include "knowledge/hardware.h"

namespace aplomb::train::loop {
namespace {

// From CUDA's driver API (cuda.h), whose values and calls never change.
constexpr int k_success = 0;
constexpr int k_capability_major = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
constexpr int k_capability_minor = 76;

constexpr double k_ampere = 8.0;  // first with bf16 and TF32 in its matrix units

/// The driver's library, kept open: closing it under LibTorch would be unwise.
class Driver {
 public:
  Driver() : library_(::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL)) {
    find("cuInit", init_);
    find("cuDeviceGet", get_);
    find("cuDeviceGetName", name_);
    find("cuDeviceGetAttribute", attribute_);
    usable_ = library_ != nullptr && init_ != nullptr && get_ != nullptr && name_ != nullptr &&
              attribute_ != nullptr && init_(0) == k_success;
  }

  std::optional<Card> card(int ordinal) const {
    int device = 0;
    char text[256] = {};
    if (!usable_ || get_(&device, ordinal) != k_success) return std::nullopt;
    if (name_(text, static_cast<int>(sizeof text) - 1, device) != k_success) return std::nullopt;
    Card card{text, 0};
    int major = 0;
    int minor = 0;
    if (attribute_(&major, k_capability_major, device) == k_success &&
        attribute_(&minor, k_capability_minor, device) == k_success) {
      card.capability = major + 0.1 * minor;
    }
    return card;
  }

 private:
  template <class Function>
  void find(const char* name, Function*& to) {
    if (library_ != nullptr) to = reinterpret_cast<Function*>(::dlsym(library_, name));  // NOLINT
  }

  void* library_;
  int (*init_)(unsigned) = nullptr;
  int (*get_)(int*, int) = nullptr;
  int (*name_)(char*, int, int) = nullptr;
  int (*attribute_)(int*, int, int) = nullptr;
  bool usable_ = false;
};

c10::DeviceAllocator* allocator_of(const torch::Device& device) {
  return device.is_cpu() ? nullptr : c10::getDeviceAllocator(device.type());
}

c10::DeviceIndex index_of(const torch::Device& device) {
  return std::max<c10::DeviceIndex>(device.index(), 0);
}

}  // namespace

std::optional<Card> card_of(const torch::Device& device) {
  if (!device.is_cuda()) return std::nullopt;
  static const Driver driver;
  return driver.card(index_of(device));
}

ComputeFormat choose_format(const PrecisionFlags& flags, bool on_gpu,
                            const std::optional<Card>& card) {
  const auto wanted = wanted_precision(flags);
  const bool is_known = card && card->capability > 0;
  const bool has_bf16 = on_gpu && !(is_known && card->capability < k_ampere);
  const bool asked = wanted && *wanted != "auto";
  const std::string name = asked ? *wanted : has_bf16 ? "bf16" : on_gpu ? "fp16" : "fp32";
  if (name == "bf16") {
    return {torch::kBFloat16, name,
            asked ? "as asked" : "the card has it: fp32's range at twice the speed and more"};
  }
  if (name == "fp16") {
    return {
        torch::kFloat16, name,
        asked ? "as asked, with a loss scale" : "the card is older than bf16; with a loss scale"};
  }
  return {
      torch::kFloat32, name,
      asked ? "as asked" : "the CPU's exact format; --precision bf16 where it has bf16 products"};
}

bool uses_tf32(const PrecisionFlags& flags, const std::optional<Card>& card) {
  return flags.tf32 && card && card->capability >= k_ampere;
}

void allow_kernels(const PrecisionFlags& flags) {
  at::Context& context = at::globalContext();
  context.setAllowTF32CuBLAS(flags.tf32);  // without effect on cards that lack it
  context.setAllowTF32CuDNN(flags.tf32);
  const bool flash_alone = flags.attn_implementation == "flash_attention_2";
  context.setSDPUseFlash(flash_alone || !flags.disable_flash_sdpa);
  context.setSDPUseCuDNN(!flash_alone && !flags.disable_cudnn_sdpa);
}

double peak_flops(const Card& card, const std::string& format, bool tf32) {
  const auto seen = knowledge::find_gpu(card.name);
  if (!seen || seen->card == nullptr || seen->is_lesser) return 0;
  const std::string& key = format == "fp32" && tf32 ? "tf32" : format;
  for (const auto& [name, flops] : seen->card->peak_flops) {
    if (name == key) return flops;
  }
  return 0;
}

std::optional<std::uint64_t> held_memory_bytes(const torch::Device& device) {
  c10::DeviceAllocator* allocator = allocator_of(device);
  if (allocator == nullptr || !allocator->initialized()) return std::nullopt;
  const auto stats = allocator->getDeviceStats(index_of(device));
  constexpr auto k_all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return static_cast<std::uint64_t>(stats.reserved_bytes[k_all].current);
}

std::optional<std::uint64_t> free_memory_bytes(const torch::Device& device) {
  c10::DeviceAllocator* allocator = allocator_of(device);
  if (allocator == nullptr) return std::nullopt;
  try {
    return allocator->getMemoryInfo(index_of(device)).first;
  } catch (const c10::Error&) {  // an accelerator that does not tell
    return std::nullopt;
  }
}

}  // namespace aplomb::train::loop
