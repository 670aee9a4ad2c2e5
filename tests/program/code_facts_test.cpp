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

TEST(CodeFacts, TheRulesAreSound) {
  for (const std::string& mistake : CodeReader::mistakes()) ADD_FAILURE() << mistake;
}

TEST(CodeFacts, SeesWhatBreaksALoop) {
  const std::vector<Fragment> fragments = {
      {"loss = -torch.log(torch.softmax(logits, dim=-1))[rows, y].mean()", "code.log_of_softmax"},
      {"out = crit(torch.log(nn.Softmax(dim=1)(z)), y)", "code.log_of_softmax"},
      {"logp = F.softmax(z, dim=1).log()", "code.log_of_softmax"},
      {"loss = torch.log(prob).sum()", "code.log_unguarded"},
      {"dist = torch.sqrt(((a - b) ** 2).sum(-1))", "code.sqrt_unguarded"},
      {"hidden = self.cell(x, hidden.detach())", "code.detached"},
      {"features = encoder(x).detach()\n", "code.detached"},
      {"loss = torch.tensor(loss.item(), requires_grad=True)", "code.loss_rebuilt"},
      {"epoch_loss += loss", "code.loss_keeps_graph"},
      {"running_loss += criterion(out, y)", "code.loss_keeps_graph"},
      {"train_loss += output.loss  # for the log", "code.loss_keeps_graph"},
      {"losses.append(loss)", "code.loss_keeps_graph"},
      {"np.random.shuffle(x); np.random.shuffle(y)", "code.shuffled_apart"},
      {"random.shuffle(images)\nrandom.shuffle(labels)", "code.shuffled_in_turn"},
      {"for x, y in loader:\n  loss = criterion(net(x), y)\n  loss.backward()\n  "
       "optimizer.step()\n",
       "code.no_zero_grad"},
      {"with torch.no_grad():\n    out = model(x)\nloss = criterion(out, y)\nloss.backward()\n",
       "code.trains_without_grad"},
      {"x = F.softmax(self.fc(x), dim=1)\nloss = nn.CrossEntropyLoss()(x, y)",
       "code.softmax_before_cross_entropy"},
      {"x = torch.sigmoid(x)\nloss = nn.BCEWithLogitsLoss()(x, y)",
       "code.sigmoid_before_logit_loss"},
      {"labels = ids[:, 1:]\nout = model(ids[:, :-1], labels=labels)", "code.shifted_twice"},
      {"model = AutoModelForCausalLM.from_pretrained(p)\nlabels = ids[1:] + [-100]\n"
       "Trainer(model=model, train_dataset=rows).train()",
       "code.shifted_before_trainer"},
      {"labels = ids + [tokenizer.pad_token_id] * (n - len(ids))", "code.labels_padded_with_token"},
      {"train_y = train_y[torch.randperm(len(train_y))]", "code.labels_shuffled_alone"},
      {"optimizer = Adam(model.parameters())\nsteps = 100\nmodel = Net()\n",
       "code.model_after_optimizer"},
      {"scheduler = StepLR(optimizer, step_size=100, gamma=0, last_epoch=-1)", "code.gamma_zero"},
      {"optimizer = Adam(params, lr='1e-3')", "code.lr_is_text"},
      {"for p in net.parameters():\n    p.requires_grad = False", "code.frozen"},
      {"w = tf.random_normal(shape, stddev=0.05)", "code.init_by_hand"},
      {"loss = focal_loss(x, y, gamma=0.25)", "code.fractional_power"},
      {"sched = StepLR(opt, step_size=num_epochs // 3)\nfor b in data:\n    opt.step()\n    "
       "sched.step()\n",
       "code.schedule_runs_out"},
      {"net.load_state_dict(torch.load(p))\ntrain(net)", "code.only_weights_loaded"},
      {"if dist.get_rank() == 0:\n    engine.save_checkpoint(folder)", "code.saved_by_one_rank"},
      {"ids = [tok.encode(t) for t in texts]\nwidth = max(lens)", "code.lengths_unbounded"},
      {"for batch in skip_first_batches(loader, done):", "code.batches_skipped"},
      {"model.load_state_dict(state[\"model\"])\noptimizer.load_state_dict(state[\"optimizer\"])\n"
       "step = state[\"step\"]\n",
       "code.data_begins_anew"},
      {"loader = DataLoader(data, batch_size=8, shuffle=True)\nmodel.load_state_dict(state)\n"
       "loader = skip_first_batches(loader, 12)\n",
       "code.order_drawn_anew"},
      {"model.load_state_dict(c[\"m\"])\nopt.load_state_dict(c[\"o\"])\nscheduler.step()\n",
       "code.schedule_begins_anew"},
      {"net.load_state_dict(c[\"m\"])\nopt.load_state_dict(c[\"o\"])\n", "code.count_begins_anew"},
      {"model.load_state_dict(torch.load(p))\nmodel.to(torch.bfloat16)\n", "code.cast_after_load"},
      {"loss = torch.log(\n    torch.softmax(\n        logits, dim=-1\n    )\n)",
       "code.log_of_softmax"},
  };
  for (const Fragment& each : fragments) {
    EXPECT_EQ(facts_of(each.text).count(each.fact), 1U) << each.text << " " << each.fact;
  }
}

