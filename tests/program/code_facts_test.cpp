#include "program/code_facts.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace aplomb::program {
namespace {

std::set<std::string> facts_of(const std::string& text) {
  record::Run run;
  record::RunBuilder build(run);
  const record::SourceId source = build.open("train.py", "python-config", text.size());
  CodeReader reader;
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    reader.line(std::string_view(text).substr(at, end - at), ++number, at);
    at = end + 1;
  }
  reader.finish(build, source);
  std::set<std::string> names;
  for (const record::Fact& fact : run.facts) names.insert(fact.name);
  return names;
}

struct Fragment {
  const char* text;
  const char* fact;
};

TEST(CodeFacts, SeesWhatBreaksALoop) {
  const std::vector<Fragment> fragments = {
      {"loss = -torch.log(torch.softmax(logits, dim=-1))[rows, y].mean()", "code.log-of-softmax"},
      {"out = crit(torch.log(nn.Softmax(dim=1)(z)), y)", "code.log-of-softmax"},
      {"logp = F.softmax(z, dim=1).log()", "code.log-of-softmax"},
      {"loss = torch.log(prob).sum()", "code.log-unguarded"},
      {"dist = torch.sqrt(((a - b) ** 2).sum(-1))", "code.sqrt-unguarded"},
      {"hidden = self.cell(x, hidden.detach())", "code.detached"},
      {"features = encoder(x).detach()\n", "code.detached"},
      {"loss = torch.tensor(loss.item(), requires_grad=True)", "code.loss-rebuilt"},
      {"epoch_loss += loss", "code.loss-keeps-graph"},
      {"running_loss += criterion(out, y)", "code.loss-keeps-graph"},
      {"train_loss += output.loss  # for the log", "code.loss-keeps-graph"},
      {"losses.append(loss)", "code.loss-keeps-graph"},
      {"np.random.shuffle(x); np.random.shuffle(y)", "code.shuffled-apart"},
      {"random.shuffle(images)\nrandom.shuffle(labels)", "code.shuffled-apart"},
      {"for x, y in loader:\n  loss = criterion(net(x), y)\n  loss.backward()\n  "
       "optimizer.step()\n",
       "code.no-zero-grad"},
      {"with torch.no_grad():\n    out = model(x)\nloss = criterion(out, y)\nloss.backward()\n",
       "code.trains-without-grad"},
      {"x = F.softmax(self.fc(x), dim=1)\nloss = nn.CrossEntropyLoss()(x, y)",
       "code.softmax-before-cross-entropy"},
      {"x = torch.sigmoid(x)\nloss = nn.BCEWithLogitsLoss()(x, y)",
       "code.sigmoid-before-logit-loss"},
      {"labels = ids[:, 1:]\nout = model(ids[:, :-1], labels=labels)", "code.shifted-twice"},
      {"model = AutoModelForCausalLM.from_pretrained(p)\nlabels = ids[1:] + [-100]\n"
       "Trainer(model=model, train_dataset=rows).train()",
       "code.shifted-twice"},
      {"labels = ids + [tokenizer.pad_token_id] * (n - len(ids))", "code.labels-padded-with-token"},
      {"train_y = train_y[torch.randperm(len(train_y))]", "code.shuffled-apart"},
      {"optimizer = Adam(model.parameters())\nsteps = 100\nmodel = Net()\n",
       "code.optimizer-before-model"},
      {"scheduler = StepLR(optimizer, step_size=100, gamma=0, last_epoch=-1)", "code.gamma-zero"},
      {"optimizer = Adam(params, lr='1e-3')", "code.lr-is-text"},
      {"for p in net.parameters():\n    p.requires_grad = False", "code.frozen"},
      {"w = tf.random_normal(shape, stddev=0.05)", "code.init-by-hand"},
      {"loss = focal_loss(x, y, gamma=0.25)", "code.fractional-power"},
      {"sched = StepLR(opt, step_size=num_epochs // 3)\nfor b in data:\n    opt.step()\n    "
       "sched.step()\n",
       "code.schedule-runs-out"},
      {"net.load_state_dict(torch.load(p))\ntrain(net)", "code.optimizer-not-restored"},
      {"if dist.get_rank() == 0:\n    engine.save_checkpoint(folder)", "code.saved-by-one-rank"},
      {"ids = [tok.encode(t) for t in texts]\nwidth = max(lens)", "code.lengths-unbounded"},
      {"for batch in skip_first_batches(loader, done):", "code.batches-skipped"},
      {"model.load_state_dict(state[\"model\"])\noptimizer.load_state_dict(state[\"optimizer\"])\n"
       "step = state[\"step\"]\n",
       "code.data-not-restored"},
      {"loader = DataLoader(data, batch_size=8, shuffle=True)\nmodel.load_state_dict(state)\n"
       "loader = skip_first_batches(loader, 12)\n",
       "code.order-not-restored"},
      {"model.load_state_dict(c[\"m\"])\nopt.load_state_dict(c[\"o\"])\nscheduler.step()\n",
       "code.schedule-not-restored"},
      {"net.load_state_dict(c[\"m\"])\nopt.load_state_dict(c[\"o\"])\n", "code.count-not-restored"},
      {"model.load_state_dict(torch.load(p))\nmodel.to(torch.bfloat16)\n", "code.cast-after-load"},
      {"loss = torch.log(\n    torch.softmax(\n        logits, dim=-1\n    )\n)",
       "code.log-of-softmax"},
      {"return K.sqrt(K.sum(K.square(a - b), axis=-1))", "code.sqrt-unguarded"},
      {"idx = np.arange(len(data))\ntrain = SubsetRandomSampler(idx[:cut])\n"
       "held = SubsetRandomSampler(idx[cut:])\n",
       "code.split-by-order"},
      {"self.action_space = spaces.Box(low=self.lo, high=self.lo, shape=(2,))",
       "code.box-of-one-point"},
      {"space = Box(-1.0, -1.0, (3,))", "code.box-of-one-point"},
      {"goal = r + 0.99 * np.max(net.predict(next_states), axis=1)", "code.no-target-network"},
      {"best = q_net(next_obs).max(1).values", "code.no-target-network"},
  };
  for (const Fragment& each : fragments) {
    EXPECT_EQ(facts_of(each.text).count(each.fact), 1U) << each.text << " " << each.fact;
  }
}

