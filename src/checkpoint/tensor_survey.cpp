#include "checkpoint/tensor_survey.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>

#include "core/share_work.h"
#include "core/text.h"

namespace aplomb::checkpoint {

std::string precision_word(const tensors::ElementType& type) {
  if (type.name.front() == 'F' && type.bits > 8) return "fp" + std::to_string(type.bits);
  return core::lower(type.name);
}

std::string params_dtype(const Checkpoint& checkpoint) {
  std::map<const tensors::ElementType*, std::uint64_t> by_type;
  for (const tensors::Tensor& tensor : checkpoint.tensors) {
    if (tensor.type != nullptr && tensor.type->is_float) by_type[tensor.type] += tensor.count;
  }
  std::uint64_t most = 0;
  std::string word;
  for (const auto& [type, count] : by_type) {
    if (count <= most) continue;
    most = count;
    word = precision_word(*type);
  }
  return word;
}

namespace {

/// Statistics of all tensors, the largest first so that no thread ends with a large one.
std::vector<std::optional<scan::TensorStats>> scan_all(const Checkpoint& checkpoint,
                                                       const SurveyOptions& options) {
  std::vector<std::size_t> order(checkpoint.tensors.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return stored_bytes(checkpoint.tensors[a]) > stored_bytes(checkpoint.tensors[b]);
  });
  std::vector<std::optional<scan::TensorStats>> stats(order.size());
  std::atomic<std::size_t> next = options.rank;
  std::atomic<std::uint64_t> done = 0;
  const auto work = [&]() {
    for (std::size_t i = next.fetch_add(options.ranks); i < order.size();
         i = next.fetch_add(options.ranks)) {
      const tensors::Tensor& tensor = checkpoint.tensors[order[i]];
      stats[order[i]] = tensors::scan_tensor(tensor);
      const std::uint64_t bytes = done += stored_bytes(tensor);
      if (options.progress) options.progress(bytes);
    }
  };
  core::share_work(options.threads, work);
  if (options.join) options.join(stats);
  return stats;
}

}  // namespace

Survey survey(const Checkpoint& checkpoint, const SurveyOptions& options) {
  Survey out;
  const std::vector<std::optional<scan::TensorStats>> stats = scan_all(checkpoint, options);
  out.tensors.reserve(checkpoint.tensors.size());
  for (std::size_t i = 0; i < checkpoint.tensors.size(); ++i) {
    const tensors::Tensor& tensor = checkpoint.tensors[i];
    SurveyedTensor made{i, kind_of(tensor), stats[i]};
    out.elements += tensor.count;
    if (tensor.type != nullptr && tensor.type->is_float) out.float_elements += tensor.count;
    out.nonfinite += made.nonfinite() ? 1U : 0U;
    const bool is_b = made.kind == TensorKind::lora_b;
    out.lora_b += is_b ? 1U : 0U;
    if (made.all_zero()) {
      out.lora_b_zero += is_b ? 1U : 0U;
      const bool by_design =
          is_b || made.kind == TensorKind::bias || made.kind == TensorKind::buffer;
      out.all_zero += by_design ? 0U : 1U;
    }
    out.tensors.push_back(made);
  }
  out.params_dtype = params_dtype(checkpoint);
  return out;
}

}  // namespace aplomb::checkpoint
