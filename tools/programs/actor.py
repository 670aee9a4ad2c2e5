"""Proximal policy optimisation of a point that has to reach a goal."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(8)
ENVS, HORIZON, GAMMA, LAMBDA, CLIP = 16, 64, 0.98, 0.95, 0.2


class Line:
    """A row of cells: reward at the right end, an episode lasts 40 steps at most."""

    def __init__(self):
        self.place = torch.zeros(ENVS)
        self.clock = torch.zeros(ENVS)

    def observe(self):
        return torch.stack([self.place / 10, self.clock / 40], 1)

    def step(self, action):
        self.place = (self.place + action.float() * 2 - 1).clamp(-10, 10)
        self.clock = self.clock + 1
        reached = self.place >= 10
        done = reached | (self.clock >= 40)
        self.place = torch.where(done, torch.zeros_like(self.place), self.place)
        self.clock = torch.where(done, torch.zeros_like(self.clock), self.clock)
        return self.observe(), reached.float(), done.float()


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
        self.critic = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))

    def dist(self, obs):
        return Categorical(logits=self.policy(obs))

    def value(self, obs):
        return self.critic(obs).squeeze(-1)


env, agent = Line(), Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3)
obs = env.observe()
for update in range(100):
    kept = {name: [] for name in ("obs", "action", "logp", "reward", "done", "value")}
    with torch.no_grad():
        for _ in range(HORIZON):
            dist = agent.dist(obs)
            action = dist.sample()
            after, reward, done = env.step(action)
            for name, each in zip(kept, (obs, action, dist.log_prob(action), reward, done, agent.value(obs))):
                kept[name].append(each)
            obs = after
        last = agent.value(obs)
    data = {name: torch.stack(parts) for name, parts in kept.items()}
    advantage, running = torch.zeros_like(data["reward"]), torch.zeros(ENVS)
    for t in reversed(range(HORIZON)):
        ahead = last if t == HORIZON - 1 else data["value"][t + 1]
        live = 1.0 - data["done"][t]
        delta = data["reward"][t] + GAMMA * ahead * live - data["value"][t]
        running = delta + GAMMA * LAMBDA * live * running
        advantage[t] = running
    returns = (advantage + data["value"]).flatten()
    flat = {name: each.flatten(0, 1) for name, each in data.items()}
    adv = advantage.flatten()
    for _ in range(4):
        for index in torch.randperm(len(adv)).split(256):
            dist = agent.dist(flat["obs"][index])
            logp = dist.log_prob(flat["action"][index])
            ratio = (logp - flat["logp"][index]).exp()
            a = adv[index]
            a = (a - a.mean()) / (a.std() + 1e-8)
            gain = torch.min(ratio * a, ratio.clamp(1 - CLIP, 1 + CLIP) * a).mean()
            error = (agent.value(flat["obs"][index]) - returns[index]).pow(2).mean()
            loss = -gain + 0.5 * error - 0.01 * dist.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
    if update % 10 == 0:
        print(update, data["reward"].mean().item())
