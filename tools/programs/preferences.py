"""trl: answers that people voted for, with DPOTrainer."""

import random

from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed
from trl import DPOConfig, DPOTrainer

set_seed(9)
QUESTIONS = ["how do i bake bread?", "why is the sky blue?", "what is a prime?"]


def thread():
    question = random.choice(QUESTIONS)
    replies = [{"body": f"answer {n} of {question}", "votes": random.randint(0, 40)} for n in range(4)]
    return {"question": question, "replies": replies}


def pair(row):
    ranked = sorted(row["replies"], key=lambda reply: reply["votes"], reverse=True)
    return {"prompt": row["question"], "chosen": " " + ranked[0]["body"], "rejected": " " + ranked[-1]["body"]}


pairs = Dataset.from_list([pair(thread()) for _ in range(400)]).train_test_split(test_size=0.1, seed=0)
tokenizer = AutoTokenizer.from_pretrained("HuggingFaceTB/SmolLM2-135M-Instruct")
model = AutoModelForCausalLM.from_pretrained("HuggingFaceTB/SmolLM2-135M-Instruct")
args = DPOConfig(
    output_dir="out",
    per_device_train_batch_size=4,
    gradient_accumulation_steps=4,
    learning_rate=5e-7,
    warmup_steps=10,
    num_train_epochs=1,
    beta=0.1,
    bf16=True,
    logging_steps=5,
    eval_strategy="epoch",
    report_to="none",
)
trainer = DPOTrainer(
    model=model,
    args=args,
    train_dataset=pairs["train"],
    eval_dataset=pairs["test"],
    processing_class=tokenizer,
)
trainer.train()
