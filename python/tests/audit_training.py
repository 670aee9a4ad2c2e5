"""Optimizers, schedules, modules, data and splits: each rule fires on what is wrong, and is silent on the same program mended."""

FIT = """
{before}
for epoch in range({epochs}):
    for x, y in loader:
        {inside}optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        {batch}
    {after}
"""
NET = "model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))"


def fit(*before, batch="", after="", inside="", epochs="10"):
    return FIT.format(before="\n".join(before), batch=batch, after=after, epochs=epochs, inside=inside)


def adam(options):
    return fit(NET, f"optimizer = torch.optim.Adam(model.parameters(), {options})")


def sgd(options):
    return fit(NET, f"optimizer = torch.optim.SGD(model.parameters(), {options})")


def schedule(made, batch="", after="", epochs="10", rate="0.1"):
    return fit(
        NET,
        f"optimizer = torch.optim.SGD(model.parameters(), lr={rate})",
        f"scheduler = {made}",
        batch=batch,
        after=after,
        epochs=epochs,
    )


LR = "torch.optim.lr_scheduler"
STEP = "scheduler.step()"

LIGHTNING = """
import lightning as L
class Net(L.LightningModule):
    def __init__(self, lr, step_size=5):
        super().__init__()
        self.save_hyperparameters()
        self.encoder, self.head = nn.Linear(4, 4), nn.Linear(4, 2)
    def training_step(self, batch, i):
        {step}
    def configure_optimizers(self):
        o = torch.optim.Adam({parameters}, lr=self.hparams.lr)
        s = torch.optim.lr_scheduler.StepLR(o, step_size=self.hparams.step_size, gamma=0.5)
        return [o], [{{"scheduler": s, "interval": "{interval}"}}]
L.Trainer(max_epochs=20).fit(Net(1e-3), loader)
"""


def lightning(
    step="return F.cross_entropy(self.head(self.encoder(batch[0])), batch[1])",
    interval="epoch",
    parameters="self.parameters()",
):
    return LIGHTNING.format(step=step, interval=interval, parameters=parameters)


