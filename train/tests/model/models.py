"""Small random models of every kind, made by transformers."""

import torch
import transformers

SIZES = dict(vocab_size=128, hidden_size=64, intermediate_size=96, num_hidden_layers=4, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=256)


def rope(kind, **more):
    return dict(rope_parameters=dict(rope_type=kind, rope_theta=10000.0, **more))


KINDS = {
    "llama2": ("Llama", dict(num_key_value_heads=4)),
    "llama-gqa-tied": ("Llama", dict(tie_word_embeddings=True)),
    "llama-biases": ("Llama", dict(attention_bias=True, mlp_bias=True)),
    "llama-head-dim": ("Llama", dict(head_dim=32)),
    "llama-linear": ("Llama", rope("linear", factor=4.0)),
    "llama-dynamic": ("Llama", dict(max_position_embeddings=32, **rope("dynamic", factor=2.0))),
    "llama3": ("Llama", rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                             original_max_position_embeddings=64)),
    "llama-yarn": ("Llama", rope("yarn", factor=4.0, original_max_position_embeddings=64)),
    "mistral": ("Mistral", dict(sliding_window=None)),
    "mistral-window": ("Mistral", dict(sliding_window=16)),
    "qwen2": ("Qwen2", {}),
    "qwen2-window": ("Qwen2", dict(use_sliding_window=True, sliding_window=16, max_window_layers=2)),
    "qwen3": ("Qwen3", dict(head_dim=32)),
    "smollm3": ("SmolLM3", dict(pad_token_id=0, bos_token_id=1, eos_token_id=2)),
}


def make(kind, folder, seed=0, **more):
    """A model whose weights are far from their initial values (biases and norms as well), saved to `folder`."""
    name, options = KINDS[kind]
    config = getattr(transformers, f"{name}Config")(**{**SIZES, **options})
    torch.manual_seed(seed)
    model = getattr(transformers, f"{name}ForCausalLM")(config).float()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    model.save_pretrained(folder, **more)
    return model.eval()