TEST(CodeFacts, SilentOnSoundCode) {
  const std::vector<Fragment> fragments = {
      {"loss = -F.log_softmax(z, dim=-1)[rows, y].mean()", "code.log-of-softmax"},
      {"loss = torch.log(prob + 1e-8).sum()", "code.log-unguarded"},
      {"loss = torch.log(prob.clamp(min=eps)).sum()", "code.log-unguarded"},
      {"epoch_loss += loss.item()", "code.loss-keeps-graph"},
      {"epoch_loss += float(loss)", "code.loss-keeps-graph"},
      {"losses.append(loss.detach())", "code.loss-keeps-graph"},
      {"target = teacher(x).detach()", "code.detached"},
      {"print(loss.detach().cpu())", "code.detached"},
      {"optimizer.zero_grad()\nloss.backward()\noptimizer.step()", "code.no-zero-grad"},
      {"labels = ids + [-100] * (n - len(ids))", "code.labels-padded-with-token"},
      {"perm = torch.randperm(len(y))\nx, y = x[perm], y[perm]", "code.shuffled-apart"},
      {"model = Net()\noptimizer = Adam(model.parameters())\n", "code.optimizer-before-model"},
      {"labels = ids[:, 1:]\nlogits = lstm(ids[:, :-1])", "code.shifted-twice"},
      {"scheduler = StepLR(optimizer, step_size=100, gamma=0.1)", "code.gamma-zero"},
      {"with torch.no_grad():\n    ema.update(model)\nloss.backward()", "code.trains-without-grad"},
      {"labels = ids.clone()\nout = model(ids, labels=labels)", "code.shifted-twice"},
      {"sched = StepLR(opt, step_size=num_epochs // 3)\nfor b in data:\n    opt.step()\n"
       "sched.step()\n",
       "code.schedule-stepped-each-batch"},
      {"for e in epochs:\n\tfor b in data:\n\t\topt.step()\n\tsched.step()\n",
       "code.schedule-stepped-each-batch"},
      {"net.load_state_dict(c['net'])\noptimizer.load_state_dict(c['opt'])",
       "code.optimizer-not-restored"},
      {"net.load_state_dict(c['net'])\nopt.load_state_dict(c['opt'])\nstep = c['step']\n"
       "loader.load_state_dict(c['loader'])",
       "code.data-not-restored"},
      {"loader = DataLoader(data, shuffle=True)\nnet.load_state_dict(c)\n"
       "torch.set_rng_state(c['rng'])\nloader = skip_first_batches(loader, 12)",
       "code.order-not-restored"},
      {"net.load_state_dict(c['net'])\nopt.load_state_dict(c['opt'])\nstep = c['step']",
       "code.count-not-restored"},
      {"if rank == 0:\n    torch.save(net.state_dict(), path)", "code.saved-by-one-rank"},
      {"ids = tok(t, truncation=True)\nwidth = max(lens)", "code.lengths-unbounded"},
      {"loss = focal_loss(x, y, gamma=2.0)", "code.fractional-power"},
      {"return K.sqrt(K.maximum(K.sum(K.square(a - b)), K.epsilon()))", "code.sqrt-unguarded"},
      {"idx = np.random.permutation(len(data))\ntrain = SubsetRandomSampler(idx[:cut])\n",
       "code.split-by-order"},
      {"idx = list(range(n))\nrandom.shuffle(idx)\ntrain = Subset(data, idx[:cut])\n",
       "code.split-by-order"},
      {"space = spaces.Box(low=self.lo, high=self.hi, shape=(2,))", "code.box-of-one-point"},
      {"space = Box(-1.0, 1.0, (3,))", "code.box-of-one-point"},
      {"goal = r + 0.99 * np.max(target_model.predict(next_states), axis=1)",
       "code.no-target-network"},
      {"best = q_net(next_obs).max(1).values\nvalue = q_target(next_obs)\n",
       "code.no-target-network"},
      {"# loss = torch.log(torch.softmax(x))", "code.log-of-softmax"},
      {"note = 'torch.log(torch.softmax(x))'", "code.log-of-softmax"},
  };
  for (const Fragment& each : fragments)
    EXPECT_EQ(facts_of(each.text).count(each.fact), 0U) << each.text << " " << each.fact;
}