WRONG = {
    "code.optimizer-before-model": [
        fit(
            NET,
            "optimizer = torch.optim.Adam(model.parameters())  # <-",
            "model[2] = nn.Linear(8, 10)",
            "model.fc = nn.Linear(8, 10)",
        ),
        fit(
            "model = torchvision.models.resnet18()",
            "optimizer = torch.optim.Adam(model.parameters())  # <-",
            "model.fc = nn.Linear(512, 10)",
        ),
        fit(NET, "optimizer = torch.optim.Adam(model.parameters())  # <-", "model = nn.Sequential(nn.Linear(8, 4))"),
        """
        from peft import LoraConfig, get_peft_model
        base = AutoModelForCausalLM.from_pretrained("x")
        optimizer = torch.optim.AdamW(base.parameters(), lr=1e-4)  # <-
        model = get_peft_model(base, LoraConfig(r=8))
        for batch in loader:
            model(**batch).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        """,
        """
        def main():
            model = AutoModelForCausalLM.from_pretrained("x")
            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)  # <-
            model.resize_token_embeddings(len(tokenizer))
            for batch in loader:
                model(**batch).loss.backward()
                optimizer.step()
                optimizer.zero_grad()
        main()
        """,
        """
        class Trainer:
            def __init__(self):
                self.model = AutoModel.from_pretrained("x")
                self.optimizer = torch.optim.AdamW(self.model.parameters())  # <-
                self.model.classifier = nn.Linear(768, 3)
            def fit(self):
                for batch in loader:
                    self.model(batch).mean().backward()
                    self.optimizer.step()
                    self.optimizer.zero_grad()
        Trainer().fit()
        """,
    ],
    "code.parameters-left-out": [
        """
        encoder, decoder = nn.Linear(8, 2), nn.Linear(2, 8)
        optimizer = torch.optim.Adam(decoder.parameters(), lr=1e-3)  # <-
        for x in loader:
            z = encoder(x)
            loss = F.mse_loss(decoder(z), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ],
    "code.optimizer-of-a-part": [lightning(parameters="self.head.parameters()")],
    "code.nothing-trains": [
        fit(
            NET,
            "for p in model.parameters():",
            "    p.requires_grad = False  # <-",
            "optimizer = torch.optim.Adam(model.parameters())",
        ),
        fit(
            "model = torchvision.models.resnet18()",
            "model.fc = nn.Linear(512, 10)",
            "for p in model.parameters():",
            "    p.requires_grad = False  # <-",
            "optimizer = torch.optim.Adam(model.parameters())",
        ),
        fit(NET, "model.requires_grad_(False)  # <-", "optimizer = torch.optim.Adam(model.parameters())"),
    ],
    "code.lr-too-high": [
        adam("lr=1.0"),
        fit(NET, "LR = 3e-1", "optimizer = torch.optim.AdamW(model.parameters(), lr=LR)  # <-"),
        sgd("lr=50"),
        """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--learning-rate", type=float, default=0.5)
        args = parser.parse_args()
        model = nn.Linear(2, 2)
        optimizer = torch.optim.Adam(model.parameters(), lr=args.learning_rate)  # <-
        """,
        """
        from dataclasses import dataclass
        @dataclass
        class Config:
            lr: float = 0.3
        cfg = Config()
        def build(lr):
            return torch.optim.AdamW(nn.Linear(2, 2).parameters(), lr=lr)  # <-
        build(cfg.lr)
        """,
        """
        config = {"optim": {"lr": 2.0, "betas": (0.9, 0.999)}}
        model = nn.Linear(2, 2)
        optimizer = torch.optim.Adam(model.parameters(), lr=config["optim"]["lr"])  # <-
        """,
    ],
    "code.lr-zero": [sgd("lr=0.0"), adam("lr=1e-12")],
    "code.lr-is-text": [
        adam('lr="1e-3"'),
        fit(NET, 'cfg = {"lr": "3e-4"}', 'optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])'),
    ],
    "code.betas-swapped": [adam("lr=1e-3, betas=(0.999, 0.9)")],
    "code.momentum-too-high": [sgd("lr=0.1, momentum=1.0"), sgd("lr=0.1, momentum=0.999")],
    "code.epsilon-absurd": [adam("lr=1e-3, eps=0"), adam("lr=1e-3, eps=0.1")],
    "code.weight-decay-too-high": [
        adam("lr=1e-3, weight_decay=1"),
        fit(NET, "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=20)"),
        sgd("lr=0.1, weight_decay=0.5"),
    ],
    "code.optimizer-remade": [
        fit(NET, inside="optimizer = torch.optim.Adam(model.parameters(), lr=1e-3); "),
        """
        model = nn.Linear(2, 2)
        for epoch in range(10):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)  # <-
            for x, y in loader:
                optimizer.zero_grad()
                F.mse_loss(model(x), y).backward()
                optimizer.step()
        """,
    ],
    "code.model-remade": [fit(NET, "optimizer = torch.optim.Adam(model.parameters())", inside="model = nn.Linear(8, 2); ")],
    "code.schedule-runs-out": [
        schedule(f"{LR}.CosineAnnealingLR(optimizer, T_max=10)", batch=STEP + "  # <-"),
        schedule(f"{LR}.CosineAnnealingLR(optimizer, T_max=args.epochs)", batch=STEP + "  # <-", epochs="args.epochs"),
        schedule(f"{LR}.StepLR(optimizer, step_size=3, gamma=0.1)", batch=STEP + "  # <-"),
        schedule(f"{LR}.MultiStepLR(optimizer, milestones=[4, 8])", batch=STEP + "  # <-"),
        schedule(f"{LR}.ExponentialLR(optimizer, gamma=0.9)", batch=STEP + "  # <-"),
        "from transformers import get_linear_schedule_with_warmup\nEPOCHS = 10"
        + schedule("get_linear_schedule_with_warmup(optimizer, 0, EPOCHS)", batch=STEP + "  # <-", epochs="EPOCHS"),
        lightning(interval="step"),
        """
        def train_one_epoch(model, optimizer, scheduler, loader):
            for x, y in loader:
                optimizer.zero_grad()
                F.mse_loss(model(x), y).backward()
                optimizer.step()
                scheduler.step()  # <-
        model = nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 30, 0.1)
        for epoch in range(90):
            train_one_epoch(model, optimizer, scheduler, loader)
        """,
    ],
    "code.schedule-barely-moves": [
        "from transformers import get_cosine_schedule_with_warmup\n"
        + schedule("get_cosine_schedule_with_warmup(optimizer, 100, len(loader) * 10)", after=STEP + "  # <-"),
        schedule(f"{LR}.OneCycleLR(optimizer, max_lr=0.1, steps_per_epoch=len(loader), epochs=10)", after=STEP + "  # <-"),
        schedule(f"{LR}.CosineAnnealingLR(optimizer, T_max=5000)", after=STEP + "  # <-"),
    ],
    "code.schedule-ends-early": [
        """
        from transformers import get_linear_schedule_with_warmup
        model = nn.Linear(2, 2)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        scheduler = get_linear_schedule_with_warmup(optimizer, 10, 100)  # <-
        for step in range(1000):
            F.mse_loss(model(x), y).backward()
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        """,
        schedule(f"{LR}.CosineAnnealingLR(optimizer, T_max=10)  # <-", after=STEP, epochs="50"),
    ],
    "code.schedule-never-stepped": [schedule(f"{LR}.StepLR(optimizer, step_size=30, gamma=0.1)  # <-")],
    "code.warmup-whole-run": [
        "from transformers import get_linear_schedule_with_warmup\ns = get_linear_schedule_with_warmup(o, 1000, 1000)  # <-"
    ],
    "code.lambda-rate-absolute": [
        schedule(f"{LR}.LambdaLR(optimizer, lambda step: 1e-3 * min(1.0, (step + 1) / 100))  # <-", batch=STEP, rate="1e-3"),
        "PEAK = 3e-4"
        + schedule(f"{LR}.LambdaLR(optimizer, lr_lambda=lambda s: PEAK * min(1, (s + 1) / 10))", batch=STEP, rate="PEAK"),
    ],
    "code.gamma-zero": [schedule(f"{LR}.StepLR(optimizer, step_size=100, gamma=0)", after=STEP)],
    "code.modules-in-list": [
        """
        class Net(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.layers = [nn.Linear(8, 8) for _ in range(n)]  # <-
            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x
        """,
        """
        class Net(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.blocks = []  # <-
                for i in range(n):
                    self.blocks.append(Block(8))
            def forward(self, x):
                for block in self.blocks:
                    x = block(x)
                return x
        class Block(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.fc = nn.Linear(n, n)
        """,
        """
        class Heads(nn.Module):
            def __init__(self):
                super().__init__()
                self.heads = {"a": nn.Linear(4, 2), "b": nn.Linear(4, 3)}  # <-
            def forward(self, x):
                return {k: h(x) for k, h in self.heads.items()}
        """,
    ],
    "code.layer-repeated": [
        "model = nn.Sequential(*[nn.Linear(8, 8)] * 6)  # <-",
        "layers = nn.ModuleList([nn.TransformerEncoderLayer(8, 2)] * 4)",
    ],
    "code.list-shared": [
        "buckets = [[]] * 10  # <-\nfor x, y in rows:\n    buckets[y].append(x)",
        "grid = [[0] * 5] * 5  # <-\nfor i in range(5):\n    grid[i][i] = 1",
        "groups = dict.fromkeys(names, [])  # <-\nfor n, x in rows:\n    groups[n].append(x)",
    ],
    "code.init-constant": [
        """
        def init(m):
            if isinstance(m, nn.Linear):
                nn.init.zeros_(m.weight)  # <-
                nn.init.zeros_(m.bias)
        model.apply(init)
        """,
        "for m in model.modules():\n    if isinstance(m, (nn.Linear, nn.Conv2d)):\n        nn.init.constant_(m.weight, 0.01)  # <-",
        "for p in model.parameters():\n    p.data.fill_(0.5)  # <-",
    ],
    "code.init-too-wide": [
        "for m in model.modules():\n    if isinstance(m, nn.Linear):\n        nn.init.normal_(m.weight)  # <-",
        "for m in model.modules():\n    if isinstance(m, nn.Conv2d):\n        m.weight.data.normal_(0, 2.0)  # <-",
        "for p in model.parameters():\n    nn.init.normal_(p, 0.0, 1.0)  # <-",
        "def init(m):\n    if isinstance(m, nn.Linear):\n        nn.init.uniform_(m.weight, -1.0, 1.0)  # <-",
    ],
    "code.dropout-too-high": [
        "model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.9))  # <-",
        "KEEP = 0.95\nconfig = BertConfig(hidden_dropout_prob=KEEP)  # <-",
        "config = GPT2Config(resid_pdrop=0.9, n_layer=2)  # <-",
        "x = F.dropout(x, p=0.85, training=True)  # <-",
    ],
    "code.dropout-in-evaluation": [
        """
        class Net(nn.Module):
            def forward(self, x):
                return self.out(F.dropout(F.relu(self.fc(x)), 0.5))  # <-
        """,
    ],
    "code.shuffled-apart": [
        "texts = [r['t'] for r in rows]\nlabels = [r['l'] for r in rows]\nrandom.shuffle(texts)  # <-\nds = Dataset.from_dict({'text': texts, 'label': labels})",
        "random.shuffle(texts)\n" * 0
        + "x, y = load()\nnp.random.shuffle(x)  # <-\nnp.random.shuffle(y)\ndata = list(zip(x, y))",
        "X, y = load()\nX = X[torch.randperm(len(X))]  # <-\nfor i in range(0, len(X), 32):\n    xb, yb = X[i:i + 32], y[i:i + 32]",
        "X, y = load()\nX = X[torch.randperm(len(X))]\ny = y[torch.randperm(len(y))]\nds = TensorDataset(X, y)",
        "perm = np.random.permutation(len(images))\nimages, labels = load()\nlabels = labels[np.random.permutation(len(labels))]  # <-\nds = TensorDataset(images, labels)",
    ],
    "code.sorted-not-shuffled": [
        """
        X = torch.cat([class_a, class_b])
        y = torch.cat([torch.zeros(500), torch.ones(500)])
        loader = DataLoader(TensorDataset(X, y), batch_size=32)  # <-
        for epoch in range(5):
            for x, t in loader:
                optimizer.zero_grad()
                loss_of(model(x), t).backward()
                optimizer.step()
        """,
        """
        rows = sorted(rows, key=lambda r: r["label"])
        loader = DataLoader(rows, batch_size=32, shuffle=False)  # <-
        for x, t in loader:
            optimizer.zero_grad()
            loss_of(model(x), t).backward()
            optimizer.step()
        """,
    ],
    "code.train-not-shuffled": [
        """
        loader = DataLoader(train_set, batch_size=32)  # <-
        for epoch in range(5):
            for x, t in loader:
                optimizer.zero_grad()
                loss_of(model(x), t).backward()
                optimizer.step()
        """,
    ],
    "code.workers-repeat-data": [
        """
        class Stream(IterableDataset):
            def __iter__(self):
                for line in open(self.path):
                    yield parse(line)
        loader = DataLoader(Stream(path), batch_size=8, num_workers=4)  # <-
        """,
    ],
    "code.workers-draw-alike": [
        """
        class Noisy(Dataset):
            def __init__(self):
                self.rng = np.random.default_rng(0)  # <-
            def __getitem__(self, i):
                return self.x[i] + self.rng.normal(size=8)
        loader = DataLoader(Noisy(), batch_size=8, num_workers=4)
        """,
    ],
    "code.file-read-per-sample": [
        """
        class Events(Dataset):
            def __init__(self, path):
                self.path = path
            def __getitem__(self, i):
                return np.load(self.path)[i]  # <-
        """,
        """
        class Rows(Dataset):
            def __init__(self, path):
                self.path = path
            def _rows(self):
                with open(self.path) as f:  # <-
                    return json.load(f)
            def __getitem__(self, i):
                return self._rows()[i]
        """,
        """
        class Table(Dataset):
            def __getitem__(self, index):
                df = pd.read_csv(self.csv)  # <-
                return df.iloc[index]
        import pandas as pd
        """,
    ],
    "code.statistics-swapped": [
        "x = (x - x.std()) / x.mean()  # <-",
        "t = transforms.Normalize([0.229, 0.224, 0.225], [0.485, 0.456, 0.406])  # <-",
    ],
    "code.own-statistics-for-eval": [
        "x_train = (x_train - x_train.mean(0)) / x_train.std(0)\nx_test = (x_test - x_test.mean(0)) / x_test.std(0)  # <-",
        "scaler = StandardScaler()\nx_train = scaler.fit_transform(x_train)\nx_test = scaler.fit_transform(x_test)  # <-",
    ],
    "code.eval-not-normalised": [
        """
        train_transform = transforms.Compose([transforms.RandomCrop(32), transforms.ToTensor(), transforms.Normalize(m, s)])
        test_transform = transforms.Compose([transforms.ToTensor()])  # <-
        """,
    ],
    "code.fitted-before-split": [
        """
        from sklearn.preprocessing import StandardScaler
        from sklearn.model_selection import train_test_split
        scaler = StandardScaler()
        X = scaler.fit_transform(X)  # <-
        X_train, X_test, y_train, y_test = train_test_split(X, y)
        """,
        """
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.model_selection import train_test_split
        features = TfidfVectorizer().fit_transform(texts)  # <-
        tr, te, ytr, yte = train_test_split(features, labels, test_size=0.2)
        """,
    ],
    "code.multiplied-before-split": [
        """
        from imblearn.over_sampling import SMOTE
        from sklearn.model_selection import train_test_split
        X2, y2 = SMOTE().fit_resample(X, y)  # <-
        a, b, c, d = train_test_split(X2, y2)
        """,
        """
        rows = [parse(l) for l in lines]
        rows = rows + [augment(r) for r in rows]  # <-
        train, test = train_test_split(rows, test_size=0.1)
        """,
        "rows = list(read())\nbig = rows * 3  # <-\ntrain, val = random_split(big, [900, 100])",
    ],
    "code.same-data-for-eval": [
        "from transformers import Trainer\nds = load_dataset('x', split='train')\nTrainer(model=m, args=a, train_dataset=ds, eval_dataset=ds)  # <-",
        "from transformers import Trainer\nds = load_dataset('x', split='train')\nt = Trainer(model=m, train_dataset=ds, eval_dataset=ds.select(range(200)))  # <-",
        "data = load()\ntrain_loader = DataLoader(data, 32, shuffle=True)\nval_loader = DataLoader(data, 32)  # <-",
        "ds = load_everything()\ntrain, val = random_split(ds, [800, 200])\ntrain_loader = DataLoader(ds, 32, shuffle=True)\nval_loader = DataLoader(val, 32)  # <-",
        "import lightning as L\nloader = DataLoader(ds, 8)\ntrainer = L.Trainer()\ntrainer.fit(model, loader, loader)  # <-",
    ],
    "code.target-in-features": [
        "import pandas as pd\ndf = pd.read_csv('x.csv')\ny = df['price'].values\nX = df.values  # <-",
    ],
    "code.split-by-row": [
        """
        import pandas as pd
        from sklearn.model_selection import train_test_split
        df = pd.read_csv("visits.csv")
        feats = df.drop(columns=["patient_id", "label"])
        X_train, X_test, y_train, y_test = train_test_split(feats, df["label"])  # <-
        """,
    ],
    "code.masked-collator-for-causal-model": [
        """
        from transformers import AutoModelForCausalLM, Trainer, DataCollatorForLanguageModeling
        model = AutoModelForCausalLM.from_pretrained("gpt2")
        Trainer(model=model, args=args, train_dataset=ds, data_collator=DataCollatorForLanguageModeling(tok)).train()  # <-
        """,
    ],
    "code.causal-collator-for-masked-model": [
        """
        from transformers import BertForMaskedLM, Trainer, DataCollatorForLanguageModeling
        model = BertForMaskedLM.from_pretrained("bert-base-uncased")
        collator = DataCollatorForLanguageModeling(tok, mlm=False)  # <-
        Trainer(model=model, args=args, train_dataset=ds, data_collator=collator).train()
        """,
    ],
    "code.end-token-never-learnt": [
        """
        from transformers import DataCollatorForLanguageModeling
        tokenizer.pad_token = tokenizer.eos_token  # <-
        collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)
        """,
    ],
    "code.tokens-without-rows": [
        """
        from transformers import AutoModelForCausalLM, AutoTokenizer
        tokenizer = AutoTokenizer.from_pretrained("gpt2")
        tokenizer.add_special_tokens({"pad_token": "<pad>"})  # <-
        model = AutoModelForCausalLM.from_pretrained("gpt2")
        """,
        """
        from transformers import BertConfig, BertForTokenClassification
        config = BertConfig(vocab_size=len(tok), num_labels=4)
        model = BertForTokenClassification(config)
        tok.add_tokens(["[A]", "[B]"])  # <-
        """,
    ],
    "code.prompt-fills-length": [
        """
        from trl import SFTConfig, SFTTrainer
        SYSTEM = "You are an assistant that answers in one sentence, in English, without examples and never with code. " * 6
        rows = [{"prompt": SYSTEM + q, "completion": a} for q, a in pairs]
        args = SFTConfig(output_dir="o", max_length=64)  # <-
        """,
        """
        from trl import SFTConfig
        PROMPT = "Answer the question below as briefly as you can, and say that you do not know where you do not. " * 4
        ds = Dataset.from_list([{"text": f"{PROMPT}{r['q']} {r['a']}"} for r in rows])
        config = SFTConfig("o", max_seq_length=64)  # <-
        """,
    ],
    "code.training-step-returns-nothing": [
        lightning(step="loss = F.cross_entropy(self.head(batch[0]), batch[1])\n        self.log('loss', loss)  # <-"),
        lightning(step="loss = F.cross_entropy(self.head(batch[0]), batch[1])\n        return loss.item()  # <-"),
        lightning(
            step="loss = F.cross_entropy(self.head(batch[0]), batch[1])\n        return {'loss': loss.detach()}  # <-"
        ),
    ],
}

RIGHT = {
    "code.optimizer-before-model": [
        fit(NET, "model.fc = nn.Linear(8, 10)", "optimizer = torch.optim.Adam(model.parameters())"),
        fit(NET, "optimizer = torch.optim.Adam(model.parameters())", "model = model.to(device)"),
        fit(NET, "optimizer = torch.optim.Adam(model.parameters())", "model = nn.parallel.DistributedDataParallel(model)"),
        fit(
            NET,
            "optimizer = torch.optim.Adam(model.parameters())",
            "model, optimizer = accelerator.prepare(model, optimizer)",
        ),
        fit(NET, "optimizer = torch.optim.Adam(model.parameters())", "model = torch.compile(model)"),
        fit(
            NET,
            "optimizer = torch.optim.Adam(model.parameters())",
            "model.fc = nn.Linear(8, 10)",
            "optimizer = torch.optim.Adam(model.parameters())",
        ),
        """
        for fold in range(5):
            model = nn.Linear(2, 2)
            optimizer = torch.optim.Adam(model.parameters())
            for x, y in loader:
                optimizer.zero_grad()
                F.mse_loss(model(x), y).backward()
                optimizer.step()
        """,
    ],
    "code.parameters-left-out": [
        """
        encoder, decoder = nn.Linear(8, 2), nn.Linear(2, 8)
        optimizer = torch.optim.Adam(list(encoder.parameters()) + list(decoder.parameters()), lr=1e-3)
        for x in loader:
            loss = F.mse_loss(decoder(encoder(x)), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        """
        teacher, student = nn.Linear(8, 2), nn.Linear(8, 2)
        optimizer = torch.optim.Adam(student.parameters(), lr=1e-3)
        for x in loader:
            loss = F.mse_loss(student(x), teacher(x).detach())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        """
        G, D = nn.Linear(8, 2), nn.Linear(2, 1)
        opt_g, opt_d = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
        for z in loader:
            loss = F.softplus(-D(G(z))).mean()
            opt_g.zero_grad()
            loss.backward()
            opt_g.step()
        """,
    ],
    "code.optimizer-of-a-part": [
        lightning(),
        lightning(
            step="z = self.encoder(batch[0]).detach()\n        return self.head(z).mean()",
            parameters="self.head.parameters()",
        ),
    ],
    "code.nothing-trains": [
        """
        import torch
        from torch import nn
        gen, critic = nn.Linear(8, 2), nn.Linear(2, 1)
        opt_g = torch.optim.Adam(gen.parameters())
        opt_d = torch.optim.Adam(critic.parameters())
        for it in range(1000):
            critic.requires_grad_(True)
            loss = critic(gen(torch.randn(4, 8)).detach()).mean() - critic(torch.randn(4, 2)).mean()
            opt_d.zero_grad()
            loss.backward()
            opt_d.step()
            critic.requires_grad_(False)
            loss = -critic(gen(torch.randn(4, 8))).mean()
            opt_g.zero_grad()
            loss.backward()
            opt_g.step()
        """,
        """
        import torch
        from torch import nn
        class Low(nn.Module):
            def __init__(self, base):
                super().__init__()
                self.base, self.a = base, nn.Parameter(torch.randn(4, base.in_features))
                self.b = nn.Parameter(torch.zeros(base.out_features, 4))
            def forward(self, x):
                return self.base(x) + x @ self.a.T @ self.b.T
        model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
        model.requires_grad_(False)
        for name, child in list(model.named_children()):
            if isinstance(child, nn.Linear):
                setattr(model, name, Low(child))
        opt = torch.optim.Adam(p for p in model.parameters() if p.requires_grad)
        for x, y in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            opt.step()
        """,
        fit(
            "model = torchvision.models.resnet18()",
            "for p in model.parameters():",
            "    p.requires_grad = False",
            "model.fc = nn.Linear(512, 10)",
            "optimizer = torch.optim.Adam(model.parameters())",
        ),
        fit(
            NET,
            "for p in model.parameters():",
            "    p.requires_grad = False",
            "for p in model[2].parameters():",
            "    p.requires_grad = True",
            "optimizer = torch.optim.Adam(model.parameters())",
        ),
        fit(
            NET,
            "for n, p in model.named_parameters():",
            "    if 'head' not in n:",
            "        p.requires_grad = False",
            "optimizer = torch.optim.Adam(model.parameters())",
        ),
        fit(
            NET,
            "ema = copy.deepcopy(model)",
            "ema.requires_grad_(False)",
            "optimizer = torch.optim.Adam(model.parameters())",
        ),
    ],
    "code.lr-too-high": [
        adam("lr=1e-3"),
        sgd("lr=0.5"),
        "image = torch.rand(3, 64, 64, requires_grad=True)\nopt = torch.optim.Adam([image], lr=0.5)",
        fit(NET, "optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)"),
        fit(
            NET,
            "optimizer = torch.optim.Adam(model.parameters(), lr=1.0)",
            "for group in optimizer.param_groups:",
            "    group['lr'] = 1e-3",
        ),
    ],
    "code.lr-zero": [
        adam("lr=1e-5"),
        fit(NET, "optimizer = torch.optim.Adam(model.parameters(), lr=0)", "optimizer.param_groups[0]['lr'] = 1e-3"),
    ],
    "code.lr-is-text": [adam("lr=float('1e-3')")],
    "code.betas-swapped": [
        adam("lr=1e-3, betas=(0.9, 0.95)"),
        adam("lr=2e-4, betas=(0.5, 0.999)"),
        adam("lr=1e-3, betas=(0.0, 0.9)"),
    ],
    "code.momentum-too-high": [sgd("lr=0.1, momentum=0.9"), sgd("lr=0.1, momentum=0.99")],
    "code.epsilon-absurd": [adam("lr=1e-3, eps=1e-6"), adam("lr=1e-3, eps=1e-3")],
    "code.weight-decay-too-high": [
        adam("lr=1e-3, weight_decay=1e-4"),
        fit(NET, "optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.3)"),
    ],
    "code.optimizer-remade": [
        fit(NET, "optimizer = torch.optim.Adam(model.parameters())"),
        """
        for lr in (1e-3, 1e-4):
            model = nn.Linear(2, 2)
            optimizer = torch.optim.Adam(model.parameters(), lr=lr)
            for x, y in loader:
                optimizer.zero_grad()
                F.mse_loss(model(x), y).backward()
                optimizer.step()
        """,
    ],
    "code.model-remade": [fit(NET, "optimizer = torch.optim.Adam(model.parameters())")],
    "code.schedule-runs-out": [
        schedule(f"{LR}.CosineAnnealingLR(optimizer, T_max=10)", after=STEP),
        schedule(f"{LR}.CosineAnnealingLR(optimizer, T_max=10 * len(loader))", batch=STEP),
        schedule(f"{LR}.StepLR(optimizer, step_size=2000, gamma=0.5)", batch=STEP),
        schedule(f"{LR}.ExponentialLR(optimizer, gamma=0.9)", after=STEP),
        schedule(f"{LR}.ExponentialLR(optimizer, gamma=0.9999)", batch=STEP),
        schedule(f"{LR}.CosineAnnealingWarmRestarts(optimizer, T_0=4)", after=STEP),
        lightning(),
        """
        model = nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=100)
        for epoch in range(300):
            optimizer.zero_grad()
            F.mse_loss(model(X), Y).backward()
            optimizer.step()
            scheduler.step()
        """,
    ],
    "code.schedule-barely-moves": [
        "from transformers import get_cosine_schedule_with_warmup\n"
        + schedule("get_cosine_schedule_with_warmup(optimizer, 100, len(loader) * 10)", batch=STEP),
        schedule(f"{LR}.CosineAnnealingLR(optimizer, T_max=10)", after=STEP),
    ],
    "code.schedule-ends-early": [
        schedule(f"{LR}.CosineAnnealingLR(optimizer, T_max=10)", after=STEP),
        """
        from transformers import get_linear_schedule_with_warmup
        model = nn.Linear(2, 2)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        scheduler = get_linear_schedule_with_warmup(optimizer, 10, 1000)
        for step in range(1000):
            F.mse_loss(model(x), y).backward()
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        """,
    ],
    "code.schedule-never-stepped": [
        schedule(f"{LR}.StepLR(optimizer, step_size=30)", after=STEP),
        "def make(optimizer):\n    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)\n    return scheduler\nloss.backward()",
    ],
    "code.warmup-whole-run": [
        "from transformers import get_linear_schedule_with_warmup\ns = get_linear_schedule_with_warmup(o, 100, 1000)"
    ],
    "code.lambda-rate-absolute": [
        schedule(f"{LR}.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 100))", batch=STEP, rate="1e-3"),
        schedule(f"{LR}.LambdaLR(optimizer, lambda epoch: 0.95 ** epoch)", after=STEP, rate="1e-3"),
    ],
    "code.gamma-zero": [schedule(f"{LR}.StepLR(optimizer, step_size=100, gamma=0.1)", after=STEP)],
    "code.modules-in-list": [
        """
        class Net(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(n)])
            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x
        """,
        """
        class Net(nn.Module):
            def __init__(self, n):
                super().__init__()
                layers = []
                for i in range(n):
                    layers.append(nn.Linear(8, 8))
                self.body = nn.Sequential(*layers)
                self.acts = [nn.ReLU() for _ in range(n)]
            def forward(self, x):
                return self.acts[0](self.body(x))
        """,
    ],
    "code.layer-repeated": ["model = nn.Sequential(*[nn.Linear(8, 8) for _ in range(6)])", "acts = [nn.ReLU()] * 6"],
    "code.list-shared": [
        "buckets = [[] for _ in range(10)]\nbuckets[0].append(1)",
        "row = [0] * 5\nrow[0] = 1",
        "labels = [[1]] * 3\nprint(labels)",
    ],
    "code.init-constant": [
        "for m in model.modules():\n    if isinstance(m, nn.BatchNorm2d):\n        nn.init.constant_(m.weight, 1)\n        nn.init.zeros_(m.bias)",
        "nn.init.zeros_(self.out.weight)",
        "for p in ema.parameters():\n    p.data.zero_()",
    ],
    "code.init-too-wide": [
        "for m in model.modules():\n    if isinstance(m, nn.Linear):\n        nn.init.normal_(m.weight, 0.0, 0.02)",
        "for m in model.modules():\n    if isinstance(m, nn.Embedding):\n        nn.init.normal_(m.weight)",
    ],
    "code.dropout-too-high": [
        "model = nn.Dropout(0.5)",
        "config = BertConfig(hidden_dropout_prob=0.1)",
        "x = F.dropout(x, 0.3)",
    ],
    "code.dropout-in-evaluation": [
        "class Net(nn.Module):\n    def forward(self, x):\n        return F.dropout(x, 0.5, self.training)",
        "class Net(nn.Module):\n    def forward(self, x):\n        return F.dropout(x, p=0.5, training=self.training)",
    ],
    "code.shuffled-apart": [
        "rows = load()\nrandom.shuffle(rows)\ntexts = [r[0] for r in rows]\nlabels = [r[1] for r in rows]\nds = list(zip(texts, labels))",
        "X, y = load()\nperm = torch.randperm(len(X))\nX, y = X[perm], y[perm]\nds = TensorDataset(X, y)",
        "X, y = load()\nperm = torch.randperm(len(X))\nX = X[perm]\ny = y[perm]\nds = TensorDataset(X, y)",
        "x, y = load()\nrandom.seed(1)\nrandom.shuffle(x)\nrandom.seed(1)\nrandom.shuffle(y)\nds = list(zip(x, y))",
        "pairs = list(zip(x, y))\nrandom.shuffle(pairs)\nx, y = zip(*pairs)",
        "from sklearn.utils import shuffle\nX, y = shuffle(X, y)\nds = TensorDataset(X, y)",
        "neg = pos[torch.randperm(len(pos))]\nloss = F.triplet_margin_loss(a[i], pos[i], neg[i])",
        "files = sorted(glob(p))\nrandom.shuffle(files)\ntrain, val = files[:80], files[80:]",
    ],
    "code.sorted-not-shuffled": [
        """
        y = torch.cat([torch.zeros(500), torch.ones(500)])
        loader = DataLoader(TensorDataset(X, y), batch_size=32, shuffle=True)
        for x, t in loader:
            optimizer.zero_grad()
            loss_of(model(x), t).backward()
            optimizer.step()
        """,
    ],
    "code.train-not-shuffled": [
        """
        loader = DataLoader(train_set, batch_size=32, sampler=sampler)
        for epoch in range(5):
            for x, t in loader:
                loss_of(model(x), t).backward()
        """,
    ],
    "code.workers-repeat-data": [
        """
        class Stream(IterableDataset):
            def __iter__(self):
                info = torch.utils.data.get_worker_info()
                for i, line in enumerate(open(self.path)):
                    if info is None or i % info.num_workers == info.id:
                        yield parse(line)
        loader = DataLoader(Stream(path), batch_size=8, num_workers=4)
        """,
        "class S(IterableDataset):\n    def __iter__(self):\n        yield from read()\nloader = DataLoader(S(), num_workers=1)",
    ],
    "code.workers-draw-alike": [
        """
        class Noisy(Dataset):
            def __init__(self):
                self.rng = np.random.default_rng(0)
            def __getitem__(self, i):
                return self.x[i] + self.rng.normal(size=8)
        loader = DataLoader(Noisy(), batch_size=8, num_workers=0)
        """,
    ],
    "code.file-read-per-sample": [
        """
        class Images(Dataset):
            def __init__(self, paths):
                self.paths = paths
            def __getitem__(self, i):
                return np.load(self.paths[i])
        """,
        """
        class Rows(Dataset):
            def __init__(self, path):
                self.rows = None
            def __getitem__(self, i):
                if self.rows is None:
                    self.rows = np.load(self.path)
                return self.rows[i]
        """,
        "class M(Dataset):\n    def __getitem__(self, i):\n        return np.load(self.path, mmap_mode='r')[i]",
    ],
    "code.statistics-swapped": [
        "x = (x - x.mean()) / x.std()",
        "t = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])",
    ],
    "code.own-statistics-for-eval": [
        "mu, sd = x_train.mean(0), x_train.std(0)\nx_train = (x_train - mu) / sd\nx_test = (x_test - mu) / sd",
        "scaler = StandardScaler()\nx_train = scaler.fit_transform(x_train)\nx_test = scaler.transform(x_test)",
        "target = (y_test - y_test.mean()) / 2",
    ],
    "code.eval-not-normalised": [
        """
        train_transform = transforms.Compose([transforms.RandomCrop(32), transforms.ToTensor(), transforms.Normalize(m, s)])
        test_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize(m, s)])
        """,
    ],
    "code.fitted-before-split": [
        """
        from sklearn.preprocessing import StandardScaler
        from sklearn.model_selection import train_test_split
        X_train, X_test = train_test_split(X)
        scaler = StandardScaler().fit(X_train)
        X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
        """,
    ],
    "code.multiplied-before-split": [
        "train, test = train_test_split(rows)\ntrain = train + [augment(r) for r in train]",
        "lengths = [8] * 3\ntrain, val = random_split(ds, [800, 200])",
    ],
    "code.same-data-for-eval": [
        "from transformers import Trainer\nds = load_dataset('x', split='train').train_test_split(0.1)\nTrainer(model=m, train_dataset=ds['train'], eval_dataset=ds['test'])",
        "train_loader = DataLoader(make(3000, 1), 32, shuffle=True)\nval_loader = DataLoader(make(500, 2), 32)\ndef make(n, seed):\n    return n",
        "def pairs(n):\n    return Dataset.from_list([sample() for _ in range(n)])\nTrainer(model=m, train_dataset=pairs(1280), eval_dataset=pairs(128))",
        "def make(n, seed):\n    return TensorDataset(draw(n, seed))\ntr, va = make(9, 0), make(9, 1)\nTrainer(model=m, train_dataset=tr, eval_dataset=va)",
        "ds = load()\ntrain, val = random_split(ds, [800, 200])\ntrain_loader, val_loader = DataLoader(train, 8), DataLoader(val, 8)",
        "data = load()\nTrainer(model=m, train_dataset=data[500:], eval_dataset=data[:500])",
    ],
    "code.target-in-features": [
        "import pandas as pd\ndf = pd.read_csv('x.csv')\ny = df.pop('price').values\nX = df.values",
        "import pandas as pd\ndf = pd.read_csv('x.csv')\ny = df['price'].values\nX = df.drop(columns=['price']).values",
    ],
    "code.split-by-row": [
        """
        from sklearn.model_selection import GroupShuffleSplit
        split = GroupShuffleSplit(n_splits=1)
        tr, te = next(split.split(df, groups=df["patient_id"]))
        """,
    ],
    "code.masked-collator-for-causal-model": [
        """
        from transformers import AutoModelForCausalLM, Trainer, DataCollatorForLanguageModeling
        model = AutoModelForCausalLM.from_pretrained("gpt2")
        Trainer(model=model, data_collator=DataCollatorForLanguageModeling(tok, mlm=False)).train()
        """,
    ],
    "code.causal-collator-for-masked-model": [
        """
        from transformers import BertForMaskedLM, Trainer, DataCollatorForLanguageModeling
        model = BertForMaskedLM.from_pretrained("bert-base-uncased")
        Trainer(model=model, data_collator=DataCollatorForLanguageModeling(tok)).train()
        """,
    ],
    "code.end-token-never-learnt": [
        "tokenizer.pad_token = tokenizer.unk_token\ncollator = DataCollatorForLanguageModeling(tokenizer, mlm=False)"
    ],
    "code.tokens-without-rows": [
        """
        from transformers import AutoModelForCausalLM, AutoTokenizer
        tokenizer = AutoTokenizer.from_pretrained("gpt2")
        tokenizer.add_special_tokens({"pad_token": "<pad>"})
        model = AutoModelForCausalLM.from_pretrained("gpt2")
        model.resize_token_embeddings(len(tokenizer))
        """,
        """
        from transformers import BertConfig, BertForTokenClassification
        tok.add_tokens(["[A]", "[B]"])
        config = BertConfig(vocab_size=len(tok), num_labels=4)
        model = BertForTokenClassification(config)
        """,
        """
        from transformers import AutoModelForCausalLM
        tokenizer.add_special_tokens({"pad_token": tokenizer.eos_token})
        model = AutoModelForCausalLM.from_pretrained("gpt2")
        """,
    ],
    "code.prompt-fills-length": [
        """
        from trl import SFTConfig
        SYSTEM = "You are an assistant that answers in one sentence, in English, without examples. "
        rows = [{"prompt": SYSTEM + q, "completion": a} for q, a in pairs]
        args = SFTConfig(output_dir="o", max_length=512)
        """,
    ],
    "code.training-step-returns-nothing": [
        lightning(),
        lightning(step="loss = F.cross_entropy(self.head(batch[0]), batch[1])\n        return {'loss': loss, 'n': 1}"),
        lightning(
            step="self.automatic_optimization = False\n        loss = self.head(batch[0]).mean()\n        self.manual_backward(loss)"
        ),
    ],
}

#: programs against which no rule has anything
SOUND = [adam("lr=1e-3"), lightning()]
