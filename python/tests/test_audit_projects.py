"""Programs of several files: a rule sees what a script imports from its own folder, and the settings that it reads."""

import json

import pytest
from aplomb.audit.__main__ import audit_files
from aplomb.audit.program.project import MOST_LINES, Project
from audit_support import HEAD

LOOP = """
opt = torch.optim.AdamW(net.parameters(), lr={rate})
for x, y in loader:
    loss = F.cross_entropy(net(x), y)
    {clear}
    loss.backward()
    opt.step()
"""


def lay(folder, **files):
    """Writes `data="..."` to data.py (`sub__data` to sub/data.py); HEAD stands before programs that use torch."""
    paths = []
    for name, text in files.items():
        path = folder / (name if "." in name else name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if path.suffix == ".py":
            paths.append(str(path))
    return paths


#: What these small programs leave out on purpose.
ASIDE = {"code.never-seeded"}


def found(paths, named=None):
    """`(file, rule)` of each finding."""
    entries, errors = audit_files(named or paths, 60.0)
    assert errors == []
    return {(each["path"].rsplit("/", 1)[-1], each["rule"]) for each in entries if each["rule"] not in ASIDE}


def script(text, imports="", rate="1e-3", clear="opt.zero_grad()"):
    return f"{HEAD}{imports}\n{text}\n{LOOP.format(rate=rate, clear=clear)}"


NET = HEAD + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 3)
    def forward(self, x):
        return F.softmax(self.body(x), dim=1)
"""
RATES = "RATE = 50.0\nSLOW = 1e-3\n"
SPLIT = HEAD + """
def windows(x, past):
    return np.stack([x[i:i + past] for i in range(len(x) - past)])
def halves(a):
    p = torch.randperm(len(a))
    return a[p[:100]], a[p[100:]]