/// `<name>` stands for one argument, and at each further place for the same one.
TEST(CodeFacts, ANameInAPatternIsBoundAtItsFirstPlace) {
  const auto meets = [](const char* pattern, std::string_view statement) {
    std::vector<std::string> tokens;
    code::add_tokens(statement, 0, tokens);
    return code::matches(code::pattern_of(pattern), tokens);
  };
  EXPECT_TRUE(meets("f ( <x> , <x> )", "f(a, a)"));
  EXPECT_TRUE(meets("f ( <x> , <x> )", "f(self.a[0], self.a[0])"));
  EXPECT_FALSE(meets("f ( <x> , <x> )", "f(self.a[0], self.a[1])"));
  EXPECT_FALSE(meets("f ( <x> , <x> )", "f(a, a.b)"));
  EXPECT_FALSE(meets("f ( <x> , <x> )", "f(, )"));
  EXPECT_TRUE(meets("f ( <x> , <y> ) ... g ( <y> , <x> )", "f(a, b) + g(b, a)"));
  EXPECT_FALSE(meets("f ( <x> , <y> ) ... g ( <y> , <x> )", "f(a, b) + g(a, b)"));
  EXPECT_FALSE(meets("f ( <x> , <x> )", "f("));
}

constexpr const char* k_program =
    "import torch\n"
    "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    "for x, y in loader:\n"
    "    %s\n"
    "    loss.backward()\n"
    "    optimizer.step()\n";

std::string program_with(const std::string& lines) {
  std::string text = k_program;
  return text.replace(text.find("%s"), 2, lines);
}

