"""The code audit as a whole: rules and texts belong together, nothing is run, and time grows with the lines."""

import json
import re
import subprocess
import sys
import textwrap

import audit_carried
import audit_followed
import audit_kinds
import audit_losses
import audit_outside
import audit_paths
import audit_runs
import audit_steps
import audit_training
import pytest
from aplomb.audit import RULES, Program, audit_program, audit_source
from aplomb.audit.budget import Budget
from audit_support import HEAD, KNOWLEDGE, audited, check_right, check_wrong, entries, rules_of

# Programs by the kind of what is wrong with them: each rule's WRONG ones, and RIGHT ones that look alike.
PARTS = (
    audit_carried,
    audit_steps,
    audit_losses,
    audit_training,
    audit_runs,
    audit_kinds,
    audit_outside,
    audit_paths,
    audit_followed,
)


def programs(side):
    """By rule: those of the parts, and those that stand with a rule's texts (`wrong:` and `right:` in knowledge/code)."""
    found = {}
    for part in PARTS:
        for rule, cases in getattr(part, side).items():
            found.setdefault(rule, []).extend(cases)
    for rule, entry in entries().items():
        if side.lower() in entry:
            found.setdefault(rule, []).extend(entry[side.lower()])
    return found


def cases(side):
    return [
        pytest.param(rule, program, id=f"{rule}-{number}")
        for rule, all_of_it in programs(side).items()
        for number, program in enumerate(all_of_it)
    ]


@pytest.mark.parametrize(("rule", "program"), cases("WRONG"))
def test_fires(rule, program):
    check_wrong(rule, program)


@pytest.mark.parametrize(("rule", "program"), cases("RIGHT"))
def test_is_silent(rule, program):
    check_right(rule, program)


@pytest.mark.parametrize("program", [program for part in PARTS for program in getattr(part, "SOUND", [])])
def test_sound_programs_are_left_alone(program):
    assert rules_of(program) == set()


def test_every_rule_has_programs_that_are_wrong_and_right():
    for side in ("WRONG", "RIGHT"):
        assert set(programs(side)) == set(RULES)


def test_every_rule_has_its_texts_and_every_text_its_rule():
    assert set(RULES) == {name for name, entry in entries().items() if not entry.get("only_fragment")}


@pytest.mark.parametrize("rule", RULES)
def test_the_texts_are_filled_in_and_there_is_something_to_write_instead(rule):
    entry = entries()[rule]
    wrong = programs("WRONG")[rule]
    for finding in [each for program in wrong for each in audited(program) if each.rule == rule]:
        asked = set(re.findall(r"\{(\w+)\}", entry["title"] + entry["because"]))
        assert asked <= set(finding.values), finding
        assert all(isinstance(value, str) and value for value in finding.values.values()), finding
        assert finding.text
        assert finding.corrected or entry.get("fix")


def test_entries_are_whole_and_lead_to_causes_of_the_book():
    texts = "".join(each.read_text() for each in (KNOWLEDGE / "causes").glob("*.yaml"))
    causes = set(re.findall(r"^- id: (\S+)", texts, re.MULTILINE))
    fields = {"id", "title", "level", "severity", "because", "fix", "leads_to", "supports", "fragment", "only_fragment"}
    fields |= {"wrong", "right"}  # programs of the tests
    fields |= {"same_as", "from_capability", "before_capability"}  # knowledge/code_book.h
    for name, entry in entries().items():
        assert set(entry) <= fields, name
        assert entry["level"] in ("mistake", "suspicion"), name
        assert entry["severity"] in ("note", "warning", "unstable", "failed"), name
        assert set(entry.get("leads_to", [])) <= causes, name
        assert set(entry.get("supports", {})) <= causes, name


#: Whole programs that are right: at most a note is said of them.
RIGHT = {
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
    "a deep Q network with its target": """
        q, target = Net(), Net()
        target.load_state_dict(q.state_dict())
        optimizer = torch.optim.Adam(q.parameters(), lr=1e-4)
        for step in range(10000):
            s, a, r, s2, done = memory.sample(64)
            with torch.no_grad():
                wanted = r + 0.99 * target(s2).max(1).values * (1 - done)
            loss = F.smooth_l1_loss(q(s).gather(1, a).squeeze(1), wanted)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_value_(q.parameters(), 100)
            optimizer.step()
            if step % 500 == 0:
                target.load_state_dict(q.state_dict())
        """,
    "a teacher that follows its pupil": """
        student, teacher = Net(), Net()
        teacher.load_state_dict(student.state_dict())
        for p in teacher.parameters():
            p.requires_grad = False
        optimizer = torch.optim.AdamW(student.parameters(), lr=1e-3)
        for x, y in loader:
            with torch.no_grad():
                soft = teacher(x).softmax(-1)
            loss = F.cross_entropy(student(x), y) + F.kl_div(F.log_softmax(student(x), -1), soft, reduction="batchmean")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for a, b in zip(teacher.parameters(), student.parameters()):
                    a.mul_(0.99).add_(b, alpha=0.01)
        """,
    "a backbone that is frozen under a new head": """
        model = torchvision.models.resnet18(weights="DEFAULT")
        for p in model.parameters():
            p.requires_grad = False
        model.fc = nn.Linear(512, 10)
        optimizer = torch.optim.SGD(model.fc.parameters(), lr=1e-2, momentum=0.9)
        criterion = nn.CrossEntropyLoss()
        for epoch in range(5):
            model.train()
            for x, y in loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
        """,
    "meta-learning with an inner loop": """
        for task in tasks:
            fast = copy.deepcopy(model)
            inner = torch.optim.SGD(fast.parameters(), lr=0.1)
            for x, y in task.support:
                inner.zero_grad()
                F.mse_loss(fast(x), y).backward()
                inner.step()
            for p, q in zip(model.parameters(), fast.parameters()):
                p.data += 0.1 * (q.data - p.data)
        """,
}


