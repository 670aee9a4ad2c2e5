"""The code audit: every rule fires on a small program that is wrong and is silent on the same one mended; loops that are
right give nothing."""

import json
import pathlib
import re
import subprocess
import sys
import textwrap

import pytest
from aplomb.audit import RULES, Program, audit_program, audit_source

HEAD = """
import torch
import torch.nn as nn
import torch.nn.functional as F
"""

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


# rule: (wrong, mended, a piece of the corrected line)
PROGRAMS = {
    "code.model-cast": (
        """
        model = Net().cuda().half()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        """,
        """
        model = Net().cuda()
        teacher = Net().half()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        """,
        "float16",
    ),
    "code.clip-in-half": (
        """
        import clip
        model, preprocess = clip.load("ViT-B/32", device="cuda")
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-5)
        """,
        """
        import clip
        features, preprocess = clip.load("ViT-B/32", device="cuda")
        head = nn.Linear(512, 10)
        optimizer = torch.optim.Adam(head.parameters(), lr=1e-3)
        """,
        "model.float()",
    ),
    "code.clip-before-unscale": (
        """
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(loss_of(model(x), y)).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        """,
        """
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(loss_of(model(x), y)).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        """,
        "scaler.unscale_(optimizer)",
    ),
    "code.backward-in-autocast": (
        """
        for x, y in loader:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = loss_of(model(x), y)
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
        """
        for x, y in loader:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
        "loss.backward()",
    ),
    "code.scaler-with-bf16": (
        """
        scaler = torch.amp.GradScaler("cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = loss_of(model(x), y)
        scaler.scale(loss).backward()
        """,
        """
        scaler = torch.amp.GradScaler("cuda", enabled=(dtype == "float16"))
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = loss_of(model(x), y)
        scaler.scale(loss).backward()
        """,
        "loss.backward()",
    ),
    "code.deprecated-amp": (
        """
        from torch.cuda.amp import autocast
        with autocast(dtype=torch.float16):
            y = model(x)
        """,
        """
        with torch.amp.autocast("cuda", dtype=torch.float16):
            y = model(x)
        """,
        'torch.amp.autocast("cuda", dtype=torch.float16)',
    ),
    "code.tf32-off": (
        """
        torch.backends.cuda.matmul.allow_tf32 = False
        """,
        """
        torch.backends.cuda.matmul.allow_tf32 = True
        """,
        "allow_tf32 = True",
    ),
    "code.log-softmax": (
        """
        probabilities = F.softmax(logits, dim=-1)
        loss = -(torch.log(probabilities) * targets).sum()
        """,
        """
        loss = -(F.log_softmax(logits, dim=-1) * targets).sum()
        """,
        "F.log_softmax(logits, dim=-1)",
    ),
    "code.no-epsilon": (
        """
        def loss_of(model, x, y):
            p = torch.sigmoid(model(x))
            return -(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()
        """,
        """
        def loss_of(model, x, y):
            p = torch.sigmoid(model(x)).clamp(1e-7, 1 - 1e-7)
            return -(y * torch.log(p) + (1 - y) * torch.log(1 - p + 1e-8)).mean()
        """,
        "torch.log(p + 1e-8)",
    ),
    "code.softmax-cross-entropy": (
        """
        criterion = nn.CrossEntropyLoss()
        outputs = torch.softmax(model(x), dim=1)
        loss = criterion(outputs, y)
        """,
        """
        criterion = nn.CrossEntropyLoss()
        outputs = model(x)
        loss = criterion(outputs, y)
        """,
        "criterion(model(x), y)",
    ),
    "code.anomaly-on": (
        """
        torch.autograd.set_detect_anomaly(True)
        loss.backward()
        """,
        """
        torch.autograd.set_detect_anomaly(args.debug)
        loss.backward()
        """,
        "set_detect_anomaly(False)",
    ),
    "code.no-zero-grad": (
        """
        for x, y in loader:
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
        """,
        """
        for x, y in loader:
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
            for p in model.parameters():
                p.grad = None
        """,
        "optimizer.zero_grad(set_to_none=True)",
    ),
    "code.eval-keeps-graph": (
        """
        def validate(model, loader):
            model.eval()
            for x, y in loader:
                total = accuracy(model(x), y)
            return total
        """,
        """
        @torch.no_grad()
        def validate(model, loader):
            model.eval()
            for x, y in loader:
                total = accuracy(model(x), y)
            return total
        """,
        "with torch.no_grad():",
    ),
    "code.loss-keeps-graph": (
        """
        for x, y in loader:
            optimizer.zero_grad()
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss
        """,
        """
        for x, y in loader:
            optimizer.zero_grad()
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.detach()
        """,
        "total += loss.detach()",
    ),
    "code.sync-each-step": (
        """
        for x, y in loader:
            optimizer.zero_grad()
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
            print(loss.item())
        """,
        """
        for step, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
            if step % 50 == 0:
                print(loss.item())
        """,
        "if step % 50 == 0:",
    ),
    "code.checkpoint-incomplete": (
        """
        for epoch in range(10):
            train(model)
            loss.backward()
            torch.save(model.state_dict(), "last.pt")
        """,
        """
        for epoch in range(10):
            train(model)
            loss.backward()
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "last.pt")
        """,
        "optimizer.state_dict()",
    ),
    "code.sampler-set-epoch": (
        """
        sampler = DistributedSampler(dataset)
        for epoch in range(10):
            for x, y in loader:
                loss_of(model(x), y).backward()
        """,
        """
        sampler = DistributedSampler(dataset)
        for epoch in range(10):
            sampler.set_epoch(epoch)
            for x, y in loader:
                loss_of(model(x), y).backward()
        """,
        "sampler.set_epoch(epoch)",
    ),
    "code.scheduler-first": (
        """
        for x, y in loader:
            optimizer.zero_grad()
            loss_of(model(x), y).backward()
            scheduler.step()
            optimizer.step()
        """,
        """
        for x, y in loader:
            optimizer.zero_grad()
            loss_of(model(x), y).backward()
            optimizer.step()
            scheduler.step()
        """,
        "optimizer.step()",
    ),
    "code.labels-shifted-twice": (
        """
        model = GPT2LMHeadModel.from_pretrained("gpt2")
        for ids in loader:
            x, y = ids[:, :-1], ids[:, 1:]
            targets = ids[:, 1:].contiguous()
            loss = model(x, labels=targets)[0]
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
        """
        model = GPT2LMHeadModel.from_pretrained("gpt2")
        for ids in loader:
            targets = ids.clone()
            loss = model(ids, labels=targets)[0]
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
        "labels=input_ids",
    ),
    "code.labels-not-shifted": (
        """
        criterion = nn.CrossEntropyLoss()
        for tokens in loader:
            out = net(tokens)
            loss = criterion(out.reshape(-1, vocab), tokens.reshape(-1))
            loss.backward()
            opt.step()
            opt.zero_grad()
        """,
        """
        criterion = nn.CrossEntropyLoss()
        for tokens in loader:
            out = net(tokens[:, :-1])
            loss = criterion(out.reshape(-1, vocab), tokens[:, 1:].reshape(-1))
            loss.backward()
            opt.step()
            opt.zero_grad()
        """,
        "input_ids[:, 1:]",
    ),
    "code.label-mask-inverted": (
        """
        def collate(rows):
            enc = tokenizer.pad(rows, return_tensors="pt")
            labels = enc["input_ids"].clone()
            labels[enc["attention_mask"] == 1] = -100
            return {**enc, "labels": labels}
        """,
        """
        def collate(rows):
            enc = tokenizer.pad(rows, return_tensors="pt")
            labels = enc["input_ids"].clone()
            labels[enc["attention_mask"] == 0] = -100
            labels = labels.masked_fill(enc["prompt_mask"], -100)
            labels = torch.where(~answer_mask.bool(), -100, labels)
            return {**enc, "labels": labels}
        """,
        "~(enc['attention_mask'] == 1)",
    ),
    "code.loss-rebuilt": (
        """
        for x, y in loader:
            loss = criterion(model(x), y)
            loss = torch.as_tensor(loss.detach().cpu().numpy()).requires_grad_()
            loss = torch.tensor(loss.item() * 2, requires_grad=True)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
        """
        for x, y in loader:
            loss = criterion(model(x), y)
            shown = torch.tensor(loss.item())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
        "loss.backward()",
    ),
    "code.hidden-detached": (
        """
        class Trainer:
            def fit(self):
                optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
                for x, y in self.loader:
                    features = self.model.backbone(x)
                    pooled = features.mean(1).detach()
                    loss = F.cross_entropy(self.model.classifier(pooled), y)
                    loss.backward()
                    optimizer.step()
                    optimizer.zero_grad()
        """,
        """
        class Trainer:
            def fit(self):
                optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
                for x, y in self.loader:
                    features = self.model.backbone(x)
                    target = self.teacher(x).detach()
                    loss = F.cross_entropy(self.model.classifier(features.mean(1)), y)
                    loss = loss + F.mse_loss(features, target)
                    loss.backward()
                    optimizer.step()
                    optimizer.zero_grad()
        """,
        "pooled = features.mean(1)",
    ),
    "code.accumulation-summed": (
        """
        for i, (x, y) in enumerate(loader):
            loss = criterion(model(x), y)
            scaler.scale(loss).backward()
            if (i + 1) % grad_accum_steps == 0:
                scaler.step(optimizer)
                optimizer.step()
                optimizer.zero_grad()
        """,
        """
        for i, (x, y) in enumerate(loader):
            loss = criterion(model(x), y)
            loss = loss / grad_accum_steps
            scaler.scale(loss).backward()
            if (i + 1) % grad_accum_steps == 0:
                optimizer.step()
                optimizer.zero_grad()
        """,
        "loss / accumulation_steps",
    ),
    "code.z-loss-subtracted": (
        """
        for x, y in loader:
            scores = model(x)
            log_z = scores.logsumexp(-1)
            loss = F.cross_entropy(scores, y) - 1e-4 * log_z.pow(2).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
        """
        for x, y in loader:
            scores = model(x)
            log_z = scores.logsumexp(-1)
            loss = F.cross_entropy(scores, y) + 1e-4 * log_z.pow(2).mean()
            gap = (scores - log_z.unsqueeze(-1)).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
        "+ 0.0001 * log_z.pow(2).mean()",
    ),
    "code.scheduler-not-restored": (
        """
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        optimizer.load_state_dict(checkpoint["optimizer"])
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=cosine)
        scheduler.last_epoch = start_epoch - 1
        """,
        """
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=cosine)
        optimizer.load_state_dict(checkpoint["optimizer"])
        """,
        "scheduler.load_state_dict",
    ),
    "code.optimizer-not-restored": (
        resuming("scheduler", "loader", "step"),
        resuming("optimizer", "scheduler", "loader", "step"),
        "optimizer.load_state_dict",
    ),
    "code.scheduler-counts-anew": (
        resuming("optimizer", "loader", "step"),
        resuming("optimizer", "scheduler", "loader", "step"),
        "scheduler.load_state_dict",
    ),
    "code.count-not-restored": (
        resuming("optimizer", "scheduler", "loader"),
        resuming("optimizer", "scheduler", "loader", "step"),
        'step = checkpoint["step"]',
    ),
    "code.data-not-restored": (
        resuming("optimizer", "scheduler", "step"),
        resuming("optimizer", "scheduler", "step", "skip", "rng"),
        "skip_first_batches",
    ),
    "code.order-not-restored": (
        resuming("optimizer", "scheduler", "step", "skip", loader="DataLoader(data, shuffle=True)"),
        resuming("optimizer", "scheduler", "rng", "step", "skip", loader="DataLoader(data, shuffle=True)"),
        "generator=",
    ),
    "code.adapter-frozen": (
        """
        model = PeftModel.from_pretrained(base, "adapter")
        trainer = SFTTrainer(model=model, train_dataset=data)
        trainer.train()
        """,
        """
        model = PeftModel.from_pretrained(base, "adapter", is_trainable=True)
        trainer = SFTTrainer(model=model, train_dataset=data)
        trainer.train()
        """,
        "is_trainable=True",
    ),
    "code.reward-by-containment": (
        """
        def accuracy_reward(answer, truth):
            reward = 0.0
            if truth in answer or answer in truth:
                reward = 1.0
            return reward
        """,
        """
        def accuracy_reward(answer, truth):
            reward = 0.0
            if answer and (truth in answer or answer in truth):
                reward = 1.0
            return reward
        """,
        "answer.strip()",
    ),
}


