"""The order of a step, modes and graphs: each rule fires on what is wrong, and is silent on the same program mended."""

LOOP = """
model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
for epoch in range(3):
    for i, (x, y) in enumerate(loader):
        {}
"""


def loop(*lines):
    return LOOP.format("\n        ".join(lines))


ZERO, LOSS, BACK, STEP = "optimizer.zero_grad()", "loss = criterion(model(x), y)", "loss.backward()", "optimizer.step()"
CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"

#: rule -> programs that are wrong
WRONG = {
    "code.no-zero-grad": [
        loop(LOSS, BACK, STEP + "  # <-"),
        loop("loss = F.cross_entropy(model(x), y)", "loss.backward()", CLIP, STEP),
        """
        def train_one_epoch(net, opt, data):
            for x, y in data:
                loss = F.mse_loss(net(x), y)
                loss.backward()
                opt.step()  # <-

        net = nn.Linear(4, 4)
        opt = torch.optim.Adam(net.parameters())
        for epoch in range(10):
            train_one_epoch(net, opt, loader)
        """,
        """
        class Trainer:
            def __init__(self, model):
                self.model = model
                self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
            def fit(self, loader):
                for batch in loader:
                    loss = self.model(**batch).loss
                    loss.backward()
                    self.optimizer.step()  # <-
        """,
        """
        encoder, head = nn.GRU(3, 8), nn.Linear(8, 2)
        opt_e = torch.optim.SGD(encoder.parameters(), lr=0.1)
        opt_h = torch.optim.SGD(head.parameters(), lr=0.1)
        for x, y in loader:
            loss = F.cross_entropy(head(encoder(x)[0]), y)
            opt_h.zero_grad()
            loss.backward()
            opt_h.step()
            opt_e.step()  # <-
        """,
        """
        for x, y in loader:
            scaler.scale(criterion(model(x), y)).backward()
            scaler.step(optimizer)  # <-
            scaler.update()
        """,
        """
        from accelerate import Accelerator
        accelerator = Accelerator()
        model, optimizer, loader = accelerator.prepare(nn.Linear(2, 2), torch.optim.AdamW(net.parameters()), loader)
        for batch in loader:
            loss = model(batch).mean()
            accelerator.backward(loss)
            optimizer.step()  # <-
        """,
    ],
    "code.zero-grad-outside-loop": [
        """
        model = nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(3):
            optimizer.zero_grad()
            for x, y in loader:
                loss = F.mse_loss(model(x), y)
                loss.backward()
                optimizer.step()  # <-
        """,
        """
        model = nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        optimizer.zero_grad()
        for step in range(1000):
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()  # <-
        """,
    ],
    "code.step-on-cleared-gradients": [
        loop(LOSS, BACK, ZERO, STEP + "  # <-"),
        loop(ZERO, LOSS, STEP + "  # <-", BACK),
        loop(LOSS, STEP + "  # <-", BACK, ZERO),
        """
        for x, y in loader:
            loss = loss_of(model(x), y)
            accelerator.backward(loss)
            optimizer.zero_grad()
            optimizer.step()  # <-
        """,
    ],
    "code.clip-after-step": [
        loop(ZERO, LOSS, BACK, STEP, CLIP + "  # <-"),
        loop(LOSS, BACK, STEP, ZERO, CLIP + "  # <-"),
        loop(ZERO, LOSS, BACK, STEP, "norm = nn.utils.clip_grad_value_(model.parameters(), 0.5)  # <-"),
        """
        def step(loss):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # <-

        for x, y in loader:
            step(criterion(model(x), y))
        """,
    ],
    "code.clip-before-unscale": [
        """
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(loss_of(model(x), y)).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # <-
            scaler.step(optimizer)
            scaler.update()
        """,
    ],
    "code.accumulation-cleared": [
        loop(ZERO, "loss = criterion(model(x), y) / 4", BACK, "if (i + 1) % 4 == 0:", "    optimizer.step()"),
        loop(
            "loss = criterion(model(x), y) / accum",
            BACK,
            "if (i + 1) % accum == 0:",
            "    optimizer.step()",
            ZERO + "  # <-",
        ),
    ],
    "code.accumulation-summed": [
        loop(LOSS, BACK + "  # <-", "if (i + 1) % 8 == 0:", "    optimizer.step()", "    optimizer.zero_grad()"),
        loop(LOSS, BACK, "if (i + 1) % accum_steps != 0:", "    continue", STEP, ZERO),
        """
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(100):
            optimizer.zero_grad()
            for micro in range(accumulation_steps):
                x, y = next(batches)
                loss = F.cross_entropy(model(x), y)
                loss.backward()  # <-
            optimizer.step()
        """,
    ],
    "code.scaled-gradients-stepped": [
        """
        scaler = torch.amp.GradScaler("cuda")
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(loss_of(model(x), y)).backward()
            optimizer.step()  # <-
            scaler.update()
        """,
    ],
    "code.scaler-never-updated": [
        """
        scaler = torch.amp.GradScaler("cuda")
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(loss_of(model(x), y)).backward()
            scaler.step(optimizer)  # <-
        """,
    ],
    "code.step-missing": [
        """
        model = nn.Linear(2, 2)
        optimizer = torch.optim.Adam(model.parameters())
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()  # <-
        """,
        """
        model = nn.Linear(2, 2)
        optimizer = torch.optim.Adam(model.parameters())
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()  # <-
            scheduler.step()
        """,
    ],
    "code.scheduler-first": [loop(ZERO, LOSS, BACK, "scheduler.step()  # <-", STEP)],
    "code.graph-retained": [loop(ZERO, LOSS, "loss.backward(retain_graph=True)  # <-", STEP)],
    "code.train-mode-missing": [
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
            def forward(self, x):
                return self.body(x)

        def evaluate(net, loader):
            net.eval()  # <-
            with torch.no_grad():
                return sum((net(x).argmax(1) == y).sum().item() for x, y in loader)

        net = Net()
        opt = torch.optim.Adam(net.parameters())
        for epoch in range(3):
            for x, y in train_loader:
                opt.zero_grad()
                F.cross_entropy(net(x), y).backward()
                opt.step()
            print(evaluate(net, test_loader))
        """,
        """
        model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 2))
        optimizer = torch.optim.Adam(model.parameters())
        model.train()
        for step, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            if step % 100 == 0:
                model.eval()  # <-
                with torch.no_grad():
                    print(F.cross_entropy(model(x_val), y_val).item())
        """,
        """
        model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 2))
        optimizer = torch.optim.Adam(model.parameters())
        model.eval()  # <-
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        """,
    ],
    "code.evaluated-in-train-mode": [
        """
        net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.Flatten(), nn.Linear(8, 2))
        opt = torch.optim.SGD(net.parameters(), 0.1)
        def validate():
            correct = 0
            with torch.no_grad():
                for x, y in val_loader:
                    correct += (net(x).argmax(1) == y).sum().item()  # <-
            return correct
        for epoch in range(5):
            net.train()
            for x, y in train_loader:
                opt.zero_grad()
                F.cross_entropy(net(x), y).backward()
                opt.step()
            validate()
        """,
        """
        model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 2))
        optimizer = torch.optim.Adam(model.parameters())
        for epoch in range(5):
            for x, y in loader:
                optimizer.zero_grad()
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
            with torch.no_grad():
                for x, y in test_loader:
                    print(F.cross_entropy(model(x), y).item())  # <-
        """,
    ],
    "code.trains-without-grad": [
        """
        model = nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in loader:
            with torch.no_grad():
                out = model(x)  # <-
            loss = F.mse_loss(out, y)
            loss.requires_grad_()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ],
    "code.eval-keeps-graph": [
        """
        def validate(model, loader):
            model.eval()
            losses = []
            for x, y in loader:
                losses.append(F.cross_entropy(model(x), y))  # <-
            return torch.stack(losses).mean()
        """,
        """
        class Meter:
            def __init__(self):
                self.values = []
            def add(self, value):
                self.values.append(value)

        meter = Meter()
        def validate(net, data):
            net.eval()
            for x, y in data:
                z = net(x)  # <-
                meter.add(F.binary_cross_entropy_with_logits(z, y))
            net.train()
        """,
        """
        for epoch in range(3):
            model.train()
            for x, y in loader:
                optimizer.zero_grad()
                loss_of(model(x), y).backward()
                optimizer.step()
            model.eval()
            for x, y in held_out:
                total += F.cross_entropy(model(x), y)  # <-
        """,
    ],
    "code.eval-with-graph": [
        """
        model.eval()
        for x, y in loader:
            hits += (model(x).argmax(1) == y).sum().item()  # <-
        """,
    ],
    "code.predictions-kept": [
        """
        device = torch.device("cuda")
        def evaluate(model, loader):
            model.eval()
            everything = []
            with torch.no_grad():
                for batch in loader:
                    logits = model(batch.to(device))
                    everything.append(logits)  # <-
            return torch.cat(everything)
        """,
    ],
    "code.loss-keeps-graph": [
        loop(ZERO, LOSS, BACK, STEP, "total += loss  # <-"),
        loop(ZERO, LOSS, BACK, STEP, "history.append(loss)  # <-"),
        loop(ZERO, LOSS, BACK, STEP, "running = running + loss * x.size(0)  # <-"),
        loop(ZERO, "out = model(x)", "loss = criterion(out, y)", BACK, STEP, "outputs.append(out)  # <-"),
        """
        for batch in loader:
            out = model(**batch)
            out.loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            epoch_loss += out.loss  # <-
        """,
    ],
}

