#include "checkpoint/tensor_survey.h"

#include <map>

#include "core/text.h"

namespace aplomb {

std::string precision_word(const ElementType& type) {
  if (type.name.front() == 'F' && type.bits > 8) return "fp" + std::to_string(type.bits);
  return lower(type.name);
}

Survey survey(const Checkpoint& checkpoint) {
  Survey out;
  std::map<const ElementType*, std::uint64_t> by_type;
  for (std::size_t i = 0; i < checkpoint.tensors.size(); ++i) {
    const Tensor& tensor = checkpoint.tensors[i];
    SurveyedTensor made{i, kind_of(tensor), scan_tensor(tensor)};
    out.elements += tensor.count;
    if (tensor.type != nullptr && tensor.type->is_float) {
      out.float_elements += tensor.count;
      by_type[tensor.type] += tensor.count;
    }
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
  std::uint64_t most = 0;
  for (const auto& [type, count] : by_type) {
    if (count <= most) continue;
    most = count;
    out.params_dtype = precision_word(*type);
  }
  return out;
}

}  // namespace aplomb
