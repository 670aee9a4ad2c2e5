#include "cli/ckpt_json.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "checkpoint/tensor_filter.h"
#include "core/json_text.h"
#include "core/text.h"

namespace aplomb::cli {
namespace {

using Json = nlohmann::ordered_json;

/// NaN and Inf, which JSON has not, as null.
Json plain(double number) { return std::isfinite(number) ? Json(number) : Json(); }

Json head_of(const std::string& tensor_name, checkpoint::TensorKind kind,
             const tensors::ElementType* type, const std::vector<std::int64_t>& shape) {
  return {{"name", core::sanitize(tensor_name)},
          {"kind", checkpoint::kind_words()[static_cast<std::size_t>(kind)]},
          {"layer", checkpoint::layer_of(tensor_name)},
          {"dtype", type == nullptr ? Json() : Json(core::lower(type->name))},
          {"shape", shape}};
}

Json tensors_of(const checkpoint::Checkpoint& checkpoint, const checkpoint::Survey& survey) {
  Json all = Json::array();
  for (const checkpoint::SurveyedTensor& each : survey.tensors) {
    const tensors::Tensor& tensor = checkpoint.tensors[each.tensor];
    Json row = head_of(tensor.name, each.kind, tensor.type, tensor.shape);
    if (each.stats) {
      row["nan"] = each.stats->nan;
      row["inf"] = each.stats->inf;
      row["zeros"] = each.stats->zeros;
      row["norm"] = plain(each.stats->norm());
      row["mean"] = plain(each.stats->mean());
      row["max_abs"] = plain(each.stats->max_abs);
    }
    all.push_back(std::move(row));
  }
  return all;
}

Json tensors_of(const checkpoint::CheckpointDiff& diff) {
  Json all = Json::array();
  for (const checkpoint::TensorDiff& each : diff.tensors) {
    Json row = head_of(each.name, each.kind, each.type, each.shape);
    row["compared"] = each.compared;
    if (!each.compared) row["note"] = core::sanitize(each.note);
    row["frozen"] = each.frozen();
    row["changed"] = each.changed;
    row["count"] = each.count;
    row["max_abs"] = plain(each.max_abs);
    row["max_ulps"] = each.max_ulps;
    const double before = each.before_squares;
    row["relative"] = before > 0 ? plain(std::sqrt(each.sum_squares / before)) : Json();
    all.push_back(std::move(row));
  }
  return all;
}

Json tensors_of(const checkpoint::Checkpoint& checkpoint, const checkpoint::Precision& precision) {
  Json all = Json::array();
  for (const checkpoint::TensorPrecision& each : precision.tensors) {
    const tensors::Tensor& tensor = checkpoint.tensors[each.tensor];
    Json row = head_of(each.name, each.kind, tensor.type, tensor.shape);
    row["name_sure"] = each.sure;
    row["lr"] = each.lr;
    row["asked"] = each.lost.asked;
    row["lost"] = each.lost.lost;
    row["mean_update"] = plain(each.lost.mean_update);
    row["mean_gap"] = plain(each.lost.mean_gap);
    row["stays_frozen"] = each.stays();
    row["reach"] = plain(each.reach);
    row["bound"] = plain(each.bound);
    all.push_back(std::move(row));
  }
  return all;
}

}  // namespace

std::string with_tensors(const std::string& report, const api::CheckpointFindings& findings) {
  Json all = core::ordered_json_from(report);
  if (all.is_discarded()) return report;
  const checkpoint::Checkpoint& checkpoint = *findings.checkpoint;
  Json& own = all["checkpoint"];
  own["path"] = core::sanitize(checkpoint.path);
  own["step"] = checkpoint.step() ? Json(*checkpoint.step()) : Json();
  own["weight_bytes"] = checkpoint.weight_bytes();
  if (findings.survey != nullptr) own["tensors"] = tensors_of(checkpoint, *findings.survey);
  if (findings.diff != nullptr) {
    own["tensors"] = tensors_of(*findings.diff);
  } else if (findings.precision != nullptr) {
    own["tensors"] = tensors_of(checkpoint, *findings.precision);
  }
  return core::json_text(all, 2) + "\n";
}

}  // namespace aplomb::cli
