"""Rewards, preferences, ranks, checkpoints and speed: each rule fires on what is wrong, and is silent on the same program
mended."""


def resuming(*restored, loader="StatefulDataLoader(data, shuffle=True)"):
    """A loop that saves everything within a pass, and puts back what is named."""
    lines = {
        "optimizer": 'optimizer.load_state_dict(state["optimizer"])',
        "scheduler": 'scheduler.load_state_dict(state["scheduler"])',
        "loader": 'loader.load_state_dict(state["loader"])',
        "step": 'step = state["step"]',
        "skip": "loader = skip_first_batches(loader, step % len(loader))",
        "rng": 'torch.set_rng_state(state["rng"])',
    }
    put_back = "\n".join(lines[each] for each in restored)
    return f"""
loader = {loader}
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=1000)
step = 0
state = torch.load("last.pt")
model.load_state_dict(state["model"])
{put_back}
while step < 1000:
    for x, y in loader:
        loss_of(model(x), y).backward()
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        step += 1
        if step % 100 == 0:
            torch.save({{"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}}, "last.pt")
"""


GRPO = """
import re
from trl import GRPOConfig, GRPOTrainer
ds = Dataset.from_list([{{"prompt": r["question"], "answer": r["answer"]}} for r in rows])

{reward}

GRPOTrainer(model=model, reward_funcs=reward, args=GRPOConfig("o"), train_dataset=ds).train()
"""


def grpo(*lines):
    return GRPO.format(reward="\n".join(lines))


DPO = """
from trl import DPOConfig, DPOTrainer
{rows}
train = Dataset.from_list(pairs)
DPOTrainer(model=model, ref_model={reference}, args=DPOConfig("o"), train_dataset=train, processing_class=tok).train()
"""


def dpo(*rows, reference="None"):
    return DPO.format(rows="\n".join(rows), reference=reference)


DDP = """
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
model = DDP(nn.Linear(8, 2))
optimizer = torch.optim.AdamW(model.parameters())
{before}
for step, (x, y) in enumerate({data}):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    {lines}
{after}
"""


def ranks(*lines, before="", after="", data="batches(rank)"):
    return DDP.format(lines="\n    ".join(lines), before=before, after=after, data=data)


