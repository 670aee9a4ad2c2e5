"""transformers: a tag for each word of a sentence, with Trainer."""

import random

import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForTokenClassification, Trainer, TrainingArguments, set_seed

set_seed(5)
TAGS = ["O", "COLOUR", "FRUIT"]
COLOURS, FRUITS, OTHERS = ["red", "green", "blue"], ["apple", "pear", "plum"], ["the", "a", "on", "table", "lies"]
VOCAB = {word: i for i, word in enumerate(["[PAD]", "[CLS]", "[SEP]", *COLOURS, *FRUITS, *OTHERS])}
LENGTH = 20


def sentence():
    words, tags = [], []
    for _ in range(random.randint(5, 15)):
        kind = random.randrange(3)
        words.append(random.choice((OTHERS, COLOURS, FRUITS)[kind]))
        tags.append(kind)
    return words, tags


class Sentences(Dataset):
    def __init__(self, count):
        self.rows = [sentence() for _ in range(count)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        words, tags = self.rows[index]
        ids = [VOCAB["[CLS]"]] + [VOCAB[word] for word in words] + [VOCAB["[SEP]"]]
        labels = [-100] + tags + [-100]
        rest = LENGTH - len(ids)
        return {
            "input_ids": torch.tensor(ids + [VOCAB["[PAD]"]] * rest),
            "attention_mask": torch.tensor([1] * len(ids) + [0] * rest),
            "labels": torch.tensor(labels + [-100] * rest),
        }


def compute_metrics(result):
    guess = np.argmax(result.predictions, axis=-1)
    keep = result.label_ids != -100
    return {"accuracy": float((guess == result.label_ids)[keep].mean())}


config = BertConfig(
    vocab_size=len(VOCAB),
    hidden_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=128,
    max_position_embeddings=LENGTH,
    num_labels=len(TAGS),
)
args = TrainingArguments(
    output_dir="out",
    num_train_epochs=3,
    per_device_train_batch_size=32,
    learning_rate=1e-3,
    warmup_steps=20,
    eval_strategy="epoch",
    save_strategy="epoch",
    load_best_model_at_end=True,
    metric_for_best_model="accuracy",
    greater_is_better=True,
    logging_steps=10,
    report_to="none",
)
trainer = Trainer(
    model=BertForTokenClassification(config),
    args=args,
    train_dataset=Sentences(2000),
    eval_dataset=Sentences(200),
    compute_metrics=compute_metrics,
)
trainer.train()