"""


@pytest.mark.parametrize(
    "imports, text",
    [
        ("from net import Net", "net = Net()"),
        ("import net as nets", "net = nets.Net()"),
        ("from net import *", "net = Net()"),
        ("from net import Net as Network", "net = Network()"),
        ("import net", "model = net.Net()\nnet = model"),
    ],
)
def test_a_model_of_another_file_is_seen_through_each_way_to_import_it(tmp_path, imports, text):
    paths = lay(tmp_path, net=NET, train=script(text, imports))
    assert ("train.py", "code.softmax-before-cross-entropy") in found(paths)


@pytest.mark.parametrize(
    "imports, rate, wrong",
    [
        ("from rates import RATE", "RATE", True),
        ("from rates import SLOW", "SLOW", False),
        ("import rates", "rates.RATE", True),
        ("import rates", "rates.SLOW", False),
        ("from rates import RATE as r", "r", True),
    ],
)
def test_constants_of_another_file_are_known(tmp_path, imports, rate, wrong):
    paths = lay(tmp_path, rates=RATES, train=script("net = nn.Linear(4, 3)", imports, rate))
    assert (("train.py", "code.lr-too-high") in found(paths)) == wrong


def test_a_package_with_relative_imports_is_one_program(tmp_path):
    paths = lay(
        tmp_path,
        **{"pkg/__init__.py": "from .rates import RATE\n"},
        pkg__rates=RATES,
        pkg__train=script("net = nn.Linear(4, 3)", "from . import RATE", "RATE") + "if __name__ == '__main__':\n    pass\n",
    )
    assert ("train.py", "code.lr-too-high") in found(paths)


def test_what_one_file_does_is_not_missing_in_another(tmp_path):
    """Alone the loop never clears its gradients."""
    helper = HEAD + "def clear(model):\n    for p in model.parameters():\n        p.grad = None\n"
    wrong = script("net = nn.Linear(4, 3)", clear="pass")
    assert ("train.py", "code.no-zero-grad") in found(lay(tmp_path / "a", train=wrong))
    right = script("net = nn.Linear(4, 3)", "from helper import clear", clear="clear(net)")
    assert found(lay(tmp_path / "b", helper=helper, train=right)) == set()


def test_equal_names_of_two_files_stay_apart(tmp_path):
    """`RATE`, `make` and `model` mean something else in each file."""
    other = HEAD + "RATE = 50.0\ndef make():\n    return RATE\nmodel = nn.Linear(2, 2)\n"
    paths = lay(
        tmp_path,
        other=other,
        train=script("RATE = 1e-3\ndef make():\n    return RATE\nnet = nn.Linear(4, 3)", "import other", "make()"),
    )
    assert found(paths) == set()
    paths = lay(
        tmp_path,
        other=other,
        train=script("RATE = 1e-3\ndef make():\n    return RATE\nnet = nn.Linear(4, 3)", "import other", "other.make()"),
    )
    assert found(paths) == {("train.py", "code.lr-too-high")}


def test_a_parameter_of_the_name_of_an_import_is_the_parameter(tmp_path):
    paths = lay(
        tmp_path,
        rates=RATES,
        train=script(
            "net = nn.Linear(4, 3)\ndef pick(r):\n    return r", "from rates import RATE as r, SLOW", "pick(SLOW)"
        ),
    )
    assert found(paths) == set()


def test_a_finding_in_a_module_names_the_module_and_its_line(tmp_path):
    paths = lay(tmp_path, split=SPLIT, train=script(
        "a = windows(np.load('x.npy'), 48)\ntrain, val = halves(a)\nnet = nn.Linear(4, 3)",
        "from split import windows, halves",
    ))
    entries, _ = audit_files(paths, 60.0)
    leak = [each for each in entries if each["rule"] == "code.windows-split-at-random"]
    for each in leak:
        line, begin = each["places"][0]
        with open(each["path"]) as file:
            source = file.read()
        assert source.splitlines()[line - 1].strip() == each["text"]
        assert source.encode()[begin:].splitlines()[0].strip().decode() == each["text"]


def test_a_module_that_is_not_named_is_read_where_it_lies_beside(tmp_path):
    paths = lay(tmp_path, rates=RATES, train=script("net = nn.Linear(4, 3)", "from rates import RATE", "RATE"))
    assert ("train.py", "code.lr-too-high") in found(paths, [paths[1]])


def test_a_link_and_a_module_above_the_folder_are_not_read(tmp_path):
    lay(tmp_path, rates=RATES)
    paths = lay(tmp_path / "own", train=script("net = nn.Linear(4, 3)", "from rates import RATE", "RATE"))
    (tmp_path / "own" / "rates.py").symlink_to(tmp_path / "rates.py")
    assert found(paths) == set()
    above = lay(tmp_path / "pkg", **{"__init__.py": ""}, rates=RATES)
    assert len(above) == 2
    inner = script("net = nn.Linear(4, 3)", "from ..rates import RATE", "RATE")
    paths = lay(tmp_path / "pkg" / "sub", **{"__init__.py": ""}, train=inner + "if __name__ == '__main__':\n    pass\n")
    assert found(paths) == set()


def test_main_of_an_imported_file_does_not_run(tmp_path):
    other = HEAD + "RATE = 1e-3\nif __name__ == '__main__':\n    RATE = 50.0\n"
    paths = lay(tmp_path, other=other, train=script("net = nn.Linear(4, 3)", "from other import RATE", "RATE"))
    assert found(paths) == set()


def test_files_that_import_each_other_and_a_file_that_no_parser_takes(tmp_path):
    paths = lay(
        tmp_path,
        a="import b\nX = 1\n",
        b="import a\nY = 2\n",
        broken="def (:\n",
        train=script("net = nn.Linear(4, 3)", "import a, b, broken", "50.0"),
    )
    entries, errors = audit_files(paths, 60.0)
    assert [each["rule"] for each in entries if each["rule"] not in ASIDE] == ["code.lr-too-high"]
    assert [each["path"].rsplit("/", 1)[-1] for each in errors] == ["broken.py"]


YAML = "training:\n  lr: {}  # of AdamW\n  betas: [0.9, {}]\nname: run\n"
CONFIGURED = "import yaml, json, argparse, os, pathlib\nfrom pathlib import Path\n{}\nnet = nn.Linear(4, 3)"


@pytest.mark.parametrize(
    "reading",
    [
        "c = yaml.safe_load(open('conf.yaml'))",
        "with open('conf.yaml') as f:\n    c = yaml.safe_load(f)",
        "c = yaml.safe_load(Path('conf.yaml').read_text())",
        "c = yaml.safe_load((Path(__file__).parent / 'conf.yaml').read_text())",
        "c = yaml.safe_load(open(os.path.join(os.path.dirname(__file__), 'conf.yaml')))",
        "import sys\nc = yaml.safe_load(open(sys.argv[1]))",
        "p = argparse.ArgumentParser()\np.add_argument('--config', default='conf.yaml')\na = p.parse_args()\n"
        "c = yaml.safe_load(open(a.config))",
    ],
)
@pytest.mark.parametrize("rate, wrong", [("30.0", True), ("0.001", False)])
def test_settings_of_a_file_reach_the_call(tmp_path, reading, rate, wrong):
    lay(tmp_path, **{"conf.yaml": YAML.format(rate, 0.999)})
    paths = lay(tmp_path, train=script(CONFIGURED.format(reading), rate="c['training']['lr']"))
    assert (("train.py", "code.lr-too-high") in found(paths)) == wrong


@pytest.mark.parametrize("rate, wrong", [(30.0, True), (0.001, False)])
def test_settings_that_are_spread_into_a_call_are_its_keywords(tmp_path, rate, wrong):
    (tmp_path / "conf.json").write_text(json.dumps({"opt": {"lr": rate, "betas": [0.9, 0.999]}}))
    text = "import json\nc = json.load(open('conf.json'))\nnet = nn.Linear(4, 3)"
    program = script(text).replace("lr=1e-3", "**c['opt']")
    assert (("train.py", "code.lr-too-high") in found(lay(tmp_path, train=program))) == wrong


def test_a_configuration_outside_of_the_folder_is_not_read(tmp_path):
    (tmp_path / "conf.yaml").write_text(YAML.format(30.0, 0.999))
    for name in ("../conf.yaml", str(tmp_path / "conf.yaml")):
        text = CONFIGURED.format(f"c = yaml.safe_load(open({name!r}))")
        assert found(lay(tmp_path / "own", train=script(text, rate="c['training']['lr']"))) == set()


def test_the_work_is_bounded_where_many_scripts_share_many_modules(tmp_path):
    """Each script with all modules would be 40 times the lines that were given."""
    body = "\n".join(f"def f{i}(x):\n    return x + {i}" for i in range(100))
    sources = {f"/p/m{i}.py": body.replace("def f", f"def m{i}_f") for i in range(40)}
    imports = "\n".join(f"import m{i}" for i in range(40))
    sources.update({f"/p/s{i}.py": f"{imports}\nprint({i})\n" for i in range(40)})
    units = Project(sources).units()
    lines = sum(part.source.count("\n") + 1 for unit in units for part in unit.parts)
    given = sum(text.count("\n") + 1 for text in sources.values())
    assert lines <= 2 * given + 2 * MOST_LINES
    assert {part.path for unit in units for part in unit.parts} == set(sources)


@pytest.mark.parametrize(("first", "second", "wrong"), [(0.999, 0.9, True), (0.9, 0.999, False)])
def test_a_value_that_is_wrong_is_named_where_the_configuration_sets_it(tmp_path, first, second, wrong):
    conf = f"seed: 1\noptim:\n  lr: 1.0e-3\n  momentum: {first}\n  variance: {second}\n"
    (tmp_path / "conf.yaml").write_text(conf)
    program = script(
        "c = yaml.safe_load(open('conf.yaml'))\nnet = nn.Linear(4, 3)\n"
        "betas = (c['optim']['momentum'], c['optim']['variance'])",
        "import yaml",
        rate="1e-3, betas=betas",
    )
    entries, _ = audit_files(lay(tmp_path, train=program), 60.0)
    entry = next((each for each in entries if each["rule"] == "code.betas-swapped"), None)
    assert (entry is not None) == wrong
    if entry is not None:
        assert entry["path"].endswith("conf.yaml")
        assert [line for line, _ in entry["places"]] == [4, 5]
        assert entry["places"][0][1] == conf.index("  momentum")
        assert entry["text"] == f"momentum: {first}"


def test_what_runs_first_is_told_by_the_calls_that_lead_there(tmp_path):
    program = HEAD + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

def build(net):
    return torch.optim.SGD(net.parameters(), lr=0.1)

def adapt(net):
    net.fc = nn.Linear(4, 5)

def main():
    net = Net()
    {}
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()

main()
"""
    late = lay(tmp_path / "late", train=program.replace("{}", "opt = build(net)\n    adapt(net)"))
    early = lay(tmp_path / "early", train=program.replace("{}", "adapt(net)\n    opt = build(net)"))
    assert ("train.py", "code.optimizer-before-model") in found(late)
    assert found(early) == set()


STARTED = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=1e-3)
args = parser.parse_args()
net = nn.Linear(4, 2)
opt = torch.optim.AdamW(net.parameters(), lr=args.lr)
for x, y in loader:
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("python train.py --lr 0.5\n", True),
        ("LR=0.5\ntorchrun --nproc-per-node 2 train.py \\\n  --epochs 3 \\\n  --lr=$LR\n", True),
        ("accelerate launch --num_processes 8 src/train.py --lr ${LR:-0.5}\n", True),
        ("deepspeed train.py --lr 3e-4 --deepspeed ds.json\n", False),
        ("python train.py --lr $1\n", False),
        ("python train.py --lr 0.5\npython train.py --lr 1e-3\n", False),
        ("python other.py --lr 0.5\n", False),
    ],
)
def test_what_a_shell_script_starts_a_program_with_counts(tmp_path, text, wrong):
    paths = lay(tmp_path, train=HEAD + STARTED)
    (tmp_path / "go.sh").write_text(text)
    assert (("go.sh", "code.lr-too-high") in found(paths)) == wrong