#: rule -> programs that look like it and are right
RIGHT = {
    "code.no-zero-grad": [
        loop(ZERO, LOSS, BACK, STEP),
        loop(LOSS, BACK, STEP, "model.zero_grad()"),
        loop(LOSS, BACK, STEP, "for p in model.parameters():", "    p.grad = None"),
        loop(LOSS, BACK, STEP, "helpers.finish_step(optimizer)"),
        loop(
            "def closure():",
            "    optimizer.zero_grad()",
            "    loss = criterion(model(x), y)",
            "    loss.backward()",
            "    return loss",
            "optimizer.step(closure)",
        ),
    ],
    "code.zero-grad-outside-loop": [
        """
        for epoch in range(3):
            optimizer.zero_grad()
            for x, y in loader:
                (loss_of(model(x), y) / len(loader)).backward()
            optimizer.step()
        """,
    ],
    "code.step-on-cleared-gradients": [
        loop(STEP, ZERO, LOSS, BACK),
        loop(LOSS, BACK, "if i % 4 == 0:", "    optimizer.step()", "    optimizer.zero_grad()"),
        """
        for real in loader:
            opt_d.zero_grad()
            loss_d = criterion(D(real), ones) + criterion(D(G(noise).detach()), zeros)
            loss_d.backward()
            opt_d.step()
            opt_g.zero_grad()
            criterion(D(G(noise)), ones).backward()
            opt_g.step()
        """,
    ],
    "code.clip-after-step": [
        loop(ZERO, LOSS, BACK, CLIP, STEP),
        loop(STEP, ZERO, LOSS, BACK, CLIP),
        loop(ZERO, LOSS, BACK, CLIP, STEP, "norm = " + CLIP),
        loop(LOSS, BACK, "if (i + 1) % 4 == 0:", "    " + CLIP, "    optimizer.step()", "    optimizer.zero_grad()"),
    ],
    "code.clip-before-unscale": [
        """
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(loss_of(model(x), y)).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        """,
    ],
    "code.accumulation-cleared": [
        loop(
            "loss = criterion(model(x), y) / 4",
            BACK,
            "if (i + 1) % 4 == 0:",
            "    optimizer.step()",
            "    optimizer.zero_grad()",
        ),
        loop(
            "if i % 4 == 0:",
            "    optimizer.zero_grad()",
            "loss = criterion(model(x), y) / 4",
            BACK,
            "if (i + 1) % 4 == 0:",
            "    optimizer.step()",
        ),
        loop(ZERO, LOSS, BACK, STEP, "if i % 4 == 0:", "    print(i)"),
    ],
    "code.accumulation-summed": [
        loop(
            "loss = criterion(model(x), y) / 8",
            BACK,
            "if (i + 1) % 8 == 0:",
            "    optimizer.step()",
            "    optimizer.zero_grad()",
        ),
        loop(LOSS, "(loss / n).backward()", "if (i + 1) % n == 0:", "    optimizer.step()", "    optimizer.zero_grad()"),
        loop(LOSS, "loss /= n", BACK, "if (i + 1) % n == 0:", "    optimizer.step()", "    optimizer.zero_grad()"),
        """
        for i, batch in enumerate(loader):
            loss = F.cross_entropy(model(batch.x), batch.y, reduction="sum") / tokens_of_step
            loss.backward()
            if (i + 1) % accumulation == 0:
                optimizer.step()
                optimizer.zero_grad()
        """,
    ],
    "code.scaled-gradients-stepped": [
        """
        scaler = torch.amp.GradScaler("cuda")
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(loss_of(model(x), y)).backward()
            scaler.step(optimizer)
            scaler.update()
        """,
    ],
    "code.scaler-never-updated": [
        """
        scaler = torch.amp.GradScaler("cuda")
        def finish():
            scaler.step(optimizer)
            scaler.update()
        for x, y in loader:
            optimizer.zero_grad()
            scaler.scale(loss_of(model(x), y)).backward()
            finish()
        """,
    ],
    "code.step-missing": [
        """
        optimizer = torch.optim.Adam(model.parameters())
        for x, y in loader:
            optimizer.zero_grad()
            loss_of(model(x), y).backward()
            apply_update(optimizer)
        """,
        """
        x = torch.zeros(3, requires_grad=True)
        for _ in range(100):
            f(x).backward()
            x.data -= 0.1 * x.grad
        """,
    ],
    "code.scheduler-first": [
        loop(ZERO, LOSS, BACK, STEP, "scheduler.step()"),
        loop("scheduler.step(epoch)", ZERO, LOSS, BACK),
    ],
    "code.graph-retained": [
        loop(ZERO, LOSS, "loss.backward(retain_graph=True)", "other_loss.backward()", STEP),
        loop(ZERO, LOSS, BACK, STEP),
    ],
    "code.train-mode-missing": [
        """
        model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 2))
        optimizer = torch.optim.Adam(model.parameters())
        for epoch in range(3):
            model.train()
            for x, y in loader:
                optimizer.zero_grad()
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                print(F.cross_entropy(model(x_val), y_val).item())
        """,
        """
        model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 2))
        optimizer = torch.optim.Adam(model.parameters())
        def accuracy(m):
            was = m.training
            m.eval()
            with torch.no_grad():
                hits = (m(x_val).argmax(1) == y_val).float().mean().item()
            m.train(was)
            return hits
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            print(accuracy(model))
        """,
        """
        model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
        optimizer = torch.optim.Adam(model.parameters())
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            model.eval()
        """,
        """
        for noise in loader:
            optimizer_g.zero_grad()
            discriminator.eval()
            loss = criterion(discriminator(generator(noise)), ones)
            loss.backward()
            optimizer_g.step()
            discriminator.train()
        """,
    ],
    "code.evaluated-in-train-mode": [
        """
        net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.Flatten(), nn.Linear(8, 2))
        opt = torch.optim.SGD(net.parameters(), 0.1)
        @torch.no_grad()
        def validate():
            net.eval()
            return sum((net(x).argmax(1) == y).sum().item() for x, y in val_loader)
        for x, y in train_loader:
            net.train()
            opt.zero_grad()
            F.cross_entropy(net(x), y).backward()
            opt.step()
            validate()
        """,
        """
        net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
        opt = torch.optim.SGD(net.parameters(), 0.1)
        for x, y in train_loader:
            opt.zero_grad()
            F.cross_entropy(net(x), y).backward()
            opt.step()
            with torch.no_grad():
                for xv, yv in val_loader:
                    print(net(xv))
        """,
    ],
    "code.trains-without-grad": [
        """
        policy, value = nn.Linear(4, 2), nn.Linear(4, 1)
        optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], 1e-3)
        for update in range(100):
            log_probs, values = [], []
            for _ in range(16):
                values.append(value(obs()))
                log_probs.append(torch.distributions.Categorical(logits=policy(obs())).log_prob(act()))
            with torch.no_grad():
                last = value(obs())
            loss = -(torch.stack(log_probs) * (last - torch.stack(values).detach())).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        """
        teacher, model = nn.Linear(2, 2), nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in loader:
            with torch.no_grad():
                target = teacher(x)
            loss = F.mse_loss(model(x), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ],
    "code.eval-keeps-graph": [
        """
        @torch.no_grad()
        def validate(model, loader):
            model.eval()
            return [F.cross_entropy(model(x), y) for x, y in loader]
        """,
        """
        def validate(model, loader):
            model.eval()
            for x, y in loader:
                total += F.cross_entropy(model(x), y).item()
        """,
        """
        def run(model, loader):
            model.eval()
            for x in loader:
                outputs.append(model(x))

        with torch.inference_mode():
            run(model, loader)
        """,
    ],
    "code.eval-with-graph": [
        """
        model.eval()
        with torch.no_grad():
            for x, y in loader:
                hits += (model(x).argmax(1) == y).sum().item()
        """,
    ],
    "code.predictions-kept": [
        """
        device = torch.device("cuda")
        @torch.no_grad()
        def evaluate(model, loader):
            for batch in loader:
                logits = model(batch.to(device)).argmax(-1).cpu()
                everything.append(logits)
        """,
    ],
    "code.loss-keeps-graph": [
        loop(ZERO, LOSS, BACK, STEP, "total += loss.item()"),
        loop(ZERO, LOSS, BACK, STEP, "history.append(loss.detach())"),
        loop(ZERO, LOSS, BACK, STEP, "history.append(float(loss))"),
        """
        for x, y in loader:
            optimizer.zero_grad()
            total = 0
            for head in heads:
                loss = criterion(head(model(x)), y)
                total += loss
            total.backward()
            optimizer.step()
        """,
        """
        for episode in episodes:
            losses = []
            for state in episode:
                losses.append(F.mse_loss(model(state), target))
            loss = torch.stack(losses).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ],
}

#: programs against which no rule has anything
SOUND = [loop(ZERO, LOSS, BACK, CLIP, STEP, "total += loss.item()")]
