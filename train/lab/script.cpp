#include "train/lab/script.h"

#include <array>
#include <stdexcept>

namespace aplomb::train::lab {
namespace {

struct Slot {
  const char* name;
  const char* indent;
  const char* lines;
};

constexpr const char* k_head =
    R"(import math
import yaml
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, get_scheduler

from dataset import Collator, read_samples

args = SimpleNamespace(**yaml.safe_load(open("config.yaml")))
torch.manual_seed(args.seed)
tokenizer = AutoTokenizer.from_pretrained(args.tokenizer)
)";

constexpr const char* k_loop_head = R"(

def evaluate():
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for batch in eval_loader:
            n = (batch["labels"][:, 1:] != -100).sum().item()
            total += model(**batch).loss.item() * n
            count += n
    model.train()
    return total / count


model.train()
)";

constexpr const char* k_loop_begin =
    R"(while step < args.max_steps:
    for batch in loader:
)";

constexpr const char* k_tail = R"(    if step >= args.max_steps:
        break
model.save_pretrained("out")
)";

constexpr std::array k_slots{
    Slot{"data", "",
         "collate = Collator(tokenizer)\n"
         "train_set, eval_set = read_samples(args.train_file), read_samples(args.eval_file)\n"
         "loader = DataLoader(train_set, batch_size=args.micro_batch_size, shuffle=True, "
         "collate_fn=collate)\n"
         "eval_loader = DataLoader(eval_set, batch_size=args.micro_batch_size, "
         "collate_fn=collate)"},
    Slot{"model", "",
         "model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(args.model))"},
    Slot{"optimizer", "",
         "optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(args.beta1, "
         "args.beta2), eps=args.adam_eps, weight_decay=args.weight_decay)"},
    Slot{"schedule", "",
         "scheduler = get_scheduler(args.lr_scheduler_type, optimizer, "
         "num_warmup_steps=args.warmup_steps, num_training_steps=args.max_steps)"},
    Slot{"start", "", "step, micro, running = 0, 0, 0.0"},
    Slot{"batch", "        ", "batch = {k: v for k, v in batch.items()}"},
    Slot{"loss", "        ", "loss = model(**batch).loss"},
    Slot{"backward", "        ", "(loss / args.accumulation).backward()"},
    Slot{"step", "        ",
         "micro += 1\n"
         "running += loss.item() / args.accumulation\n"
         "if micro % args.accumulation:\n"
         "    continue\n"
         "grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm or "
         "math.inf)\n"
         "optimizer.step()\n"
         "scheduler.step()\n"
         "optimizer.zero_grad()\n"
         "step += 1"},
    Slot{"log", "        ",
         "if step % args.log_every == 0:\n"
         "    print(f\"step {step} | loss {running:.4f} | grad_norm {grad_norm:.4f} | lr "
         "{scheduler.get_last_lr()[0]:.3e}\", flush=True)\n"
         "running = 0.0\n"
         "if step % args.eval_every == 0:\n"
         "    print(f\"step {step} | eval_loss {evaluate():.4f}\", flush=True)\n"
         "if step >= args.max_steps:\n"
         "    break"},
};

std::string indented(std::string_view lines, std::string_view by) {
  std::string out;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    out += std::string(by) + std::string(lines.substr(0, end)) + "\n";
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return out;
}

}  // namespace

Script::Script() {
  for (const Slot& each : k_slots) slots_[each.name] = each.lines;
}

void Script::set(std::string_view slot, std::string lines) {
  const auto found = slots_.find(slot);
  if (found == slots_.end()) throw std::out_of_range("script: no slot " + std::string(slot));
  found->second = std::move(lines);
  changed_ = true;
}

std::string Script::text() const {
  std::string text = k_head;
  for (const Slot& each : k_slots) {
    if (std::string_view(each.name) == "start") text += k_loop_head;
    if (std::string_view(each.name) == "batch") text += k_loop_begin;
    text += indented(slots_.at(each.name), each.indent);
  }
  return text + k_tail;
}

}  // namespace aplomb::train::lab