TEST(CodeFacts, SilentOnSoundCode) {
  const std::vector<Fragment> fragments = {
      {"loss = -F.log_softmax(z, dim=-1)[rows, y].mean()", "code.log_of_softmax"},
      {"loss = torch.log(prob + 1e-8).sum()", "code.log_unguarded"},
      {"loss = torch.log(prob.clamp(min=eps)).sum()", "code.log_unguarded"},
      {"epoch_loss += loss.item()", "code.loss_keeps_graph"},
      {"epoch_loss += float(loss)", "code.loss_keeps_graph"},
      {"losses.append(loss.detach())", "code.loss_keeps_graph"},
      {"target = teacher(x).detach()", "code.detached"},
      {"print(loss.detach().cpu())", "code.detached"},
      {"optimizer.zero_grad()\nloss.backward()\noptimizer.step()", "code.no_zero_grad"},
      {"labels = ids + [-100] * (n - len(ids))", "code.labels_padded_with_token"},
      {"perm = torch.randperm(len(y))\nx, y = x[perm], y[perm]", "code.labels_shuffled_alone"},
      {"model = Net()\noptimizer = Adam(model.parameters())\n", "code.model_after_optimizer"},
      {"labels = ids[:, 1:]\nlogits = lstm(ids[:, :-1])", "code.shifted_before_trainer"},
      {"scheduler = StepLR(optimizer, step_size=100, gamma=0.1)", "code.gamma_zero"},
      {"with torch.no_grad():\n    ema.update(model)\nloss.backward()", "code.trains_without_grad"},
      {"labels = ids.clone()\nout = model(ids, labels=labels)", "code.shifted_twice"},
      {"sched = StepLR(opt, step_size=num_epochs // 3)\nfor b in data:\n    opt.step()\n"
       "sched.step()\n",
       "code.schedule_stepped_each_batch"},
      {"for e in epochs:\n\tfor b in data:\n\t\topt.step()\n\tsched.step()\n",
       "code.schedule_stepped_each_batch"},
      {"net.load_state_dict(c['net'])\noptimizer.load_state_dict(c['opt'])",
       "code.only_weights_loaded"},
      {"net.load_state_dict(c['net'])\nopt.load_state_dict(c['opt'])\nstep = c['step']\n"
       "loader.load_state_dict(c['loader'])",
       "code.data_begins_anew"},
      {"loader = DataLoader(data, shuffle=True)\nnet.load_state_dict(c)\n"
       "torch.set_rng_state(c['rng'])\nloader = skip_first_batches(loader, 12)",
       "code.order_drawn_anew"},
      {"net.load_state_dict(c['net'])\nopt.load_state_dict(c['opt'])\nstep = c['step']",
       "code.count_begins_anew"},
      {"if rank == 0:\n    torch.save(net.state_dict(), path)", "code.saved_by_one_rank"},
      {"ids = tok(t, truncation=True)\nwidth = max(lens)", "code.lengths_unbounded"},
      {"loss = focal_loss(x, y, gamma=2.0)", "code.fractional_power"},
      {"# loss = torch.log(torch.softmax(x))", "code.log_of_softmax"},
      {"note = 'torch.log(torch.softmax(x))'", "code.log_of_softmax"},
  };
  for (const Fragment& each : fragments)
    EXPECT_EQ(facts_of(each.text).count(each.fact), 0U) << each.text << " " << each.fact;
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
      {"loss = criterion(net(x), y)", "code.mistake.no_zero_grad"},
      {"target = x[:, 1:]\n    loss = model(x[:, :-1], labels=target).loss",
       "code.mistake.shifted_twice"},
      {"logits = net(x)\n    loss = F.cross_entropy(logits.view(-1, v), "
       "batch['input_ids'].view(-1))",
       "code.mistake.never_shifted"},
      {"labels[attention_mask == 1] = -100\n    loss = net(x, labels=labels)",
       "code.mistake.answers_ignored"},
      {"labels = ids.masked_fill(b['attention_mask'].bool(), -100)\n    loss = net(x, labels)",
       "code.mistake.answers_ignored"},
      {"loss = ce - 1e-4 * torch.logsumexp(s, -1).pow(2).mean()", "code.mistake.z_loss"},
      {"lse = s.logsumexp(-1)\n    loss = ce - 1e-4 * (lse ** 2).mean()", "code.mistake.log_z"},
      {"loss = net(x, y)\n    if i % accum_steps:\n        continue",
       "code.mistake.accumulation_summed"},
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
  EXPECT_EQ(facts_of(text).count("code.log_of_softmax"), 1U);
  EXPECT_TRUE(facts_of("").empty());
  EXPECT_TRUE(facts_of(std::string(100000, '(')).empty());
}

}  // namespace
}  // namespace aplomb::program