WRONG = {
    "code.reward-by-containment": [
        """
        def accuracy_reward(answer, truth):
            reward = 0.0
            if truth in answer or answer in truth:  # <-
                reward = 1.0
            return reward
        """,
    ],
    "code.reward-swallows-errors": [
        grpo(
            "def reward(completions, **kw):",
            "    out = []",
            "    for c in completions:",
            "        try:",
            "            out.append(float(parse(c)))",
            "        except Exception:  # <-",
            "            out.append(0.0)",
            "    return out",
        ),
        grpo(
            "def reward(completions, **kw):",
            "    try:",
            "        return [score(c) for c in completions]",
            "    except:  # <-",
            "        return 0.0",
        ),
    ],
    "code.reward-reads-turns": [
        grpo("def reward(completions, **kw):", "    return [len(c[0]['content']) for c in completions]  # <-"),
        grpo(
            "def reward(completions, **kw):",
            "    out = []",
            "    for c in completions:",
            "        text = c[-1]['content']  # <-",
            "        out.append(text.count('a'))",
            "    return out",
        ),
    ],
    "code.reward-constant": [
        grpo(
            "def reward(completions, **kw):",
            "    scores = [check(c) for c in completions]",
            "    return [1.0] * len(completions)  # <-",
        ),
        grpo("def reward(completions, **kw):", "    return [0.0 for _ in completions]  # <-"),
    ],
    "code.reward-pattern-misses": [
        grpo(
            "sample = f'<answer> {value} </answer>'",
            "pattern = re.compile(r'<answer>(\\d+)</answer>')",
            "def reward(completions, answer, **kw):",
            "    return [1.0 if pattern.search(c) else 0.0 for c in completions]  # <-",
        ),
        grpo(
            "SYSTEM = 'Answer like this:\\n<think>\\n...\\n</think>\\n<answer>\\n7\\n</answer>'",
            "def reward(completions, answer, **kw):",
            "    return [float(bool(re.search(r'<answer>(\\d+)</answer>', c))) for c in completions]",
        ),
    ],
    "code.preference-swapped": [
        dpo('pairs = [{"prompt": r["q"], "chosen": r["rejected"], "rejected": r["chosen"]} for r in rows]  # <-'),
        dpo(
            "pairs = []",
            "for r in rows:",
            "    best, worst = sorted(r['candidates'], key=lambda c: c['score'])  # <-",
            "    pairs.append({'prompt': r['q'], 'chosen': best['text'], 'rejected': worst['text']})",
        ),
        dpo(
            "pairs = []",
            "for r in rows:",
            "    ranked = sorted(r['answers'], key=lambda a: a.rating)  # <-",
            "    pairs.append({'prompt': r['q'], 'chosen': ranked[0].text, 'rejected': ranked[-1].text})",
        ),
        dpo(
            "pairs = [{'prompt': r['q'], 'chosen': min(r['c'], key=lambda c: c['reward'])['text'], 'rejected': other(r)} for r in rows]"
        ),
    ],
    "code.preference-always-true": [
        dpo(
            "export = [{'a': g, 'b': b, 'winner': 1} if flip else {'a': b, 'b': g, 'winner': 2} for g, b, flip in data]",
            "pairs = [{'chosen': e['a'] if e['winner'] else e['b'], 'rejected': e['b'] if e['winner'] else e['a']} for e in export]  # <-",
        ),
    ],
    "code.reference-is-policy": [dpo("pairs = rows", reference="model")],
    "code.preference-loss-sign": [
        """
        for batch in loader:
            chosen, rejected = policy(batch.chosen), policy(batch.rejected)
            with torch.no_grad():
                ref_chosen, ref_rejected = reference(batch.chosen), reference(batch.rejected)
            logits = beta * ((chosen - rejected) - (ref_chosen - ref_rejected))
            loss = F.logsigmoid(logits).mean()  # <-
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        """
        for batch in loader:
            r_chosen, r_rejected = reward_model(batch.chosen), reward_model(batch.rejected)
            loss = -F.logsigmoid(r_rejected - r_chosen).mean()  # <-
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ],
    "code.collective-on-some-ranks": [
        ranks("if rank == 0:", "    torch.save(model.module.state_dict(), 'm.pt')", "    dist.barrier()  # <-"),
        ranks("if dist.get_rank() == 0 and step % 10 == 0:", "    dist.all_reduce(loss)  # <-"),
        ranks(after="if rank != 0:\n    raise SystemExit\ndist.barrier()  # <-"),
        """
        from accelerate import Accelerator
        accelerator = Accelerator()
        for batch in loader:
            accelerator.backward(model(batch).mean())
            if accelerator.is_main_process:
                scores = accelerator.gather(model(batch))  # <-
        """,
        ranks(
            "if rank == 0:",
            "    log(loss)",
            before="def log(loss):\n    total = loss.clone()\n    dist.all_reduce(total)  # <-",
        ),
    ],
    "code.saved-by-one-rank": ["if dist.get_rank() == 0:\n    engine.save_checkpoint('out')  # <-"],
    "code.collective-by-local-value": [
        ranks("val = loss.detach()", "if val.item() < best:", "    best = val.item()", "    dist.barrier()  # <-"),
        ranks("if loss.item() > 10:", "    dist.all_reduce(flag)  # <-"),
    ],
    "code.ranks-share-data": [ranks(before="loader = DataLoader(dataset, batch_size=8, shuffle=True)  # <-", data="loader")],
    "code.ranks-uneven": [
        ranks(
            before="files = sorted(glob('*.pt'))[rank::world]  # <-\nloader = DataLoader(Shards(files), batch_size=8)",
            data="loader",
        ),
    ],
    "code.sampler-set-epoch": [
        """
        from torch.utils.data import DistributedSampler
        sampler = DistributedSampler(dataset)
        for epoch in range(10):  # <-
            for x, y in loader:
                loss_of(model(x), y).backward()
        """,
    ],
    "code.sync-each-step": [
        """
        device = torch.device("cuda")
        for x, y in loader:
            optimizer.zero_grad()
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
            print(loss.item())  # <-
        """,
    ],
    "code.checkpoint-incomplete": [
        """
        if args.resume:
            model.load_state_dict(torch.load("last.pt"))
        for epoch in range(10):
            loss.backward()
            torch.save(model.state_dict(), "last.pt")  # <-
        """,
        """
        def fit(model, opt):
            state = torch.load(args.checkpoint)
            model.load_state_dict(state["model"])
            for epoch in range(10):
                loss.backward()
                torch.save({"model": model.state_dict(), "epoch": epoch}, f"epoch{epoch}.pt")  # <-
        """,
    ],
    "code.saves-weights-only": [
        """
        from transformers import Trainer, TrainingArguments
        args = TrainingArguments("o", save_steps=100, save_only_model=True)  # <-
        Trainer(model=model, args=args, train_dataset=ds).train(resume_from_checkpoint=True)
        """,
    ],
    "code.adapter-frozen": [
        """
        from peft import PeftModel
        model = PeftModel.from_pretrained(base, "adapter")  # <-
        trainer = SFTTrainer(model=model, train_dataset=data)
        trainer.train()
        """,
    ],
    "code.adapter-prepared-late": [
        "model = get_peft_model(model, config)\nmodel = prepare_model_for_kbit_training(model)  # <-",
    ],
    "code.optimizer-not-restored": [resuming("scheduler", "loader", "step")],
    "code.schedule-not-restored": [
        resuming("optimizer", "loader", "step"),
        """
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        optimizer.load_state_dict(checkpoint["optimizer"])
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=cosine)  # <-
        """,
    ],
    "code.count-not-restored": [resuming("optimizer", "scheduler", "loader")],
    "code.data-not-restored": [resuming("optimizer", "scheduler", "step")],
    "code.order-not-restored": [resuming("optimizer", "scheduler", "step", "skip", loader="DataLoader(data, shuffle=True)")],
    "code.cast-after-load": [
        """
        model.load_state_dict(torch.load("last.pt")["model"])
        model.to(torch.bfloat16)  # <-
        for x, y in loader:
            loss_of(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
    ],
}

RIGHT = {
    "code.reward-by-containment": [
        "def score(a, b):\n    if not a:\n        return 0\n    if a in b or b in a:\n        return 1\n",
        "def same_path(a, b):\n    if a in b or b in a:\n        return True\n",
        "def score(a, b):\n    if b in a:\n        return 1\n",
        "def reward(answer, truth):\n    if answer and (truth in answer or answer in truth):\n        return 1.0\n",
    ],
    "code.reward-swallows-errors": [
        grpo(
            "def reward(completions, **kw):",
            "    out = []",
            "    for c in completions:",
            "        try:",
            "            out.append(float(parse(c)))",
            "        except ValueError:",
            "            out.append(0.0)",
            "    return out",
        ),
        "def load(path):\n    try:\n        return read(path)\n    except Exception:\n        return 0",
    ],
    "code.reward-reads-turns": [
        grpo("def reward(completions, **kw):", "    return [len(c) for c in completions]"),
        grpo(
            "turns = [{'role': 'user', 'content': 'q'}]",
            "def reward(completions, **kw):",
            "    return [len(c[0]['content']) for c in completions]",
        ),
    ],
    "code.reward-constant": [
        grpo("def reward(completions, **kw):", "    return [1.0 if ok(c) else 0.0 for c in completions]"),
        grpo(
            "def reward(completions, **kw):",
            "    if not completions:",
            "        return 0.0",
            "    return score(completions)",
        ),
    ],
    "code.reward-pattern-misses": [
        grpo(
            "sample = f'<answer>{value}</answer>'",
            "def reward(completions, answer, **kw):",
            "    return [1.0 if re.search(r'<answer>(\\d+)</answer>', c) else 0.0 for c in completions]",
        ),
        grpo(
            "sample = f'<answer> {value} </answer>'",
            "def reward(completions, answer, **kw):",
            "    return [1.0 if re.search(r'<answer>\\s*(\\d+)\\s*</answer>', c) else 0.0 for c in completions]",
        ),
    ],
    "code.preference-swapped": [
        dpo('pairs = [{"prompt": r["q"], "chosen": r["chosen"], "rejected": r["rejected"]} for r in rows]'),
        dpo(
            "pairs = []",
            "for r in rows:",
            "    best, worst = sorted(r['candidates'], key=lambda c: c['score'], reverse=True)",
            "    pairs.append({'prompt': r['q'], 'chosen': best['text'], 'rejected': worst['text']})",
        ),
        dpo(
            "pairs = []",
            "for r in rows:",
            "    worst, best = sorted(r['candidates'], key=lambda c: c['score'])",
            "    pairs.append({'prompt': r['q'], 'chosen': best['text'], 'rejected': worst['text']})",
        ),
        dpo(
            "pairs = []",
            "for r in rows:",
            "    ranked = sorted(r['answers'], key=lambda a: a['rank'])",
            "    pairs.append({'prompt': r['q'], 'chosen': ranked[0]['text'], 'rejected': ranked[-1]['text']})",
        ),
        dpo("pairs = [{'prompt': p, 'chosen': g, 'rejected': b} for p, g, b in data]"),
    ],
    "code.preference-always-true": [
        dpo(
            "export = [{'a': g, 'b': b, 'winner': 1} if flip else {'a': b, 'b': g, 'winner': 2} for g, b, flip in data]",
            "pairs = [{'chosen': e['a'] if e['winner'] == 1 else e['b'], 'rejected': e['b']} for e in export]",
        ),
        dpo(
            "export = [{'a': g, 'b': b, 'winner': 1} if flip else {'a': b, 'b': g, 'winner': 0} for g, b, flip in data]",
            "pairs = [{'chosen': e['a'] if e['winner'] else e['b'], 'rejected': e['b']} for e in export]",
        ),
    ],
    "code.reference-is-policy": [dpo("pairs = rows", "ref = copy.deepcopy(model)", reference="ref")],
    "code.preference-loss-sign": [
        """
        for batch in loader:
            chosen, rejected = policy(batch.chosen), policy(batch.rejected)
            with torch.no_grad():
                ref_chosen, ref_rejected = reference(batch.chosen), reference(batch.rejected)
            logits = beta * ((chosen - rejected) - (ref_chosen - ref_rejected))
            loss = -F.logsigmoid(logits).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        """
        for batch in loader:
            chosen_rewards = beta * (policy_chosen - ref_chosen)
            rejected_rewards = beta * (policy_rejected - ref_rejected)
            loss = -F.logsigmoid(chosen_rewards - rejected_rewards).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ],
    "code.collective-on-some-ranks": [
        ranks("if rank == 0:", "    torch.save(model.module.state_dict(), 'm.pt')", "dist.barrier()"),
        ranks(before="if rank != 0:\n    dist.barrier()\nprepare()\nif rank == 0:\n    dist.barrier()"),
        ranks("if rank == 0:", "    dist.broadcast(loss, 0)", "else:", "    dist.broadcast(loss, 0)"),
        ranks("if step % 10 == 0:", "    dist.all_reduce(loss)"),
        ranks(before="if rank != -1:\n    dist.barrier()"),
    ],
    "code.saved-by-one-rank": [
        "if dist.get_rank() == 0:\n    torch.save(model.state_dict(), 'm.pt')",
        "engine.save_checkpoint('out')",
    ],
    "code.collective-by-local-value": [
        ranks(
            "val = loss.detach()",
            "dist.all_reduce(val)",
            "if val.item() < best:",
            "    best = val.item()",
            "    dist.barrier()",
        ),
        ranks("if step % 100 == 0:", "    dist.barrier()"),
    ],
    "code.ranks-share-data": [
        ranks(before="loader = DataLoader(dataset, batch_size=8, sampler=DistributedSampler(dataset))", data="loader"),
        ranks(before="part = rows[rank::world]\nloader = DataLoader(part, batch_size=8, drop_last=True)", data="loader"),
        "for x, y in DataLoader(data, 8):\n    model(x).backward()\n    optimizer.step()\n    optimizer.zero_grad()",
    ],
    "code.ranks-uneven": [
        ranks(before="part = rows[rank::world]\nloader = DataLoader(part, batch_size=8, drop_last=True)", data="loader"),
        ranks(
            "if step >= 100:",
            "    break",
            before="files = paths[rank::world]\nloader = DataLoader(Shards(files), batch_size=8)",
            data="loader",
        ),
    ],
    "code.sampler-set-epoch": [
        """
        from torch.utils.data import DistributedSampler
        sampler = DistributedSampler(dataset)
        for epoch in range(10):
            sampler.set_epoch(epoch)
            for x, y in loader:
                loss_of(model(x), y).backward()
        """,
    ],
    "code.sync-each-step": [
        """
        device = torch.device("cuda")
        for step, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
            if step % 50 == 0:
                print(loss.item())
        """,
    ],
    "code.checkpoint-incomplete": [
        """
        for epoch in range(10):
            loss.backward()
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "last.pt")
        """,
        """
        for epoch in range(10):
            loss.backward()
            if loss < best:
                torch.save(model.state_dict(), "best.pt")
        """,
        """
        for epoch in range(10):
            loss.backward()
            torch.save({"G": gen.state_dict(), "D": dis.state_dict()}, "last.pt")
        """,
        """
        for epoch in range(10):
            loss.backward()
            torch.save(model.state_dict(), args.save)
        model.load_state_dict(torch.load(args.save))
        test(model)
        """,
        """
        model.load_state_dict(torch.load("last.pt"))
        od = torch.optim.Adam(model.parameters())
        for epoch in range(10):
            loss.backward()
            torch.save({"model": model.state_dict(), "od": od.state_dict()}, "last.pt")
        """,
        """
        model.load_state_dict(torch.load("pretrained.pth"))
        for epoch in range(10):
            loss.backward()
            torch.save(model.state_dict(), f"epoch{epoch}.pt")
        """,
    ],
    "code.saves-weights-only": [
        """
        from transformers import Trainer, TrainingArguments
        args = TrainingArguments("o", save_steps=100)
        Trainer(model=model, args=args, train_dataset=ds).train(resume_from_checkpoint=True)
        """,
        """
        from transformers import Trainer, TrainingArguments
        args = TrainingArguments("o", save_steps=100, save_only_model=True)
        Trainer(model=model, args=args, train_dataset=ds).train()
        """,
    ],
    "code.adapter-frozen": [
        """
        from peft import PeftModel
        model = PeftModel.from_pretrained(base, "adapter", is_trainable=True)
        SFTTrainer(model=model, train_dataset=data).train()
        """,
        "model = PeftModel.from_pretrained(base, path)\nmodel.generate(**inputs)",
        "model = PeftModel.from_pretrained(base, path)\nmodel = model.merge_and_unload()\nloss(model(x)).backward()",
        "model = PeftModel.from_pretrained(base, path)\nfor p in model.parameters():\n    p.requires_grad = True\nloss(model(x)).backward()",
    ],
    "code.adapter-prepared-late": ["model = prepare_model_for_kbit_training(model)\nmodel = get_peft_model(model, config)"],
    "code.optimizer-not-restored": [resuming("optimizer", "scheduler", "loader", "step")],
    "code.schedule-not-restored": [
        resuming("optimizer", "scheduler", "loader", "step"),
        """
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=cosine)
        optimizer.load_state_dict(checkpoint["optimizer"])
        """,
    ],
    "code.count-not-restored": [resuming("optimizer", "scheduler", "loader", "step")],
    "code.data-not-restored": [resuming("optimizer", "scheduler", "step", "skip", "rng")],
    "code.order-not-restored": [
        resuming("optimizer", "scheduler", "rng", "step", "skip", loader="DataLoader(data, shuffle=True)")
    ],
    "code.cast-after-load": [
        """
        model = AutoModel.from_pretrained("x", torch_dtype=torch.bfloat16)
        model.load_state_dict(torch.load("last.pt")["model"])
        model.to(torch.bfloat16)
        for x, y in loader:
            loss_of(model(x), y).backward()
        """,
    ],
}

#: programs against which no rule has anything
SOUND = [resuming("optimizer", "scheduler", "loader", "step")]
