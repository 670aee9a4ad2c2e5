"""Adapters go to and fro between PEFT and the trainer."""

import peft
import pytest
import torch

import models

TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def make_adapter(folder, kind, **options):
    """A PEFT folder whose adapter changes something; the wrapped model."""
    model = models.make(kind, folder / "m")
    wrapped = peft.get_peft_model(model, peft.LoraConfig(**{**dict(r=4, lora_alpha=8, target_modules=TARGETS,
                                                                   task_type="CAUSAL_LM"), **options}))
    torch.manual_seed(3)
    with torch.no_grad():
        for name, each in wrapped.named_parameters():
            if "lora_" in name:
                each.add_(torch.randn_like(each) * 0.1)
    wrapped.save_pretrained(folder / "a")
    return wrapped


KINDS = [dict(), dict(use_dora=True), dict(target_modules=["q_proj", "v_proj"]), dict(use_rslora=True),
         dict(use_dora=True, target_modules=["k_proj", "up_proj"])]


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_a_peft_folder_gives_equal_logits(options, tmp_path, probe, ids):
    wrapped = make_adapter(tmp_path, "llama-biases", **options).eval()
    with torch.no_grad():
        wanted = wrapped(ids).logits
        with wrapped.disable_adapter():
            assert (wrapped(ids).logits - wanted).abs().max() > 0.1
    for more in ({}, {"merge": 1}):
        found = probe("logits", tmp_path / "m", ids, adapter=tmp_path / "a", **more)["logits"]
        torch.testing.assert_close(found, wanted, atol=2e-4, rtol=0)


@pytest.mark.parametrize("options", KINDS, ids=str)
@pytest.mark.parametrize("how", [{}, {"checkpointing": 1}], ids=str)
def test_gradients_equal_peft(options, how, tmp_path, probe, ids):
    wrapped = make_adapter(tmp_path, "qwen2", **options).train()
    logits = wrapped(ids).logits[:, :-1]
    torch.nn.functional.cross_entropy(logits.reshape(-1, 128), ids[:, 1:].reshape(-1), reduction="sum").backward()
    found = probe("gradients", tmp_path / "m", ids, adapter=tmp_path / "a", **how)
    wanted = {}
    for name, each in wrapped.named_parameters():
        if each.requires_grad:
            name = name.removeprefix("base_model.model.").replace(".default", "").removesuffix(".weight")
            wanted[name.replace("magnitude_vector", "magnitude")] = each.grad
    assert found.keys() - {"loss"} == wanted.keys()
    for name, gradient in wanted.items():
        torch.testing.assert_close(found[name], gradient, atol=2e-5 * gradient.abs().max().item(), rtol=1e-3, msg=name)


@pytest.mark.parametrize("kind", ["lora", "dora"])
def test_a_saved_adapter_is_read_by_peft(kind, tmp_path, probe, ids):
    model = models.make("llama-gqa-tied", tmp_path / "m")
    probe.save(tmp_path / "m", tmp_path / "ours", **{kind: 4})
    ours = peft.PeftModel.from_pretrained(model, tmp_path / "ours").eval()
    assert ours.peft_config["default"].use_dora == (kind == "dora")
    with torch.no_grad():  # a fresh adapter changes nothing
        with ours.disable_adapter():
            plain = ours(ids).logits
        torch.testing.assert_close(ours(ids).logits, plain, atol=1e-5, rtol=0)


@pytest.mark.parametrize("options", [dict(), dict(use_dora=True)], ids=str)
def test_an_adapter_comes_back_as_it_was(options, tmp_path, probe, ids):
    wrapped = make_adapter(tmp_path, "qwen3", **options).eval()
    probe.save(tmp_path / "m", tmp_path / "ours", adapter=tmp_path / "a")
    with torch.no_grad():
        wanted = wrapped(ids).logits
    again = peft.PeftModel.from_pretrained(models.make("qwen3", tmp_path / "m"), tmp_path / "ours").eval()
    torch.testing.assert_close(again(ids).logits, wanted, atol=0, rtol=0)


def test_what_is_not_built_is_named(tmp_path, probe):
    make_adapter(tmp_path, "llama2", modules_to_save=["lm_head"])
    assert "modules_to_save" in probe.fails(tmp_path / "m", adapter=tmp_path / "a")


def test_an_adapter_of_another_model_is_refused(tmp_path, probe):
    make_adapter(tmp_path, "llama-head-dim")
    models.make("llama2", tmp_path / "m")
    assert "another model" in probe.fails(tmp_path / "m", adapter=tmp_path / "a")
