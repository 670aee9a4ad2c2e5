#include "plan/plan.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/confine.h"
#include "cli/output.h"
#include "cli/shared_options.h"
#include "cli/views.h"
#include "core/text.h"
#include "discovery/collect.h"
#include "knowledge/setting.h"
#include "report/plan_view.h"

namespace aplomb::cli {
namespace {

struct Options {
  std::vector<std::string> paths;
  bool json = false;
  bool fit = false;
  std::string html;
  std::string gpu;
  double price = 0;
  std::vector<std::string> set;
  std::string colour = "auto";
};

/// A flag that is a canonical setting in fewer letters.
struct Flag {
  const char* name;
  const char* setting;
  const char* meaning;
  const char* type;
};
constexpr Flag k_flags[] = {
    {"--gpus", "dist.world_size", "how many GPUs", "N"},
    {"--batch", "batch.micro", "sequences a GPU and pass (GRPO: completions)", "N"},
    {"--accumulation", "batch.accumulation", "passes a step", "N"},
    {"--length", "data.max_length", "tokens a sequence", "N"},
    {"--method", "peft.method", "full, lora, dora, qlora", "NAME"},
    {"--rank", "peft.rank", "rank of the adapter", "N"},
    {"--targets", "peft.targets", "modules that get an adapter, or all-linear", "LIST"},
    {"--weights", "precision.params", "format the weights are loaded in: fp32, bf16", "NAME"},
    {"--precision", "precision.compute", "format of the products: fp32, bf16, fp16", "NAME"},
    {"--optimizer", "optim.name", "adamw, adamw_8bit, lion, muon, adafactor, sgd", "NAME"},
    {"--attention", "attn.impl", "eager, sdpa, flash_attention_2", "NAME"},
    {"--checkpointing", "memory.gradient_checkpointing", "gradient checkpointing: on or off",
     "SWITCH"},
    {"--zero", "dist.zero_stage", "ZeRO stage", "N"},
    {"--strategy", "dist.strategy", "ddp, fsdp, deepspeed", "NAME"},
    {"--offload-optimizer", "dist.offload_optimizer", "cpu: optimizer state in host memory",
     "WHERE"},
    {"--tensor-parallel", "dist.tensor_parallel", "ways each layer is split", "N"},
    {"--context-parallel", "dist.context_parallel", "ways the sequence is split", "N"},
    {"--train", "train.method", "sft, grpo", "NAME"},
    {"--samples", "data.samples", "samples an epoch, for its time and cost", "N"},
};

class PlanCommand : public Command {
 public:
  void declare(const arguments::Verb& program) override {
    verb_ = program.verb("plan", "Say what a run will need and how fast it can be");
    verb_
        .option("PATH", options_.paths,
                "config.json of a model, and the trainer's configuration if there is one")
        .required();
    verb_.option("--gpu", options_.gpu, "the card: `H100`, `8xA100 80GB`").value_name("NAME");
    for (std::size_t i = 0; i < std::size(k_flags); ++i) {
      verb_.option(k_flags[i].name, given_[i], k_flags[i].meaning).value_name(k_flags[i].type);
    }
    verb_.option("--set", options_.set, "any setting of `aplomb list settings`")
        .value_name("NAME=VALUE");
    verb_.option("--price", options_.price, "of one GPU for an hour, for the cost of an epoch")
        .not_negative();
    verb_.flag("--fit", options_.fit, "the changes that save memory, least disruptive first");
    verb_.flag("--json", options_.json, "print the plan as JSON (schema aplomb.plan/1)");
    add_html_option(verb_, options_.html, "the plan");
    confinement_.declare(verb_);
    add_colour_option(verb_, options_.colour);
    verb_.footer(
        "Examples:\n"
        "  aplomb plan Llama-3.1-8B/config.json --gpu H100 --method lora --batch 4\n"
        "  aplomb plan config.json axolotl.yaml --gpu 8xA100 --fit\n"
        "  aplomb plan config.json training_args.json --gpu T4 --html plan.html\n"
        "  aplomb plan config.json --gpu 8xH100 --zero 3 --samples 170000 --price 2.5\n"
        "\n"
        "Nothing is run or loaded: sizes come from the configuration (docs/plan.md).\n"
        "Exit status: 0 it fits, 1 it does not, 2 usage or unreadable input.");
  }

