/// The Python package's way into the core: raw tensor pointers, numbers, bytes. It includes no
/// torch header and so fits every torch version.
#include <aplomb/guard.h>
#include <aplomb/recorder.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "scan/scan.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace aplomb;

scan::ScalarType type_of(std::string_view dtype) {
  if (dtype == "float32") return scan::ScalarType::f32;
  if (dtype == "bfloat16") return scan::ScalarType::bf16;
  if (dtype == "float16") return scan::ScalarType::f16;
  if (dtype == "float64") return scan::ScalarType::f64;
  throw std::invalid_argument("[aplomb] gradients of dtype " + std::string(dtype) +
                              " are not known; float64, float32, float16 and bfloat16 are");
}

/// Measures gradients by their addresses: the caller keeps them alive and contiguous. One
/// (non-finite elements, sum of squares) for each group; `group[i]` says whose tensor i is.
std::vector<std::pair<std::uint64_t, double>> measure(const std::vector<std::uintptr_t>& address,
                                                      const std::vector<std::uint64_t>& count,
                                                      const std::vector<std::string_view>& dtype,
                                                      const std::vector<std::uint32_t>& group,
                                                      std::uint32_t groups, int threads) {
  const std::size_t size = address.size();
  if (count.size() != size || dtype.size() != size || group.size() != size)
    throw std::invalid_argument("[aplomb] measure: lists of different lengths");
  std::vector<scan::TensorView> views(size);
  std::vector<scan::TensorStats> stats(size);
  for (std::size_t i = 0; i < size; ++i) {
    if (group[i] >= groups) throw std::invalid_argument("[aplomb] measure: no such group");
    views[i] = {reinterpret_cast<const void*>(address[i]), count[i], type_of(dtype[i])};
  }
  {
    const nb::gil_scoped_release release;
    scan::scan_many(views, stats, threads);
  }
  std::vector<std::pair<std::uint64_t, double>> out(groups, {0, 0.0});
  for (std::size_t i = 0; i < size; ++i) {
    out[group[i]].first += stats[i].nan + stats[i].inf;
    out[group[i]].second += stats[i].sum_squares;
  }
  return out;
}

GuardVerdict step_of(Guard& guard, std::int64_t step, std::optional<double> loss,
                     std::optional<double> lr, double loss_scale, bool unscaled,
                     const std::vector<std::pair<std::uint64_t, double>>& groups) {
  std::vector<GuardGroup> given;
  given.reserve(groups.size());
  for (const auto& [nonfinite, sum_squares] : groups) given.push_back({nonfinite, sum_squares});
  return guard.step({.step = step,
                     .loss = loss,
                     .lr = lr,
                     .loss_scale = loss_scale,
                     .unscaled = unscaled,
                     .groups = given});
}

