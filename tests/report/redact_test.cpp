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

/// How programs print what is set: fields, lists of words, calls, rows, prompts, other languages.
TEST(Redact, ASecretGoesInWhateverFormItsNameStandsBesideIt) {
  const std::string value =
      "Vb7kQx29Lm"
      "4ZtRw83cHn";
  for (const std::string& text :
       std::initializer_list<std::string>{R"([{"name": "SERVICE_TOKEN", "value": "@"}])",
                                          "- name: db_password\n  value: @",
                                          "['train.py', '--hub-token', '@', '--lr', '2e-5']",
                                          R"(auth = ("carla", "@"))",
                                          "HTTPBasicAuth('carla', '@')",
                                          "ALTER ROLE lab WITH PASSWORD '@'",
                                          "CREATE USER lab IDENTIFIED BY '@'",
                                          "pw=@",
                                          "psw: @",
                                          "using secret @ for the run",
                                          "\x1b[36mapi_key\x1b[0m: \x1b[1m@\x1b[0m",
                                          "pass\u200bword: @",
                                          "password：@",
                                          "Enter password:\n@\n",
                                          "Kennwort: @",
                                          "mot de passe : @",
                                          "contraseña: @",
                                          "пароль: @",
                                          "密码：@",
                                          "| hub_token | @ |",
                                          "<password>@</password>",
                                          "q=api_key%3D@"}) {
    Redactor redact({});
    std::string with = text;
    with.replace(with.find('@'), 1, value);
    EXPECT_EQ(redact(with).find(value), std::string::npos) << with << "\n-> " << redact(with);
  }
  Redactor redact({});
  const std::string half =
      "u4Hk29"
      "ZrTq81";
  const std::string split = redact(
      "token: hf_"
      "abcdefgh1234567890\\\n" +
      half);
  EXPECT_EQ(split.find(half), std::string::npos) << split;
  const std::string hex(64, 'a');
  EXPECT_EQ(redact("the signing key is 0x" + hex.substr(1) + "9").find(hex.substr(8)),
            std::string::npos);
  EXPECT_EQ(redact("otp=482913"), "otp=<token-4>") << redact("otp=482913");
}

using Planted = std::initializer_list<std::pair<const char*, const char*>>;

/// Nothing of what the second says is left of the first.
void expect_hidden(Planted planted) {
  for (const auto& [text, secret] : planted) {
    Redactor redact({});
    EXPECT_EQ(redact(text).find(secret), std::string::npos) << text << "\n-> " << redact(text);
  }
}

TEST(Redact, WhoAndWhereGoInTheFormsOfClusters) {
  expect_hidden({{"rank 3 on host tauri", "tauri"},
                 {"The client socket has failed to connect to [tauri]:29400", "tauri"},
                 {"[tauri]:time: 12:01", "tauri"},
                 {"{\"author\": \"Ines Falkenrath\"}", "Falkenrath"},
                 {"Author: Ines Falkenrath <i@f.io>", "Falkenrath"},
                 {"commit 1a2b3c by Ines Falkenrath", "Falkenrath"},
                 {"/gpfs/u/home/ABCD/ifalk/run", "ifalk"},
                 {"/p/home/jusers/ifalk/booster/run", "ifalk"},
                 {"/network/scratch/i/ifalk/run", "ifalk"},
                 {"/home/i/ifalk/run", "ifalk"},
                 {"file:///home%2Fifalk%2Frun", "ifalk"},
                 {"hdfs://nn/user/ifalk/x", "ifalk"},
                 {"  4711 gpu train ifalk R 2:10 1 n3", "ifalk"},
                 {"JobID User Account\n4711 ifalk lab", "ifalk"},
                 {"sudo: ifalk : TTY=pts/1", "ifalk"},
                 {"Job <9> submitted by user <ifalk>", "ifalk"},
                 {"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIqrstuv ifalk@ws", "ifalk"},
                 {"C:\\Users\\i\\OneDrive - Falkenlab\\x", "Falkenlab"},
                 {"kubectl logs -n falklab trainer-0", "falklab"},
                 {"345678901234.dkr.ecr.eu-west-1.amazonaws.com/x", "345678901234"},
                 {"https://falk-data.s3.eu-west-1.amazonaws.com/x", "falk-data"},
                 {"push_to_hub ifalk/tiny", "ifalk"}});
  Redactor redact({});
  EXPECT_EQ(redact("/home/ifalken/run and log_ifalken.txt"),
            "/home/<user-1>/run and log_<user-1>.txt");
  EXPECT_EQ(redact.again("seen in run_ifalken"), "seen in run_<user-1>");
}