  int run() override {
    std::vector<record::Setting> settings;
    std::string framework;
    if (!all_exist(options_.paths)) return k_exit_usage;
    confinement_.enter({options_.html});
    if (!read(settings, framework) || !take_flags(settings)) return k_exit_usage;
    const plan::Known known(std::move(settings));
    const plan::PlanRequest request{options_.gpu, options_.price};
    auto made = plan::make_plan(known, framework, request);
    if (!made) {
      complain(core::sanitize(made.error().text));
      return k_exit_usage;
    }
    report::PlanView view{std::move(*made), {}, options_.fit, options_.price, framework};
    if (options_.fit || !options_.html.empty())
      view.ladder = plan::ladder(known, framework, request, view.plan);
    return write(view);
  }

 private:
  /// The settings of every path, in the order given: later files have the last word.
  bool read(std::vector<record::Setting>& settings, std::string& framework) const {
    for (const std::string& path : options_.paths) {
      for (record::Run& run : discovery::collect({path}, {})) {
        const std::string own = run.framework();
        if (!own.empty()) framework = own;
        if (const record::Setting* size = run.setting("model.impossible_size")) {
          complain(fmt::format(
              "[plan] {}:{}: {}; likely a damaged or made-up configuration; give "
              "the config.json that the model was published with",
              core::sanitize(path), size->origin.line, core::sanitize(core::show(size->value))));
          return false;
        }
        std::move(run.settings.begin(), run.settings.end(), std::back_inserter(settings));
      }
    }
    if (!settings.empty()) return true;
    complain("no settings were found in what was given; give the config.json of the model");
    return false;
  }

  bool take_flags(std::vector<record::Setting>& settings) const {
    for (std::size_t i = 0; i < std::size(k_flags); ++i) {
      if (!given_[i].empty() && !put(settings, k_flags[i].setting, given_[i], k_flags[i].name))
        return false;
    }
    for (const std::string& each : options_.set) {
      const std::size_t sign = each.find('=');
      if (sign == std::string::npos) {
        complain("--set " + core::sanitize(each) + ": NAME=VALUE is wanted");
        return false;
      }
      if (!put(settings, each.substr(0, sign), each.substr(sign + 1), "--set")) return false;
    }
    return true;
  }

  static bool put(std::vector<record::Setting>& settings, const std::string& name,
                  const std::string& written, const char* flag) {
    const knowledge::SettingSpec* spec = knowledge::find_setting_spec(name);
    if (spec == nullptr) {
      complain(fmt::format("{}: there is no setting {} (`aplomb list settings`)", flag,
                           core::sanitize(name)));
      return false;
    }
    const bool on = written == "on";
    const std::string word = on ? "true" : written == "off" ? "false" : written;
    const auto value = knowledge::parse_value(*spec, word);
    if (!value) {
      const std::string why = knowledge::impossible_size(*spec, word, true);
      complain(fmt::format("{} {}: not what {} can be ({}){}", flag, core::sanitize(written), name,
                           spec->meaning, why.empty() ? "" : "; it " + why));
      return false;
    }
    settings.push_back({name, *value, flag, "", {}});
    return true;
  }

  int write(const report::PlanView& view) const {
    const report::RenderOptions how = for_terminal(options_.colour);
    if (!options_.html.empty() && !save(options_.html, report::plan_html(view)))
      return k_exit_usage;
    if (!print(options_.json ? report::plan_json(view) : report::plan_text(view, how)))
      return k_exit_usage;
    return view.plan.fits ? k_exit_healthy : k_exit_found;
  }

  Options options_;
  Confinement confinement_;
  std::string given_[std::size(k_flags)];
};

}  // namespace

std::unique_ptr<Command> make_plan_command() { return std::make_unique<PlanCommand>(); }

}  // namespace aplomb::cli