void bind_guard(nb::module_& module) {
  nb::class_<GuardOptions>(module, "GuardOptions")
      .def(nb::init<>())
      .def_rw("max_norm", &GuardOptions::max_norm)
      .def_rw("max_group_norm", &GuardOptions::max_group_norm)
      .def_rw("skip_nonfinite", &GuardOptions::skip_nonfinite)
      .def_rw("spikes", &GuardOptions::spikes)
      .def_rw("reset_momentum", &GuardOptions::reset_momentum)
      .def_rw("lower_lr", &GuardOptions::lower_lr)
      .def_rw("loss_has_level", &GuardOptions::loss_has_level)
      .def_rw("rollback_retries", &GuardOptions::rollback_retries)
      .def_rw("most_skips_in_a_row", &GuardOptions::most_skips_in_a_row);
  nb::class_<GuardVerdict>(module, "Verdict", "What the guard decided about one step.")
      .def_prop_ro("action", [](const GuardVerdict& v) { return aplomb::name(v.action); })
      .def_prop_ro("takes_step", &GuardVerdict::takes_step)
      .def_ro("scale", &GuardVerdict::scale)
      .def_prop_ro("group_scales",
                   [](const GuardVerdict& v) {
                     return std::vector<double>(v.group_scales.begin(), v.group_scales.end());
                   })
      .def_ro("grad_norm", &GuardVerdict::grad_norm)
      .def_ro("lr_factor", &GuardVerdict::lr_factor)
      .def_ro("reset_momentum", &GuardVerdict::reset_momentum)
      .def_ro("aside", &GuardVerdict::aside)
      .def_ro("rollback_step", &GuardVerdict::rollback_step)
      .def_ro("skip_steps", &GuardVerdict::skip_steps)
      .def_prop_ro("policy", [](const GuardVerdict& v) { return v.policy; })
      .def_prop_ro("reason", [](const GuardVerdict& v) { return std::string(v.reason()); })
      .def("__repr__", [](const GuardVerdict& v) {
        std::string text = "<Verdict " + std::string(aplomb::name(v.action));
        if (!v.reason().empty()) text.append(": ").append(v.reason());
        return text + ">";
      });
  nb::class_<Guard>(module, "GuardCore")
      .def(nb::init<const GuardOptions&>())
      .def("step", &step_of, "step"_a, "loss"_a.none(), "lr"_a.none(), "loss_scale"_a, "unscaled"_a,
           "groups"_a)
      .def("note_snapshot", &Guard::note_snapshot)
      .def_prop_ro("counts",
                   [](const Guard& guard) {
                     const GuardCounts& counts = guard.counts();
                     nb::dict out;
                     out["steps"] = counts.steps;
                     out["clipped"] = counts.clipped;
                     out["skipped"] = counts.skipped;
                     out["rollbacks"] = counts.rollbacks;
                     return out;
                   })
      .def("save",
           [](const Guard& guard) {
             const std::string state = guard.save();
             return nb::bytes(state.data(), state.size());
           })
      .def("load", [](Guard& guard, const nb::bytes& state) {
        return guard.load({state.c_str(), state.size()});
      });
}

GuardAction action_named(std::string_view word) {
  for (const GuardAction each : {GuardAction::proceed, GuardAction::clip, GuardAction::skip,
                                 GuardAction::rollback, GuardAction::halt}) {
    if (aplomb::name(each) == word) return each;
  }
  throw std::invalid_argument("[aplomb] no action is called " + std::string(word));
}

void bind_recorder(nb::module_& module) {
  nb::class_<Recorder>(module, "Recorder")
      .def_static(
          "open",
          [](const std::string& path, int rank) {
            std::string error;
            auto recorder = Recorder::open(path, {.rank = rank}, error);
            if (!recorder) throw std::runtime_error(error);
            return recorder;
          },
          "path"_a, "rank"_a = -1)
      .def("name", &Recorder::name)
      .def(
          "record",
          [](Recorder& recorder, std::int64_t step, double time_s,
             const std::vector<std::pair<std::uint16_t, double>>& values,
             const GuardVerdict* verdict) {
            std::vector<RecordedValue> given;
            given.reserve(values.size());
            for (const auto& [name, value] : values) given.push_back({name, value});
            StepRecord record{.step = step, .time_s = time_s, .values = given};
            std::string reason;
            if (verdict != nullptr) {
              record.action = static_cast<std::uint8_t>(verdict->action);
              record.policy = verdict->policy;
              record.reason = verdict->reason();
            }
            recorder.record(record);
          },
          "step"_a, "time_s"_a, "values"_a, "verdict"_a.none() = nb::none())
      .def(
          "note",
          [](Recorder& recorder, std::int64_t step, double time_s, std::string_view policy,
             std::string_view text, std::string_view action) {
            recorder.record({.step = step,
                             .time_s = time_s,
                             .action = static_cast<std::uint8_t>(action_named(action)),
                             .policy = policy,
                             .reason = text});
          },
          "step"_a, "time_s"_a, "policy"_a, "text"_a, "action"_a = "proceed",
          "What somebody says about a step, without values.")
      .def("sync", &Recorder::sync)
      .def_prop_ro("count", &Recorder::count);
}

}  // namespace

NB_MODULE(_core, module) {
  module.doc() = "The compiled core of aplomb: see aplomb.Guard.";
  bind_guard(module);
  bind_recorder(module);
  module.def("measure", &measure, "address"_a, "count"_a, "dtype"_a, "group"_a, "groups"_a,
             "threads"_a);
}
