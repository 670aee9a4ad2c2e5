#include "checkpoint/pickle_walk.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "checkpoint/tensor_shard.h"
#include "core/text.h"

namespace aplomb::checkpoint {
namespace {

constexpr std::size_t k_most_depth = 64;

/// One step of the way to a node: names are put together only for tensors, so that a hostile tree
/// cannot fill the memory with them.
struct Step {
  pickle::NodeId node = 0;
  std::uint32_t parent = 0;  ///< index of the step before; the root is its own
  pickle::NodeId key = 0;    ///< of a dict; 0 where `position` is meant
  std::uint32_t position = 0;
  std::uint32_t depth = 0;
  bool silent = false;  ///< adds nothing to the name: the root, the state of an object
};

std::string name_of(const pickle::PickleDocument& document, const std::vector<Step>& steps,
                    std::uint32_t at) {
  constexpr std::size_t k_most_key = 400;
  std::vector<std::string> parts;
  for (; steps[at].depth > 0; at = steps[at].parent) {
    const Step& step = steps[at];
    if (step.silent) continue;
    const pickle::PickleNode& key = document.at(step.key);
    parts.push_back(step.key == 0 ? std::to_string(step.position)
                    : key.kind == pickle::PickleKind::text
                        ? core::sanitize(key.text.substr(0, k_most_key))
                        : std::to_string(key.number));
  }
  std::reverse(parts.begin(), parts.end());
  return fmt::format("{}", fmt::join(parts, "."));
}

}  // namespace

void visit_tensors(const pickle::PickleDocument& document, pickle::NodeId from,
                   const std::function<void(const std::string& name, std::size_t tensor)>& visit) {
  std::vector<bool> seen(document.nodes.size(), false);
  std::vector<Step> steps{{from, 0, 0, 0, 0, true}};
  std::vector<std::uint32_t> open{0};
  while (!open.empty()) {
    const std::uint32_t at = open.back();
    open.pop_back();
    const Step here = steps[at];
    if (seen[here.node]) continue;
    seen[here.node] = true;
    const pickle::PickleNode& node = document.at(here.node);
    if (node.kind == pickle::PickleKind::tensor) {
      visit(name_of(document, steps, at), static_cast<std::size_t>(node.number));
      continue;
    }
    if (here.depth >= k_most_depth) continue;
    if (const auto local = local_tensor(document, node)) {
      steps.push_back({*local, at, 0, 0, here.depth + 1, true});
      open.push_back(static_cast<std::uint32_t>(steps.size() - 1));
      continue;
    }
    // Pushed from the last, so that they are visited in their order.
    const std::size_t width = node.kind == pickle::PickleKind::dict ? 2 : 1;
    for (std::size_t i = node.items.size() / width; i-- > 0;) {
      const pickle::NodeId child = node.items[i * width + width - 1];
      const pickle::PickleKind kind = document.at(child).kind;
      if (kind < pickle::PickleKind::list || kind == pickle::PickleKind::global || seen[child])
        continue;
      // An object's state is silent, and so is the array that joblib's wrapper describes.
      const bool silent = node.kind == pickle::PickleKind::object &&
                          (i == 2 || (i == 3 && kind == pickle::PickleKind::tensor));
      steps.push_back({child, at, width == 2 ? node.items[i * 2] : 0, static_cast<std::uint32_t>(i),
                       here.depth + 1, silent});
      open.push_back(static_cast<std::uint32_t>(steps.size() - 1));
    }
  }
}

}  // namespace aplomb::checkpoint