TEST(CodeFacts, AMistakeOfAWholeProgramIsOne) {
  const std::vector<Fragment> fragments = {
      {"loss = criterion(net(x), y)", "code.mistake.no-zero-grad"},
      {"target = x[:, 1:]\n    loss = model(x[:, :-1], labels=target).loss",
       "code.mistake.shifted-twice"},
      {"logits = net(x)\n    loss = F.cross_entropy(logits.view(-1, v), "
       "batch['input_ids'].view(-1))",
       "code.mistake.never-shifted"},
      {"labels[attention_mask == 1] = -100\n    loss = net(x, labels=labels)",
       "code.mistake.answers-ignored"},
      {"labels = ids.masked_fill(b['attention_mask'].bool(), -100)\n    loss = net(x, labels)",
       "code.mistake.answers-ignored"},
      {"loss = ce - 1e-4 * torch.logsumexp(s, -1).pow(2).mean()", "code.mistake.z-loss-subtracted"},
      {"lse = s.logsumexp(-1)\n    loss = ce - 1e-4 * (lse ** 2).mean()",
       "code.mistake.z-loss-subtracted"},
      {"loss = net(x, y)\n    if i % accum_steps:\n        continue",
       "code.mistake.accumulation-summed"},
  };
  for (const Fragment& each : fragments) {
    EXPECT_EQ(facts_of(program_with(each.text)).count(each.fact), 1U)
        << each.text << " " << each.fact;
    // Of a fragment nobody knows what stands around it.
    EXPECT_EQ(facts_of(each.text).count(each.fact), 0U) << each.text;
  }
}

TEST(CodeFacts, ASoundProgramHoldsNoMistake) {
  for (const char* lines :
       {"optimizer.zero_grad()\n    loss = criterion(net(x), y)",
        "optimizer.zero_grad()\n    labels[attention_mask == 0] = -100\n    loss = net(x, labels)",
        "optimizer.zero_grad()\n    labels = ids.masked_fill(~attention_mask.bool(), -100)\n"
        "    loss = net(x, labels)",
        "optimizer.zero_grad()\n    labels[prompt_mask] = -100\n    loss = net(x, labels)",
        "optimizer.zero_grad()\n    loss = ce + 1e-4 * torch.logsumexp(s, -1).pow(2).mean()",
        "loss = net(x, y) / accum_steps\n    if i % accum_steps == 0:\n"
        "        optimizer.zero_grad()",
        "optimizer.zero_grad()\n    loss = F.cross_entropy(logits.view(-1, v), y.view(-1))"}) {
    for (const std::string& fact : facts_of(program_with(lines)))
      EXPECT_FALSE(fact.starts_with("code.mistake.")) << lines << " " << fact;
  }
}

TEST(CodeFacts, PatternsReachAcrossTokens) {
  std::vector<std::string> tokens;
  EXPECT_EQ(code::add_tokens("total_loss += out.loss * 1e-3  # sum", 0, tokens), 0);
  EXPECT_EQ(tokens,
            (std::vector<std::string>{"total_loss", "+=", "out", ".", "loss", "*", "1e-3"}));
  EXPECT_TRUE(code::matches(code::pattern_of("*loss* += _ . loss"), tokens));
  EXPECT_TRUE(code::matches(code::pattern_of("*loss* ... 1e-*"), tokens));
  EXPECT_FALSE(code::matches(code::pattern_of("*loss* += $"), tokens));
  tokens.clear();
  EXPECT_EQ(code::add_tokens("f(a, [b", 0, tokens), 2);
  EXPECT_EQ(code::add_tokens("])", 2, tokens), 0);
}

TEST(CodeFacts, LeavesALineOfDataAlone) {
  std::vector<std::string> tokens;
  (void)code::add_tokens(std::string(1U << 20U, '('), 0, tokens);
  EXPECT_LT(tokens.size(), 1U << 12U);
}

TEST(CodeFacts, AnOpenBracketOfASentenceSwallowsNothing) {
  const std::string text =
      "I tried it (and it did not help at all\nloss = torch.log(torch.softmax(z))\n";
  EXPECT_EQ(facts_of(text).count("code.log-of-softmax"), 1U);
  EXPECT_TRUE(facts_of("").empty());
  EXPECT_TRUE(facts_of(std::string(100000, '(')).empty());
}

}  // namespace
}  // namespace aplomb::program