TEST(Redact, WhatCommandsConfigurationsAndSchedulersPrintGoes) {
  expect_hidden(
      {{"redis-cli -h c -a tq81vRw7 ping", "tq81vRw7"},
       {"requirepass tq81vRw7", "tq81vRw7"},
       {"ldapsearch -D cn=x -w tq81vRw7 -b dc=c", "tq81vRw7"},
       {"zip -P tq81vRw7 out.zip x", "tq81vRw7"},
       {"7z x -ptq81vRw7 a.7z", "tq81vRw7"},
       {"keytool -storepass tq81vRw7 -list", "tq81vRw7"},
       {"mnemonic: abandon plinth zoo", "plinth"},
       {"<add key=\"ApiKey\" value=\"tq81vRw7\"/>", "tq81vRw7"},
       {"Authorization: Digest username=\"x\", response=\"0123456789abcdef0123456789abcdef\"",
        "0123456789abcdef"},
       {"passwrd: tq81vRw7", "tq81vRw7"},
       {"clave: tq81vRw7", "tq81vRw7"},
       {"token = \"ghp_0123456789abcdefAB\" + \"cdEFgh12\"", "cdEFgh12"},
       {"token: t q 8 1 v R w 7 a b c d e f", "t q 8 1"},
       {"blob 70617373776f72643d747138317652", "747138"},
       {"/p/project/hai/ifalk/run", "ifalk"},
       {"/global/cscratch1/sd/ifalk/run", "ifalk"},
       {"/gpfs/alpine/p1/scratch/ifalk/run", "ifalk"},
       {"/work2/01234/ifalk/frontera", "ifalk"},
       {"/home/mila/i/ifalk/run", "ifalk"},
       {"/beegfs/ifalk/run", "ifalk"},
       {"CORP\\ifalk logged in", "ifalk"},
       {"ssh -l ifalk tauri3", "ifalk"},
       {"ssh -l ifalk tauri3", "tauri3"},
       {"uid=1005(ifalk) gid=1005(ifalk)", "ifalk"},
       {"ifalk:x:1006:1006:Ines Falkenrath:/home/ifalk:/bin/bash", "Falkenrath"},
       {"ifalk   31337     1 99 10:00 ?  00:01:00 python t.py", "ifalk"},
       {"4242.batch|ifalk|falklab|COMPLETED", "ifalk"},
       {"4242.batch|ifalk|falklab|COMPLETED", "falklab"},
       {"   UserId=ifalk(1234) GroupId=g(1)", "ifalk"},
       {"srun: error: tauri3: task 3: Killed", "tauri3"},
       {"tauri slots=8", "tauri"},
       {"mpirun -H tauri:8,taurj:8 python t.py", "taurj"},
       {"Linux tauri 5.15.0-91-generic", "tauri"},
       {"address=\"ray://tauri:10001\"", "tauri"},
       {"addr 001b.6384.45e7", "6384"},
       {"call (415) 555-2671", "2671"},
       {"Signed-off-by: Ines Falkenrath <i@f.io>", "Falkenrath"},
       {"user.name=Ines Falkenrath", "Falkenrath"},
       {"mail ines at falk dot com", "falk"},
       {"arn:aws:iam::111122223333:user/ifalk", "ifalk"},
       {"/subscriptions/11111111-2222-3333-4444-555566667777/x", "555566667777"},
       {"docker push ifalk/train:1", "ifalk"},
       {"namespace: falklab", "falklab"},
       {"- name: ifalk\n  user:\n    client: x", "ifalk"},
       {"{\"team\": \"falklab\"}", "falklab"}});
  // A name without a value on its line names nobody, and the words of stand-ins stay what they are.
  Redactor redact({});
  EXPECT_EQ(redact("user:\n  token: hf_abcdefghijklmnopqrstuv\n"), "user:\n  token: <token-1>\n");
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
  for (
      const std::string& text : std::initializer_list<std::string>{
          "{'loss': 2.31, 'grad_norm': nan, 'learning_rate': 1e-05}",
          "torch==2.13.0 nvidia-cudnn-cu12==9.1.0.70",
          "CUDA out of memory. Tried to allocate 60.00 MiB",
          "transformers 4.41.2, driver 535.104.05",
          "step 10/100 | loss 4.2 | 12:30:59",
          "localhost:29500",
          "predictions: 0 1 0 1 1 0 0 1 1 0 1 0",
          "layer 3 slots=8",
          "/gpfs/projects/ and projects/x",
          "Linux kernel version 5.4.0 is below 5.5.0",
          "RuntimeError: CUDA error at step 12 (100) 555",
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
          "eval/loss: 2.31 step: 400",
          "@torch.no_grad()\n@property\n@slack\n def f(x):",
          "See https://github.com/pytorch/pytorch/issues: pytorch 2.13",
          "  12 | 0.31 | 2e-05 |",
          "loaded secret sauce from config",
          "the token embeddings of 32000",
          "rank 0 on device 3",
          "Connected to 8 workers",
          "sha256 " + std::string(64, 'b'),
          "step 100 on host memory"}) {
    EXPECT_EQ(redact(text), text);
  }
}

}  // namespace
}  // namespace aplomb::report