@pytest.mark.parametrize("name", RIGHT)
def test_says_nothing_against(name):
    assert rules_of(RIGHT[name]) == set()


def test_knows_what_was_imported_under_another_name():
    program = "from torch.cuda.amp import autocast as half_precision\nwith half_precision():\n    pass\n"
    assert [each.rule for each in audit_source(program)] == ["code.deprecated-amp"]


def test_reads_the_configuration_that_lies_beside_the_program(tmp_path):
    (tmp_path / "config.yaml").write_text("optim:\n  lr: 5.0  # far too much\nepochs: 3\n")
    program = tmp_path / "train.py"
    source = """
import torch, yaml
config = yaml.safe_load(open("config.yaml"))
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=config["optim"]["lr"])
"""
    found = audit_source(source, str(program))
    assert [(each.rule, each.values["rate"]) for each in found] == [("code.lr-too-high", "5")]
    assert audit_source(source.replace('"config.yaml"', '"../config.yaml"'), str(program)) == []


def test_a_rule_that_fails_is_left_out_and_said(monkeypatch):
    def broken(program):
        raise KeyError("no such thing")

    monkeypatch.setitem(RULES, "code.tf32-off", broken)
    program = Program("import torch\nloss = torch.log(torch.softmax(x, dim=1))\n")
    assert [each.rule for each in audit_program(program)] == ["code.log-of-softmax"]
    assert program.troubles == ["code.tf32-off could not judge it (KeyError)"]


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


def test_prints_json_and_goes_on_after_a_file_that_is_no_python(tmp_path):
    good = tmp_path / "train.py"
    good.write_text("import torch\nloss = torch.log(torch.softmax(x, dim=1))\n")
    bad = tmp_path / "bad.py"
    bad.write_text("def (:\n")
    done = subprocess.run([sys.executable, "-m", "aplomb.audit", str(bad), str(good)], capture_output=True, text=True)
    said = json.loads(done.stdout)
    assert done.returncode == 1
    assert [each["path"] for each in said["errors"]] == [str(bad)]
    found = [(each["path"], each["places"], each["rule"], each["sure"]) for each in said["findings"]]
    assert found == [(str(good), [[2, 13]], "code.log-of-softmax", True)]


def test_executes_nothing(tmp_path):
    trap = tmp_path / "trap.py"
    trap.write_text(f"open({str(tmp_path / 'touched')!r}, 'w')\nimport nonexistent_module\n")
    subprocess.run([sys.executable, "-m", "aplomb.audit", str(trap)], capture_output=True)
    assert not (tmp_path / "touched").exists()


def goes_round(program):
    while True:
        program.functions.sort(key=len)
    yield


def test_a_rule_that_goes_round_in_a_circle_is_stopped_and_said(monkeypatch):
    monkeypatch.setitem(RULES, "code.tf32-off", goes_round)
    monkeypatch.setattr("aplomb.audit.run.MOST_SECONDS_OF_A_RULE", 0.2)
    program = Program("import torch\nloss = torch.log(torch.softmax(x, dim=1))\n")
    assert [each.rule for each in audit_program(program)] == ["code.log-of-softmax"]
    assert program.troubles == ["code.tf32-off was stopped after 0.2 s and judged nothing"]
    assert program.left_out == ["code.tf32-off"]


def test_rules_behind_the_end_of_the_budget_are_left_out_and_said():
    program = Program("import torch\nloss = torch.log(torch.softmax(x, dim=1))\n")
    assert audit_program(program, Budget(-1.0)) == []
    assert program.left_out == list(RULES)


#: Each gives a name a value that is made of itself, by one step or by several.
CIRCLES = [
    "def loss(logits, labels):\n    if isinstance(logits, tuple):\n        logits = logits[0]\n"
    "    return F.cross_entropy(logits[:, :-1].transpose(1, 2), labels[:, 1:])\n",
    "x = x.logits\ny = x[0]\nF.cross_entropy(y, labels[:, 1:])\n",
    "a = b\nb = a\nF.cross_entropy(a[:, :-1], b[:, 1:])\nrow = {'chosen': a, 'rejected': b}\n",
    "best = ranked[0]\nranked = best['all']\nrow = {'chosen': best['text'], 'rejected': ranked[-1]['text']}\n",
    "class A(B):\n    pass\nclass B(A):\n    pass\nnet = A()\nfor x in loader:\n    net(x).backward()\n    opt.step()\n",
    "one = copy.deepcopy(two)\ntwo = copy.deepcopy(one)\none(x).sum().backward()\n",
    "def f(n):\n    return g(n)\ndef g(n):\n    return f(n)\nloss = f(model(x))\nloss.backward()\n",
    "t = Compose([t])\nt = Compose([t, RandomCrop()])\nx = t(image)\nmask = t(mask)\n",
]


@pytest.mark.parametrize("program", CIRCLES)
def test_a_value_that_is_made_of_itself_ends(program):
    audited(program)  # nothing was stopped, nothing failed
