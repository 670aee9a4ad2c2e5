"""Logits, loss and gradients equal transformers' on the same folder."""

import json

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import models


@pytest.mark.parametrize("kind", models.KINDS)
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_logits_equal_transformers(kind, attention, tmp_path, probe, ids):
    model = models.make(kind, tmp_path / "m")
    with torch.no_grad():
        wanted = model(ids).logits
    found = probe("logits", tmp_path / "m", ids, attention=attention)["logits"]
    assert wanted.abs().max() > 1
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=0)


@pytest.mark.parametrize("kind", ["llama-gqa-tied", "qwen3", "llama-biases"])
@pytest.mark.parametrize("how", [{}, {"checkpointing": 1}, {"chunk": 7}, {"attention": "eager"}])
def test_gradients_equal_transformers(kind, how, tmp_path, probe, ids):
    model = models.make(kind, tmp_path / "m")
    logits = model(ids).logits[:, :-1]
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, 128), ids[:, 1:].reshape(-1), reduction="sum")
    loss.backward()
    found = probe("gradients", tmp_path / "m", ids, train="all", **how)
    torch.testing.assert_close(found.pop("loss"), loss.detach(), atol=0, rtol=1e-6)
    wanted = {name: each.grad for name, each in model.named_parameters()}
    assert found.keys() == wanted.keys()
    for name, gradient in wanted.items():
        torch.testing.assert_close(found[name], gradient, atol=1e-5 * gradient.abs().max().item(), rtol=1e-4, msg=name)


def test_z_loss_adds_its_part(tmp_path, probe, ids):
    model = models.make("llama2", tmp_path / "m")
    logits = model(ids).logits[:, :-1].reshape(-1, 128)
    z = logits.logsumexp(-1)
    loss = torch.nn.functional.cross_entropy(logits, ids[:, 1:].reshape(-1), reduction="sum") + 0.01 * (z * z).sum()
    loss.backward()
    found = probe("gradients", tmp_path / "m", ids, train="all", z_loss=0.01)
    torch.testing.assert_close(found["loss"], loss.detach(), atol=0, rtol=1e-6)
    torch.testing.assert_close(found["lm_head.weight"], model.lm_head.weight.grad, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_packed_documents_do_not_see_each_other(attention, tmp_path, probe, ids):
    model = models.make("mistral-window", tmp_path / "m")
    with torch.no_grad():
        wanted = torch.cat([model(part).logits for part in ids.split(12, dim=1)], dim=1)
    found = probe("logits", tmp_path / "m", ids, attention=attention, segments=12)["logits"]
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=0)


def test_bf16_is_as_near_to_fp32_as_transformers_bf16(tmp_path, probe, ids):
    model = models.make("llama3", tmp_path / "m")
    with torch.no_grad():
        exact = model(ids).logits
        theirs = model.bfloat16()(ids).logits.float()
    for base in ("float32", "bfloat16"):
        found = probe("logits", tmp_path / "m", ids, base=base, compute="bfloat16")["logits"]
        assert (found - exact).pow(2).mean() <= 1.2 * (theirs - exact).pow(2).mean()


def test_shards_are_joined(tmp_path, probe, ids):
    model = models.make("qwen2", tmp_path / "m", max_shard_size="100KB")
    assert len(list((tmp_path / "m").glob("model-*.safetensors"))) > 2
    found = probe("logits", tmp_path / "m", ids)["logits"]
    torch.testing.assert_close(found, model(ids).logits.detach(), atol=1e-4, rtol=0)


def test_a_missing_shard_is_told(tmp_path, probe):
    models.make("qwen2", tmp_path / "m", max_shard_size="100KB")
    shard = sorted((tmp_path / "m").glob("model-*.safetensors"))[1]
    shard.unlink()
    said = probe.fails(tmp_path / "m")
    assert "weights are missing" in said and shard.name in said


def test_a_torn_shard_is_told(tmp_path, probe):
    models.make("qwen2", tmp_path / "m")
    path = tmp_path / "m" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100000])
    assert "missing" in probe.fails(tmp_path / "m")


def test_shapes_that_differ_from_the_config_are_told(tmp_path, probe):
    models.make("llama2", tmp_path / "m")
    path = tmp_path / "m" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "intermediate_size": 128}))
    said = probe.fails(tmp_path / "m")
    assert "[96, 64]" in said and "[128, 64]" in said


def test_quantised_weights_are_refused(tmp_path, probe):
    models.make("llama2", tmp_path / "m")
    path = tmp_path / "m" / "model.safetensors"
    tensors = load_file(path)
    tensors["model.layers.0.mlp.up_proj.weight"] = tensors["model.layers.0.mlp.up_proj.weight"].to(torch.int8)
    save_file(tensors, path)
    assert "I8" in probe.fails(tmp_path / "m")


def test_a_saved_model_is_read_by_transformers(tmp_path, probe, ids):
    model = models.make("qwen3", tmp_path / "m")
    probe.save(tmp_path / "m", tmp_path / "again")
    again = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "again").eval()
    torch.testing.assert_close(again(ids).logits, model(ids).logits, atol=0, rtol=0)
