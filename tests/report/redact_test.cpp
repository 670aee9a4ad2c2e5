#include "report/redact.h"

#include <gtest/gtest.h>

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

TEST(Redact, MetricsVersionsAndWordsStay) {
  Redactor redact({});
  for (const char* text :
       {"{'loss': 2.31, 'grad_norm': nan, 'learning_rate': 1e-05}",
        "torch==2.13.0 nvidia-cudnn-cu12==9.1.0.70",
        "CUDA out of memory. Tried to allocate 60.00 MiB", "transformers 4.41.2, driver 535.104.05",
        "step 10/100 | loss 4.2 | 12:30:59", "localhost:29500", "[rank3]: RuntimeError: NCCL error",
        "/root/train.py"}) {
    EXPECT_EQ(redact(text), text);
  }
}

}  // namespace
}  // namespace aplomb::report
