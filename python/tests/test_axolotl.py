"""AplombPlugin with a stand-in of axolotl's plugin interface, written after its documentation (axolotl itself wants CUDA):
a plugin is named in the YAML, gives the name of a model of its keys, and callbacks before the trainer is built."""

import importlib
import sys
import types

import pytest
import torch

transformers = pytest.importorskip("transformers")
pydantic = pytest.importorskip("pydantic")

from test_transformers import Texts, Tiny  # noqa: E402


class BasePlugin:
    """Every hook that axolotl calls on a plugin, doing nothing."""

    def register(self, cfg):
        pass

    def get_input_args(self):
        return None

    def load_datasets(self, cfg, preprocess=False):
        return None

    def add_callbacks_pre_trainer(self, cfg, model):
        return []

    def add_callbacks_post_trainer(self, cfg, trainer):
        return []

    def get_trainer_cls(self, cfg):
        return None


class Config(dict):
    """As axolotl's: keys are attributes, a missing one is None."""

    def __getattr__(self, name):
        return self.get(name)


def named(path):
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


@pytest.fixture
def plugin(monkeypatch):
    base = types.ModuleType("axolotl.integrations.base")
    base.BasePlugin = BasePlugin
    for name in ("axolotl", "axolotl.integrations"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, base.__name__, base)
    monkeypatch.delitem(sys.modules, "aplomb.axolotl", raising=False)
    yield named("aplomb.axolotl.AplombPlugin")()
    sys.modules.pop("aplomb.axolotl", None)


def train(folder, plugin, cfg):
    for key in pydantic.TypeAdapter(dict).validate_python(cfg):
        assert key in named(plugin.get_input_args()).model_fields, "a key that the plugin does not know"
    plugin.register(cfg)
    transformers.set_seed(11)
    model = Tiny()
    callbacks = plugin.add_callbacks_pre_trainer(cfg, model)
    arguments = transformers.TrainingArguments(
        str(folder), max_steps=32, report_to=[], use_cpu=True, save_strategy="no", disable_tqdm=True,
        remove_unused_columns=False,
    )
    trainer = transformers.Trainer(model, arguments, train_dataset=Texts({17}), callbacks=callbacks)
    for each in plugin.add_callbacks_post_trainer(cfg, trainer):
        trainer.add_callback(each)
    assert plugin.get_trainer_cls(cfg) is None and plugin.load_datasets(cfg) is None
    trainer.train()
    return callbacks[0].guard, all(bool(torch.isfinite(p).all()) for p in model.parameters())


def test_it_guards_axolotls_trainer(tmp_path, plugin):
    assert isinstance(plugin, BasePlugin)
    record = str(tmp_path / "steps.aplomb")
    cfg = Config(aplomb={"record": record, "on_event": lambda verdict: None})
    guard, finite = train(tmp_path, plugin, cfg)
    assert finite and guard.counts["skipped"] == 1 and guard.counts["steps"] == 32
    assert (tmp_path / "steps.aplomb").exists()


def test_without_options_and_without_axolotl():
    sys.modules.pop("aplomb.axolotl", None)
    plugin = named("aplomb.axolotl.AplombPlugin")()
    (callback,) = plugin.add_callbacks_pre_trainer(Config(), None)
    assert type(callback).__name__ == "GuardCallback"
