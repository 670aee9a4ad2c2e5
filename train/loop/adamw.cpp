#include <cctype>

#include "train/loop/optimizer.h"

namespace aplomb::train::loop {
namespace {

/// `norm` as a part of its own between points: `model.norm.weight`.
bool has_part(std::string_view name, std::string_view part) {
  for (std::size_t at = 0; (at = name.find(part, at)) != std::string_view::npos; ++at) {
    const std::size_t end = at + part.size();
    const bool begins = at == 0 || name[at - 1] == '.';
    if (begins && (end == name.size() || name[end] == '.')) return true;
  }
  return false;
}

/// `_norm` at the end of a part: `q_norm.weight`.
bool has_tail(std::string_view name, std::string_view tail) {
  for (std::size_t at = 0; (at = name.find(tail, at)) != std::string_view::npos; ++at) {
    const std::size_t end = at + tail.size();
    if (end == name.size() || name[end] == '.') return true;
  }
  return false;
}

}  // namespace

bool decays(std::string_view parameter) {
  std::string name(parameter);
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const char* part : {"bias", "layernorm", "rmsnorm"}) {
    if (name.find(part) != std::string::npos) return false;
  }
  return !has_part(name, "norm") && !has_tail(name, "_norm");
}

AdamW::AdamW(const std::vector<NamedTensor>& parameters, const Settings& settings)
    : settings_(settings) {
  groups_[0].weight_decay = settings.weight_decay;
  for (const NamedTensor& each : parameters) {
    Group& group = groups_[decays(each.name) ? 0 : 1];
    group.names.push_back(each.name);
    group.parameters.push_back(each.tensor);
    const at::Tensor like = each.tensor.detach();
    group.first.push_back(at::zeros_like(like));
    group.second.push_back(at::zeros_like(like));
    group.steps.push_back(at::zeros({}, like.options().dtype(at::kFloat)));
  }
}

void AdamW::step_group(const Group& group, const Settings& settings, double lr) {
  std::vector<at::Tensor> parameters, gradients, first, second, steps;
  for (std::size_t i = 0; i < group.parameters.size(); ++i) {
    const at::Tensor& gradient = group.parameters[i].grad();
    if (!gradient.defined()) continue;
    parameters.push_back(group.parameters[i].detach());
    gradients.push_back(gradient);
    first.push_back(group.first[i]);
    second.push_back(group.second[i]);
    steps.push_back(group.steps[i]);
  }
  if (parameters.empty()) return;
  at::_foreach_add_(steps, 1);
  at::_fused_adamw_(parameters, gradients, first, second, /*max_exp_avg_sqs=*/{}, steps, lr,
                    settings.beta1, settings.beta2, group.weight_decay, settings.eps,
                    /*amsgrad=*/false, /*maximize=*/false);
}

void AdamW::step(double factor) {
  const at::NoGradGuard no_gradients;
  for (const Group& group : groups_) step_group(group, settings_, settings_.lr * factor);
}

void AdamW::reset_momentum() {
  for (Group& group : groups_) {
    for (at::Tensor& each : group.first) each.zero_();
  }
}

std::vector<NamedTensor> AdamW::state() {
  std::vector<NamedTensor> all;
  for (Group& group : groups_) {
    for (std::size_t i = 0; i < group.names.size(); ++i) {
      all.push_back({"exp_avg." + group.names[i], group.first[i]});
      all.push_back({"exp_avg_sq." + group.names[i], group.second[i]});
      all.push_back({"step." + group.names[i], group.steps[i]});
    }
  }
  return all;
}

std::vector<OptimizerGroupInfo> AdamW::groups(double factor) const {
  std::vector<OptimizerGroupInfo> all;
  for (const Group& group : groups_) {
    if (group.names.empty()) continue;
    all.push_back({{{"lr", settings_.lr * factor},
                    {"initial_lr", settings_.lr},
                    {"beta1", settings_.beta1},
                    {"beta2", settings_.beta2},
                    {"eps", settings_.eps},
                    {"weight_decay", group.weight_decay}},
                   group.names});
  }
  return all;
}

}  // namespace aplomb::train::loop
