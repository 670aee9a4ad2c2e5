/// Runs that are stopped and go on otherwise than they stopped.
///
/// Fault and twin are both resumed half-way; the twin puts everything back, and so is the
/// uninterrupted run, bit for bit. None of the faults announces itself: what the records, the
/// settings and the program show is left to be seen. What trainers refuse (another number of ranks,
/// other data) and what does nothing to one run (a seed that is not set) is not among them.

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <memory>
#include <numeric>

#include "train/lab/fault_parts.h"

namespace aplomb::train::lab {
namespace {

constexpr const char* k_once =
    "the state is lost before the first step; each step after it is what the state allows";
constexpr std::size_t k_records = 10;  // over which losses are compared
constexpr double k_errors = 3;         // standard errors

using Change = std::function<void(LabRun&)>;

/// What the user's program puts back.
struct Restored {
  bool optimizer = true, schedule = true, count = true, loader = true;
  bool order = true;  ///< false: batches are skipped in an order that is drawn anew
};

constexpr const char* k_stateful_loader =
    "collate = Collator(tokenizer)\n"
    "train_set, eval_set = read_samples(args.train_file), read_samples(args.eval_file)\n"
    "loader = StatefulDataLoader(train_set, batch_size=args.micro_batch_size, shuffle=True, "
    "collate_fn=collate)\n"
    "eval_loader = DataLoader(eval_set, batch_size=args.micro_batch_size, collate_fn=collate)";

constexpr const char* k_save =
    "if step % args.save_every == 0:\n"
    "    torch.save({\"model\": model.state_dict(), \"optimizer\": optimizer.state_dict(), "
    "\"scheduler\": scheduler.state_dict(), \"loader\": loader.state_dict(), \"rng\": "
    "torch.get_rng_state(), \"step\": step}, f\"out/checkpoint-{step}.pt\")\n";

/// A loop of the user's own that saves all, and puts back what `what` says.
void write_program(LabRun& lab, const Restored& what) {
  if (what.loader && what.order) {
    lab.script.set("data", "from torchdata.stateful_dataloader import StatefulDataLoader\n\n" +
                               std::string(k_stateful_loader));
  }
  std::string start =
      "step, micro, running = 0, 0, 0.0\n"
      "if args.resume_from:\n"
      "    state = torch.load(args.resume_from)\n"
      "    model.load_state_dict(state[\"model\"])\n";
  if (what.optimizer) start += "    optimizer.load_state_dict(state[\"optimizer\"])\n";
  if (what.schedule) start += "    scheduler.load_state_dict(state[\"scheduler\"])\n";
  if (what.loader && what.order) start += "    loader.load_state_dict(state[\"loader\"])\n";
  if (what.count) start += "    step = state[\"step\"]\n    micro = step * args.accumulation\n";
  if (!what.order) {
    start += "    loader = accelerate.skip_first_batches(loader, micro % len(loader))\n";
  } else {
    start += "    torch.set_rng_state(state[\"rng\"])\n";
  }
  lab.script.set("start", start);
  std::string log = lab.script.lines("log");
  log.insert(log.rfind("if step >= args.max_steps"), k_save);
  lab.script.set("log", log);
  lab.own_settings.emplace_back("save_every", std::to_string(lab.options.output.save_step));
  lab.own_settings.emplace_back("resume_from", "out/checkpoint-60.pt");
}

/// `base` for fault and twin alike.
Runner resumed(Change base, Restored what, Change change) {
  return [base = std::move(base), what, change = std::move(change)](const Request& request) {
    LabRun lab(request.seed);
    lab.restart_at = lab.options.length.max_steps / 2;
    if (base) base(lab);
    write_program(lab, request.faulty ? what : Restored{});
    if (request.faulty) change(lab);
    return run_lab(lab, request);
  };
}

Fault make_resume_fault(FaultText text, Harm harm, Restored what, Change change, Change base = {}) {
  Fault fault = make_fault(std::move(text), std::move(harm), GuardRole::nothing, k_once, {});
  fault.run = resumed(std::move(base), what, std::move(change));
  return fault;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Of one record, from one to the next: the trend is far smaller.
double noise_of(const std::vector<double>& losses) {
  double square = 0;
  for (std::size_t i = 1; i < losses.size(); ++i) square += std::pow(losses[i] - losses[i - 1], 2);
  return std::sqrt(square / (2 * std::max(1.0, static_cast<double>(losses.size()) - 1)));
}

/// What was learnt is lost for a while, or for good.
Harm above_uninterrupted() {
  return {fmt::format("the mean of {} records after the resume is above that of the uninterrupted "
                      "run by {:g} standard errors",
                      k_records, k_errors),
          [](const Trace& run, const Trace& twin) -> std::optional<std::int64_t> {
            const std::int64_t from = run.resumed_at.empty() ? 0 : run.resumed_at.front();
            const auto losses = run.series("loss");
            const auto healthy = twin.series("loss");
            std::vector<double> after, usual;
            for (std::size_t i = 0; i < std::min(losses.size(), healthy.size()); ++i) {
              if (losses[i].first <= from) continue;
              after.push_back(losses[i].second);
              usual.push_back(healthy[i].second);
              if (after.size() < k_records) continue;
              const auto first = static_cast<std::ptrdiff_t>(after.size() - k_records);
              const std::vector<double> now(after.begin() + first, after.end());
              const std::vector<double> then(usual.begin() + first, usual.end());
              const double error = noise_of(then) / std::sqrt(static_cast<double>(k_records));
              if (mean(now) - mean(then) > k_errors * error) return losses[i].first;
            }
            return std::nullopt;
          }};
}

Fault schedule_anew() {
  return make_resume_fault({"resume.schedule-anew",
                            "the schedule begins again, with its warm-up",
                            {"resume.scheduler-lost"}},
                           at_end("the planned decay of the learning rate did not come"),
                           {.schedule = false}, [](LabRun& lab) {
                             lab.hooks.restart = [](RestartParts parts) {
                               parts.schedule_back = parts.step;
                             };
                           });
}

Fault data_anew() {
  return make_resume_fault(
      {"resume.data-from-start",
       "the data begin again with the first batch",
       {"resume.data-position-lost"}},
      at_end("samples already seen come again, others never"), {.loader = false}, [](LabRun& lab) {
        lab.hooks.restart = [](RestartParts parts) { (void)parts.data.seek({}); };
      });
}

/// The right number of batches is passed over, of another order.
Fault order_anew() {
  Fault fault = make_resume_fault(
      {"resume.order-drawn-anew",
       "batches are counted off in an order that is shuffled anew",
       {"resume.rng-not-restored", "resume.data-position-lost"},
       "random state and position together are where the data were"},
      at_end("samples come twice in a pass, others never"), {.order = false}, [](LabRun& lab) {
        lab.hooks.restart = [](RestartParts parts) {
          const text::DataPosition at = parts.data.position();
          (void)parts.data.seek({at.epoch + 1000, at.index});
        };
        lab.hooks.logged = [](Trace& trace) {  // the program counts its passes by its steps
          for (Sample& each : trace.samples) {
            for (auto& [name, value] : each.values) {
              if (name == "epoch" && value >= 1000) value -= 1000;
            }
          }
        };
      });
  fault.in_code = true;
  return fault;
}

/// At a rate at which it shows: where updates are small beside the weights, fresh moments do no
/// harm.
Fault moments_lost() {
  Fault fault = make_resume_fault(
      {"resume.moments-lost",
       "weights, schedule and data go on, the optimizer's moments begin at zero",
       {"resume.optimizer-state-lost"}},
      above_uninterrupted(), {.optimizer = false},
      [](LabRun& lab) {
        lab.hooks.restart = [](RestartParts parts) {
          for (loop::NamedTensor& each : parts.optimizer.state()) each.tensor.zero_();
        };
      },
      [](LabRun& lab) {
        lab.options.optim.learning_rate *= 4;
        lab.options.optim.lr_scheduler_type = "constant";
        lab.options.optim.adam_beta2 = 0.999;
      });
  fault.in_code = true;
  return fault;
}

/// Weights as they were at `step`, kept while the run passes it; 0: before the first one.
using Kept = std::map<std::string, at::Tensor>;

void keep_weights(LabRun& lab, std::int64_t step, const std::shared_ptr<Kept>& kept) {
  const auto keep = [kept](const std::vector<loop::NamedTensor>& parameters) {
    for (const loop::NamedTensor& each : parameters)
      (*kept)[each.name] = each.tensor.detach().clone();
  };
  if (step == 0) {
    lab.hooks.before_step = [keep, kept](const auto& parameters, const Place& place) {
      if (place.step == 1) keep(parameters);
    };
    return;
  }
  lab.hooks.after_step = [keep, step](const auto& parameters, const Place& place) {
    if (place.step == step) keep(parameters);
  };
}

void load_kept(LabRun& lab, std::int64_t step) {
  const auto kept = std::make_shared<Kept>();
  keep_weights(lab, step, kept);
  lab.hooks.restart = [kept](RestartParts parts) {
    const at::NoGradGuard no_grad;
    for (loop::NamedTensor& each : parts.parameters) each.tensor.copy_(kept->at(each.name));
  };
}

Fault older_checkpoint() {
  return make_resume_fault({"resume.older-weights",
                            "the weights of an earlier checkpoint, all else of the latest",
                            {"resume.wrong-checkpoint-loaded"}},
                           above_twin(1.1), {}, [](LabRun& lab) { load_kept(lab, 10); });
}

Fault keys_unmatched() {
  return make_resume_fault({"resume.initial-weights",
                            "no key of the checkpoint matches: the weights are as drawn",
                            {"resume.wrong-checkpoint-loaded"}},
                           above_twin(1.1), {}, [](LabRun& lab) { load_kept(lab, 0); });
}

/// Weights and moments go on; step, schedule and data count from zero, and nothing is said of it.
Fault steps_anew() {
  return make_resume_fault({"resume.steps-from-zero",
                            "weights and moments are loaded, and the loop counts from zero",
                            {"resume.global-step-reset", "resume.scheduler-lost"},
                            "the schedule is a function of the step and starts again with it"},
                           at_end("half of the plan is run twice"),
                           {.schedule = false, .count = false, .loader = false}, [](LabRun& lab) {
                             lab.hooks.restart = [](RestartParts parts) {
                               parts.schedule_back = parts.step;
                               (void)parts.data.seek({});
                             };
                             lab.hooks.logged = [](Trace& trace) {
                               const std::int64_t back =
                                   trace.resumed_at.empty() ? 0 : trace.resumed_at.front();
                               bool past = false;
                               for (Sample& each : trace.samples) {
                                 past = past || each.step > back;
                                 if (past) each.step -= back;
                               }
                               trace.resumed_at.clear();
                             };
                           });
}

/// What went on in fp32 goes on in bf16, with no master weights.
Fault weights_in_bf16() {
  Fault fault = make_resume_fault(
      {"resume.weights-in-bf16",
       "the model is cast to bf16 after its checkpoint was loaded",
       {"resume.precision-changed", "stall.bf16-update-underflow"},
       "what goes wrong with bf16 weights is that they swallow updates"},
      above_uninterrupted(), {}, [](LabRun& lab) {
        const std::int64_t stopped = lab.restart_at;
        const auto cast = [](const std::vector<loop::NamedTensor>& parameters) {
          const at::NoGradGuard no_grad;
          for (const loop::NamedTensor& each : parameters)
            each.tensor.copy_(each.tensor.to(at::kBFloat16));
        };
        lab.hooks.after_step = [cast, stopped](const auto& parameters, const Place& place) {
          if (place.step > stopped) cast(parameters);
        };
        lab.hooks.restart = [cast](RestartParts parts) { cast(parts.parameters); };
        std::string start = lab.script.lines("start");
        const std::string_view load = "    model.load_state_dict(state[\"model\"])\n";
        start.insert(start.find(load) + load.size(), "    model.to(torch.bfloat16)\n");
        lab.script.set("start", start);
      });
  fault.in_code = true;
  return fault;
}

}  // namespace

void add_resume_faults(std::vector<Fault>& roster) {
  for (auto make : {schedule_anew, data_anew, order_anew, moments_lost, older_checkpoint,
                    keys_unmatched, steps_anew, weights_in_bf16}) {
    Fault fault = make();
    fault.begins = fault.id == "resume.steps-from-zero" ? 0 : 61;  // the first step after it
    roster.push_back(std::move(fault));
  }
}

}  // namespace aplomb::train::lab