def audited(program):
    return audit_source(HEAD + textwrap.dedent(program))


def test_no_rule_lacks_its_programs():
    assert set(PROGRAMS) == set(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_fires_with_the_corrected_line_and_is_silent_on_the_mended_program(rule):
    wrong, mended, corrected = PROGRAMS[rule]
    found = [each for each in audited(wrong) if each.rule == rule]
    assert found, f"{rule} is silent"
    assert corrected in found[0].corrected
    assert found[0].text and found[0].because and found[0].title
    lines = (HEAD + textwrap.dedent(wrong)).splitlines()
    assert lines[found[0].line - 1].strip() == found[0].text
    assert rule not in {each.rule for each in audited(mended)}


ADAPTERS = {
    "frozen by the preparation that came late": (
        "model = get_peft_model(model, config)\nmodel = prepare_model_for_kbit_training(model)",
        True,
    ),
    "prepared in time": (
        "model = prepare_model_for_kbit_training(model)\nmodel = get_peft_model(model, config)",
        False,
    ),
    "loaded to answer with": ("model = PeftModel.from_pretrained(base, path)\nmodel.generate(**inputs)", False),
    "merged, and the base trains": (
        "model = PeftModel.from_pretrained(base, path)\nmodel = model.merge_and_unload()\nloss(model(x)).backward()",
        False,
    ),
    "switched on by hand": (
        "model = PeftModel.from_pretrained(base, path)\n"
        "for p in model.parameters():\n    p.requires_grad = True\nloss(model(x)).backward()",
        False,
    ),
}


@pytest.mark.parametrize("name", ADAPTERS)
def test_tells_whether_an_adapter_trains(name):
    program, frozen = ADAPTERS[name]
    assert ("code.adapter-frozen" in {each.rule for each in audit_source(program)}) == frozen


CONTAINMENT = {
    "asked before": "def score(a, b):\n    if not a:\n        return 0\n    if a in b or b in a:\n        return 1\n",
    "not of a reward": "def same_path(a, b):\n    if a in b or b in a:\n        return True\n",
    "one way only": "def score(a, b):\n    if b in a:\n        return 1\n",
}


@pytest.mark.parametrize("name", CONTAINMENT)
def test_finds_no_reward_by_containment(name):
    assert audit_source(CONTAINMENT[name]) == []


def test_knows_what_was_imported_under_another_name():
    program = "from torch.cuda.amp import autocast as half_precision\nwith half_precision():\n    pass\n"
    assert [each.rule for each in audit_source(program)] == ["code.deprecated-amp"]


def test_takes_time_in_proportion_to_the_lines():
    """Counted in nodes looked at, not in seconds: a walk of the whole tree for each loop would be quadratic."""

    def looked_at(loops):
        source = HEAD + "".join(textwrap.dedent(LOOP_TO_REPEAT).format(number) for number in range(loops))
        program = Program(source)
        count = 0

        def counted(frame, event, _):
            nonlocal count
            count += event == "call"

        sys.setprofile(counted)
        try:
            audit_program(program)
        finally:
            sys.setprofile(None)
        return count

    assert looked_at(80) < 2.5 * looked_at(40)


LOOP_TO_REPEAT = """
def train_{0}(model, loader, optimizer, scaler):
    for x, y in loader:
        scaler.scale(loss_of(model(x), y)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
    model.eval()
    for x, y in loader:
        print(model(x).log())
"""


def test_finds_that_a_scaler_steps_without_zero_grad():
    program = """
        for x, y in loader:
            scaler.scale(loss_of(model(x), y)).backward()
            scaler.step(optimizer)
            scaler.update()
        """
    found = [each for each in audited(program) if each.rule == "code.no-zero-grad"]
    assert [each.corrected.splitlines()[-1] for each in found] == ["optimizer.zero_grad(set_to_none=True)"]


def test_finds_an_evaluation_with_a_graph_beside_the_training_loop():
    program = """
        for epoch in range(3):
            model.train()
            for x, y in loader:
                optimizer.zero_grad()
                loss_of(model(x), y).backward()
                optimizer.step()
            model.eval()
            for x, y in held_out:
                total = total + accuracy(model(x), y)
        """
    found = [each for each in audited(program) if each.rule == "code.eval-keeps-graph"]
    assert [each.text for each in found] == ["total = total + accuracy(model(x), y)"]


GOOD_LOOPS = {
    "accumulation with bf16 and a schedule": """
        def train(model, loader, optimizer, scheduler, accumulate):
            model.train()
            running = 0.0
            for step, (x, y) in enumerate(loader):
                with torch.autocast("cuda", dtype=torch.bfloat16):
                    loss = F.cross_entropy(model(x), y) / accumulate
                loss.backward()
                running += loss.detach()
                if (step + 1) % accumulate == 0:
                    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                    optimizer.step()
                    scheduler.step()
                    optimizer.zero_grad(set_to_none=True)
                if step % 100 == 0:
                    print(step, running.item(), norm.item())
        """,
    "pretraining with a scaler that may be off": """
        torch.backends.cuda.matmul.allow_tf32 = True
        scaler = torch.amp.GradScaler("cuda", enabled=(dtype == "float16"))
        context = torch.autocast(device_type="cuda", dtype=kind)

        @torch.no_grad()
        def estimate_loss():
            model.eval()
            for k in range(eval_iters):
                X, Y = get_batch("val")
                with context:
                    logits, loss = model(X, Y)
                losses[k] = loss.item()
            model.train()

        while True:
            if iter_num % eval_interval == 0:
                estimate_loss()
                torch.save({"model": raw_model.state_dict(), "optimizer": optimizer.state_dict(), "iter": iter_num}, path)
            for micro_step in range(gradient_accumulation_steps):
                with context:
                    logits, loss = model(X, Y)
                    loss = loss / gradient_accumulation_steps
                X, Y = get_batch("train")
                scaler.scale(loss).backward()
            if grad_clip != 0.0:
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
            if iter_num % log_interval == 0:
                print(loss.item())
        """,
    "losses that are added before the backward pass": """
        for x, y in loader:
            optimizer.zero_grad()
            total = 0
            for head in heads:
                loss = criterion(head(model(x)), y)
                total += loss
            total.backward()
            optimizer.step()
        """,
    "two networks that play against each other": """
        for real in loader:
            optimizer_d.zero_grad()
            loss_d = criterion(discriminator(real), ones) + criterion(discriminator(generator(noise).detach()), zeros)
            loss_d.backward()
            optimizer_d.step()
            optimizer_g.zero_grad()
            loss_g = criterion(discriminator(generator(noise)), ones)
            loss_g.backward()
            optimizer_g.step()
        """,
    "a discriminator that is kept still": """
        for noise in loader:
            optimizer_g.zero_grad()
            discriminator.eval()
            loss = criterion(discriminator(generator(noise)), ones)
            loss.backward()
            optimizer_g.step()
            discriminator.train()
        """,
    "evaluation under the caller's no_grad": """
        def run(model, loader):
            model.eval()
            for x in loader:
                model(x)

        with torch.inference_mode():
            run(model, loader)
        """,
    "inference in half": """
        model = Net()
        model.half().eval()
        with torch.no_grad():
            print(model(x).softmax(-1))
        """,
    "a frozen base under an adapter": """
        from peft import LoraConfig, get_peft_model
        model = AutoModelForCausalLM.from_pretrained(name).to(torch.bfloat16)
        model = get_peft_model(model, LoraConfig(r=8))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        """,
    "a learning rate range test and a closure": """
        def closure():
            optimizer.zero_grad()
            loss = loss_of(model(x), y)
            loss.backward()
            return loss

        for _ in range(10):
            optimizer.step(closure)
        """,
}


@pytest.mark.parametrize("name", GOOD_LOOPS)
def test_says_nothing_about(name):
    assert [each for each in audited(GOOD_LOOPS[name]) if each.severity != "note"] == []


def test_leads_to_causes_of_the_book():
    folder = pathlib.Path(__file__).parents[2] / "knowledge" / "causes"
    causes = set(re.findall(r"^- id: (\S+)", "".join(each.read_text() for each in folder.glob("*.yaml")), re.MULTILINE))
    assert causes
    for wrong, _, _ in PROGRAMS.values():
        for finding in audited(wrong):
            assert set(finding.leads_to) <= causes, finding.rule


def test_prints_json_and_goes_on_after_a_file_that_is_no_python(tmp_path):
    good = tmp_path / "train.py"
    good.write_text("import torch\nloss = torch.log(torch.softmax(x, dim=1))\n")
    bad = tmp_path / "bad.py"
    bad.write_text("def (:\n")
    done = subprocess.run([sys.executable, "-m", "aplomb.audit", str(bad), str(good)], capture_output=True, text=True)
    said = json.loads(done.stdout)
    assert done.returncode == 1
    assert [each["path"] for each in said["errors"]] == [str(bad)]
    assert [(each["path"], each["line"], each["rule"]) for each in said["findings"]] == [(str(good), 2, "code.log-softmax")]


def test_executes_nothing(tmp_path):
    trap = tmp_path / "trap.py"
    trap.write_text(f"open({str(tmp_path / 'touched')!r}, 'w')\nimport nonexistent_module\n")
    subprocess.run([sys.executable, "-m", "aplomb.audit", str(trap)], capture_output=True)
    assert not (tmp_path / "touched").exists()


RIGHT = {
    "a discriminator's step": """
        optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4)
        optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-4)
        for real in loader:
            fake = generator(torch.randn(len(real), 100))
            loss_fake = criterion(discriminator(fake.detach()), zeros)
            loss_fake.backward()
            optimizer_d.step()
            optimizer_d.zero_grad()
        """,
    "a recurrent state that is carried on": """
        optimizer = torch.optim.Adam(model.parameters())
        for x, y in loader:
            hidden = hidden.detach()
            out, hidden = model(x, hidden)
            loss = criterion(out, y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
    "a linear probe": """
        optimizer = torch.optim.SGD(probe.parameters(), lr=0.1)
        for x, y in loader:
            features = model(x).detach()
            loss = F.cross_entropy(probe(features), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
    "an actor and its critic": """
        optimizer = torch.optim.Adam(model.parameters())
        for batch in loader:
            features = model.trunk(batch.states)
            values = model.critic(features.detach())
            logits = model.actor(features)
            loss = policy_loss(logits, batch) + (values - batch.returns).pow(2).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
    "an autoencoder of tokens": """
        optimizer = torch.optim.Adam(autoencoder.parameters())
        for tokens in loader:
            loss = F.cross_entropy(autoencoder(tokens).transpose(1, 2), tokens)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
    "labels that the loader has shifted": """
        for x, y in loader:
            loss = F.cross_entropy(model(x).view(-1, vocab), y.view(-1))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
    "a mean over all tokens of the accumulated passes": """
        for i, batch in enumerate(loader):
            loss = F.cross_entropy(model(batch.x), batch.y, reduction="sum") / tokens_of_step
            loss.backward()
            if (i + 1) % accumulation == 0:
                optimizer.step()
                optimizer.zero_grad()
        """,
}


@pytest.mark.parametrize("what", RIGHT)
def test_says_nothing_against(what):
    found = audit_source(HEAD + textwrap.dedent(RIGHT[what]))
    assert [each.rule for each in found if each.severity != "note"] == []
