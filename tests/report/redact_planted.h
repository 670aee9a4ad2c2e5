#pragma once
/// Secrets and identities planted in lines as logs, settings and shells hold them. All made by chance.

#include <array>
#include <string_view>
#include <utility>

namespace aplomb::report::test {

using Planted = std::pair<std::string_view, std::string_view>;  ///< the text, what must go

/// A text of which nothing may stay.
constexpr Planted whole(std::string_view text) { return {text, text}; }

// Keys are cut in two so that no scanner of sources takes them for real ones.
inline constexpr Planted k_secrets[] = {
    {"DB_PASS: P4iEAk"
     "uf1",
     "P4iEAk"
     "uf1"},
    {"echo hunter2"
     "hunter | sudo -S apt install x",
     "hunter2"
     "hunter"},
    {"Enter pass phrase for key: blue horse"
     " 17",
     "blue horse"
     " 17"},
    {"login hf_U8J"
     "ZpDE0iGXlD6g"
     "NCFbaEPFjbD0"
     "kH8Oool",
     "hf_U8JZpDE0i"
     "GXlD6gNCFbaE"
     "PFjbD0kH8Ooo"
     "l"},
    {"OPENAI_API_K"
     "EY=sk-proj-8"
     "DklZDOCj2ISa"
     "JiHkTj0rLGlk"
     "oMXGjtEkDnNf"
     "ribxUdl7dXT",
     "sk-proj-8Dkl"
     "ZDOCj2ISaJiH"
     "kTj0rLGlkoMX"
     "GjtEkDnNfrib"
     "xUdl7dXT"},
    {"key sk-ant-a"
     "pi03-PyLsxPF"
     "kThf4VucSmEH"
     "gaKwVJ7faC9q"
     "Ewjky40UVsWm"
     "flzdE1F8Resq"
     "EDusT used",
     "sk-ant-api03"
     "-PyLsxPFkThf"
     "4VucSmEHgaKw"
     "VJ7faC9qEwjk"
     "y40UVsWmflzd"
     "E1F8ResqEDus"
     "T"},
    whole("gsk_pkr0cStY"
          "4qWB8dWKnHfD"
          "NxSIvPZZ63fF"
          "KcZjR4I0b3jR"
          "taWr4Y9O"),
    {"x=r8_JFLJOqO"
     "Af1lLQSAJaiX"
     "nkU8Is2g8npr"
     "vDd53x",
     "r8_JFLJOqOAf"
     "1lLQSAJaiXnk"
     "U8Is2g8nprvD"
     "d53x"},
    whole("nvapi-83rzjZ"
          "ZZZGeoZDMENc"
          "KHVmDGAkJiG8"
          "XnBE3NnYJoQ9"
          "WmXeHH2fdeeT"
          "FJGvVvQe1s"),
    whole("pplx-KhBN88h"
          "XJsi6BwhTp3F"
          "s2QhX6KWxOii"
          "xgVoOnzyw2Mz"
          "P0Zvz"),
    {"clone ghp_OM"
     "hfWuBByReQMs"
     "m9Wcz7uW9XFO"
     "GOeMVNen5n",
     "ghp_OMhfWuBB"
     "yReQMsm9Wcz7"
     "uW9XFOGOeMVN"
     "en5n"},
    whole("github_pat_1"
          "Ae6pWzpF1qH6"
          "YytwMe4LbyoV"
          "Fz8uZdZv8FuK"
          "KIBJl5dzpJn0"
          "meq7WJjjIBA"),
    {"gho_zupGhv7I"
     "b3M03NBQNSgP"
     "wlUQia1ID6vW"
     "5dql",
     "gho_zupGhv7I"
     "b3M03NBQNSgP"
     "wlUQia1ID6vW"
     "5dql"},
    {"glpat-05ha06"
     "4gIiJhgB3cxL"
     "mA",
     "glpat-05ha06"
     "4gIiJhgB3cxL"
     "mA"},
    {"xoxb-1234567"
     "89012-xzJLJe"
     "nuHjDUrhhjey"
     "xG4jDP",
     "xoxb-1234567"
     "89012-xzJLJe"
     "nuHjDUrhhjey"
     "xG4jDP"},
    {"xapp-1-A0-12"
     "34567-abcdef",
     "xapp-1-A0-12"
     "34567-abcdef"},
    {"AKIAMRCG629B"
     "E2U66MR2",
     "AKIAMRCG629B"
     "E2U66MR2"},
    {"AIzagizeg8Ps"
     "h4487Q7j58M1"
     "cIaHZcUEqPbE"
     "NqT",
     "AIzagizeg8Ps"
     "h4487Q7j58M1"
     "cIaHZcUEqPbE"
     "NqT"},
    whole("ya29.yH5xJ8t"
          "pqXJQ4I9dOv8"
          "GZ4fKq1OKtbg"
          "ZVaMWUFuXBVj"
          "dctBYVhnSg9E"
          "H6yO4"),
    {"GOCSPX-GFQRC"
     "5xLRwI0b26r0"
     "8QZJi6gkfsU",
     "GOCSPX-GFQRC"
     "5xLRwI0b26r0"
     "8QZJi6gkfsU"},
    {"DefaultEndpo"
     "intsProtocol"
     "=https;Accou"
     "ntKey=FRDzsL"
     "b5ER8BoFzQFm"
     "2OEQ3HdAVja7"
     "6RnIChtP8HKQ"
     "DLM7ToThwNSc"
     "grLRWzBQCABu"
     "gjMgeP7cGq0p"
     "bqfi14Zg==;x",
     "FRDzsLb5ER8B"
     "oFzQFm2OEQ3H"
     "dAVja76RnICh"
     "tP8HKQDLM7To"
     "ThwNScgrLRWz"
     "BQCABugjMgeP"
     "7cGq0pbqfi14"
     "Zg=="},
    {"https://x.bl"
     "ob.core.wind"
     "ows.net/c?sv"
     "=1&sig=TsNOV"
     "M14tuoIZWD1I"
     "AEov4QbKDFq1"
     "Y3gqSmPsSCdL"
     "KR%3D&se=2",
     "TsNOVM14tuoI"
     "ZWD1IAEov4Qb"
     "KDFq1Y3gqSmP"
     "sSCdLKR%3D"},
    {"dapie08baa71"
     "96b50ac2f867"
     "02824c1c0997",
     "dapie08baa71"
     "96b50ac2f867"
     "02824c1c0997"},
    whole("hvs.Fl9h2wJq"
          "5ty4mYwUufJS"
          "unpJC01t5gob"
          "uszgI6hwgk10"
          "zB0rlz5tr9sp"
          "OFBCIoX9GY1c"
          "jDoBoirPfQAd"
          "zEv7g5iFqh"),
    {"npm_EvveQzE2"
     "QPuwNOvpdf2Y"
     "Ee6rSxCnopME"
     "mJVQ",
     "npm_EvveQzE2"
     "QPuwNOvpdf2Y"
     "Ee6rSxCnopME"
     "mJVQ"},
    whole("pypi-AgEIcHl"
          "waS5vcmcpvsT"
          "nkIAeDfRrGsN"
          "rfSthSdddxH5"
          "jMTF7eBSdE0g"
          "9cRYN687NElF"
          "JvhQ8XIm0ogR"
          "4HtXOf54fZBK"
          "A8fr"),
    {"dckr_pat_cZT"
     "uJaWYUH1VAUw"
     "V1ZH87MtA5vS",
     "dckr_pat_cZT"
     "uJaWYUH1VAUw"
     "V1ZH87MtA5vS"},
    {"sk_live_QXEZ"
     "Y3lEX7bwR2DR"
     "GD1qSo7J",
     "sk_live_QXEZ"
     "Y3lEX7bwR2DR"
     "GD1qSo7J"},
    {"rk_test_PRbg"
     "UMxXy9b4Bzwo"
     "Z648jjNu",
     "rk_test_PRbg"
     "UMxXy9b4Bzwo"
     "Z648jjNu"},
    {"whsec_FD7uac"
     "nwIp3SfD67jI"
     "KeaVSTQvvpQZ"
     "pP",
     "whsec_FD7uac"
     "nwIp3SfD67jI"
     "KeaVSTQvvpQZ"
     "pP"},
    {"shpat_9fc355"
     "26f7eaed4672"
     "5a2a7b860dcd"
     "6c",
     "shpat_9fc355"
     "26f7eaed4672"
     "5a2a7b860dcd"
     "6c"},
    {"SK8a1f8b4628"
     "7cced9041dff"
     "02cee73744",
     "SK8a1f8b4628"
     "7cced9041dff"
     "02cee73744"},
    whole("SG.hrG80usp2"
          "w5dFjxCAyIOk"
          "6.CptT9IoQho"
          "bswHGETh8lMY"
          "QOymAAiTdR9U"
          "p14PehPjP"),
    {"key-0d9106fd"
     "287db7f1adbc"
     "60926f6967e7",
     "key-0d9106fd"
     "287db7f1adbc"
     "60926f6967e7"},
    {"glsa_Qw4SG8n"
     "fnL5Ofa6qD8m"
     "J7ZDNBmJaDtD"
     "L_cea325a6",
     "glsa_Qw4SG8n"
     "fnL5Ofa6qD8m"
     "J7ZDNBmJaDtD"
     "L_cea325a6"},
    {"NRAK-L73CTYX"
     "V2KGAFRFW0H9"
     "NYWT1FD4",
     "NRAK-L73CTYX"
     "V2KGAFRFW0H9"
     "NYWT1FD4"},
    whole("lsv2_pt_6be6"
          "abf0d7c1c1e2"
          "1862ab8a18a8"
          "9020_73fec8d"
          "f4f"),
    whole("ntn_LAz7vT0s"
          "xJmPU3UdXyym"
          "FgMZwKPaEpCe"
          "jiUKb4GEQnFN"
          "Ga"),
    {"lin_api_ftcL"
     "OIadn5rPvi2x"
     "qwHx1SSRkRXQ"
     "vQMcPLPPJS46",
     "lin_api_ftcL"
     "OIadn5rPvi2x"
     "qwHx1SSRkRXQ"
     "vQMcPLPPJS46"},
    {"figd_lMUEZQP"
     "ghOpzGpdCGAe"
     "40O1c6XC4SOH"
     "DMm0lM7EX",
     "figd_lMUEZQP"
     "ghOpzGpdCGAe"
     "40O1c6XC4SOH"
     "DMm0lM7EX"},
    whole("PMAK-5e803b6"
          "1ba4168160ad"
          "b5926-1ff2d3"
          "c425c8d99d19"
          "bdd0b6cc60d5"
          "d32c"),
    {"tskey-auth-k"
     "4XdxKIADjJpz"
     "6ZFkn7XvgKJ",
     "tskey-auth-k"
     "4XdxKIADjJpz"
     "6ZFkn7XvgKJ"},
    whole("AGE-SECRET-K"
          "EY-1WSK7KEGY"
          "5MTIC4UDYFKO"
          "ZM4LNCZ7KYWH"
          "JPMC9CUHY39T"
          "0TP1YX262LBA"
          "53"),
    {"pul-7ee5fc32"
     "4bdb2e1142a2"
     "1c402364f957"
     "2b85a8e4",
     "pul-7ee5fc32"
     "4bdb2e1142a2"
     "1c402364f957"
     "2b85a8e4"},
    whole("dop_v1_8f687"
          "ab165c58ac58"
          "31be38cb8cb4"
          "ba2e751989a0"
          "1749ddb14f71"
          "010b93b7d94"),
    whole("hcloud_NXn1e"
          "KIA7zPtJcGEo"
          "J3qyRZzQ9ADp"
          "0j5Wmplcm7hu"
          "fPK5ACDiBZLP"
          "KD6xGAn"),
    whole("eyJjq8MJaMhm"
          "pgppa0nLgTET"
          "oD4uyetiA.ey"
          "JY2bv6dFvpcL"
          "OGQOpCHV5v7s"
          "82QtDRojrbry"
          "6hQSp795NF4g"
          "AKQ5P1vM8Kv6"
          "U.M4YVmPY62o"
          "6sq1iee1hsA2"
          "Bb9uOk4TyNZn"
          "lEk6KJCBH"),
    {"wandb: api_k"
     "ey 35b400141"
     "212b62c37663"
     "1129f34369aa"
     "d80b891",
     "35b400141212"
     "b62c37663112"
     "9f34369aad80"
     "b891"},
    {"machine api."
     "wandb.ai log"
     "in user pass"
     "word baf90d0"
     "d3bf16295d06"
     "910bf3f5fb85"
     "967f532f3",
     "baf90d0d3bf1"
     "6295d06910bf"
     "3f5fb85967f5"
     "32f3"},
    {"password hun"
     "ter2hunter",
     "hunter2hunte"
     "r"},
    {"https://bob:"
     "p4ssw0rd@exa"
     "mple.com/x",
     "p4ssw0rd"},
    {"postgres://a"
     "pp:s3cr3t!x@"
     "db:5432/x",
     "s3cr3t!x"},
    {"mongodb+srv:"
     "//u:Zq9pass@"
     "c.mongodb.ne"
     "t",
     "Zq9pass"},
    {"redis://:r3d"
     "ispw@cache:6"
     "379",
     "r3dispw"},
    {"git clone ht"
     "tps://oUWGZ7"
     "Z54vFb4pBXNT"
     "Qb5igKY4oO8d"
     "IimwswmpCW@g"
     "ithub.com/a/"
     "b",
     "oUWGZ7Z54vFb"
     "4pBXNTQb5igK"
     "Y4oO8dIimwsw"
     "mpCW"},
    {"password: co"
     "rrect-horse",
     "correct-hors"
     "e"},
    {"DB_PASSWORD="
     "tr0ub4dor",
     "tr0ub4dor"},
    {"\"api_key\": \""
     "abc123xyz\"",
     "abc123xyz"},
    {"'secret': 'm"
     "y little sec"
     "ret'",
     "my little se"
     "cret"},
    {"--password s"
     "wordfish",
     "swordfish"},
    {"--hub_token="
     "lUhJ31cqjvUK"
     "dcsxQlOI",
     "lUhJ31cqjvUK"
     "dcsxQlOI"},
    {"export WANDB"
     "_PASSPHRASE="
     "\"open sesame"
     " 1\"",
     "open sesame "
     "1"},
    {"client_secre"
     "t:\n    folde"
     "dsecret9",
     "foldedsecret"
     "9"},
    {"api_key: >-\n"
     "  blockscala"
     "r77",
     "blockscalar7"
     "7"},
    {"secret = \\\n "
     " \"continued-"
     "line-1\"",
     "continued-li"
     "ne-1"},
    {"\\\"password\\\""
     ": \\\"escapedp"
     "w1\\\"",
     "escapedpw1"},
    {"aws_secret_a"
     "ccess_key = "
     "Vdp4sPgMRTwt"
     "01nJuJPuUmhW"
     "KPU9MQ9uGK9q"
     "GMYJ",
     "Vdp4sPgMRTwt"
     "01nJuJPuUmhW"
     "KPU9MQ9uGK9q"
     "GMYJ"},
    {"AWS_SESSION_"
     "TOKEN=JyTuTb"
     "RMGo6GRN4YdC"
     "AZ2ybsOgoSdB"
     "JQmvZAvP62bs"
     "klvpa2Oqup44"
     "xpsl2OrLpHdb"
     "UQosG5aPyZtt"
     "oKQ2bedBn2ah"
     "rq73L5pUxAY1"
     "f6GCQiNKty88"
     "MhWG2k",
     "JyTuTbRMGo6G"
     "RN4YdCAZ2ybs"
     "OgoSdBJQmvZA"
     "vP62bsklvpa2"
     "Oqup44xpsl2O"
     "rLpHdbUQosG5"
     "aPyZttoKQ2be"
     "dBn2ahrq73L5"
     "pUxAY1f6GCQi"
     "NKty88MhWG2k"},
    {"Authorizatio"
     "n: Bearer di"
     "NtegBoy1XhVa"
     "v8dNrLZgw7Hu"
     "nWoD",
     "diNtegBoy1Xh"
     "Vav8dNrLZgw7"
     "HunWoD"},
    {"Authorizatio"
     "n: Basic dXN"
     "lcjpwYXNzd29"
     "yZA==",
     "dXNlcjpwYXNz"
     "d29yZA=="},
    {"Authorizatio"
     "n: token 88c"
     "c102ddb8379c"
     "7ce65426f74b"
     "de94fb78c8d5"
     "f",
     "88cc102ddb83"
     "79c7ce65426f"
     "74bde94fb78c"
     "8d5f"},
    {"X-Api-Key: A"
     "zuzRWPpTUefb"
     "noFq5XJ7T2Y",
     "AzuzRWPpTUef"
     "bnoFq5XJ7T2Y"},
    {"Cookie: sess"
     "ion=DF0k5Uy8"
     "Ih1WolAqAN8E"
     "pSQm; a=b",
     "DF0k5Uy8Ih1W"
     "olAqAN8EpSQm"},
    {"Set-Cookie: "
     "sid=GlJ2OLxc"
     "WyJN5ZyiKn5s",
     "sid=GlJ2OLxc"
     "WyJN5ZyiKn5s"},
    {"https://h/x?"
     "access_token"
     "=myFq55jyo1T"
     "MfsNhFv1cq4H"
     "j&b=1",
     "myFq55jyo1TM"
     "fsNhFv1cq4Hj"},
    {"https://h/x?"
     "key=HQaO0Ief"
     "jDed5JsfPfKi",
     "HQaO0IefjDed"
     "5JsfPfKi"},
    {"client-key-d"
     "ata: m3vAK1U"
     "dskfqS1dXba9"
     "rELoXopBBnCr"
     "v7VzGgefw5JC"
     "NtaoIVG3qXVe"
     "xhjx6NSbVbQj"
     "D0SSW0fZVgR3"
     "g==",
     "m3vAK1Udskfq"
     "S1dXba9rELoX"
     "opBBnCrv7VzG"
     "gefw5JCNtaoI"
     "VG3qXVexhjx6"
     "NSbVbQjD0SSW"
     "0fZVgR3g=="},
    {"\"auth\": \"dXN"
     "lcjpodW50ZXI"
     "y\"",
     "dXNlcjpodW50"
     "ZXIy"},
    {"db:5432:app:"
     "ann:pgp4ssw0"
     "rd",
     "pgp4ssw0rd"},
    {"ann:$2b$12$W"
     "NpfyHVMUtTIl"
     "oFyCZuj4ZikD"
     "ZTGACM06emxq"
     "Dyg6inYnJors"
     "sm4r",
     "$2b$12$WNpfy"
     "HVMUtTIloFyC"
     "Zuj4ZikDZTGA"
     "CM06emxqDyg6"
     "inYnJorssm4r"},
    whole("-----BEGIN R"
          "SA PRIVATE K"
          "EY-----\nFNCq"
          "odowLGqL3Cax"
          "G67pAX30IyTj"
          "tQ3TLaCUBbkp"
          "l76DfkhC0Hxz"
          "aks6ZcEArYml"
          "\n8qJexajGFpe"
          "N5JoAbAArqH9"
          "2FN3HIeBRukP"
          "cuvL7DXxvts2"
          "JuwFSojtfdq7"
          "4Q69D\n-----E"
          "ND RSA PRIVA"
          "TE KEY-----"),
    whole("-----BEGIN O"
          "PENSSH PRIVA"
          "TE KEY-----\n"
          "tCADA4pr0nFY"
          "TTumK931fmDU"
          "X8kucerKJ9zH"
          "X9pKozaeYxyc"
          "8RywkVSRDnpt"
          "z0mV3muA1J"),
    {"PrivateKey ="
     " m1Tlb4PYYrY"
     "mx5OzcSsAUQR"
     "bKl60w4yCS1J"
     "z43kJR2z=",
     "m1Tlb4PYYrYm"
     "x5OzcSsAUQRb"
     "Kl60w4yCS1Jz"
     "43kJR2z="},
    {"token: 8f3kd"
     "02mc81q",
     "8f3kd02mc81q"},
    {"seed zjrx6fW"
     "iFijfzYMywu7"
     "OTmDrZdtN7Ql"
     "wAyYdiFiz en"
     "d",
     "zjrx6fWiFijf"
     "zYMywu7OTmDr"
     "ZdtN7QlwAyYd"
     "iFiz"},
    {"https://hook"
     "s.slack.com/"
     "services/T00"
     "000000/B0000"
     "0000/WxEOZlh"
     "5Q41hUeglMMN"
     "MFLzs",
     "T00000000/B0"
     "0000000/WxEO"
     "Zlh5Q41hUegl"
     "MMNMFLzs"},
    {"https://disc"
     "ord.com/api/"
     "webhooks/123"
     "456789012345"
     "678/SXkkWZxh"
     "2JPC7fX3GXod"
     "yFJUmBWRhmBG"
     "CN33kflkNQ7x"
     "RbG8cxl0m9IQ"
     "1CVMLYFBDCjX",
     "123456789012"
     "345678/SXkkW"
     "Zxh2JPC7fX3G"
     "XodyFJUmBWRh"
     "mBGCN33kflkN"
     "Q7xRbG8cxl0m"
     "9IQ1CVMLYFBD"
     "CjX"},
    {"123456789:A3"
     "tdf8265E3moZ"
     "7Ht9FQUkOpF9"
     "6qgZLc2KX",
     "123456789:A3"
     "tdf8265E3moZ"
     "7Ht9FQUkOpF9"
     "6qgZLc2KX"},
    {"COHERE_API_K"
     "EY=9PuOLC8Q8"
     "WD5j5B16DQyg"
     "tvpweDGJUwA8"
     "MrvTllc",
     "9PuOLC8Q8WD5"
     "j5B16DQygtvp"
     "weDGJUwA8Mrv"
     "Tllc"},
    {"mistral key "
     "wpGeUXQYHXeY"
     "KcPzJ6r5Adt6"
     "MzCK71OE",
     "wpGeUXQYHXeY"
     "KcPzJ6r5Adt6"
     "MzCK71OE"},
    {"https://b4e3"
     "c02eaa7f3b4a"
     "715e4e48dd74"
     "089a@o1.inge"
     "st.sentry.io"
     "/42",
     "b4e3c02eaa7f"
     "3b4a715e4e48"
     "dd74089a"},
};

inline constexpr Planted k_identities[] = {
    {"docker login -u tkovacs -p x registry.lab", "tkovacs"},
    {"sbatch: Submitted by user vdubois on login01", "vdubois"},
    {"SLURM_JOB_ACCOUNT=nlp-secretproj", "nlp-secretproj"},
    {"#SBATCH --time=1:00:00 --account=def-tremblay", "def-tremblay"},
    {"gcloud auth activate-service-account --key-file=/keys/proj-vision-4821.json", "proj-vision"},
    {"serial number: 1325021060233", "1325021060233"},
    {"call +46 70 123 45 67 when it ends", "123 45 67"},
    {"Running on ml-box-tango", "ml-box-tango"},
    {"/home/annette/run", "annette"},
    {"/Users/bjorn/x", "bjorn"},
    {"C:\\Users\\carla\\x", "carla"},
    {"C:\\\\Users\\\\dmitri\\\\x", "dmitri"},
    {"/scratch/eleonora/out", "eleonora"},
    {"/mnt/nfs/home/farida/x", "farida"},
    {"/gpfs/users/gunnar/x", "gunnar"},
    {"/data/users/hiroko/y", "hiroko"},
    {"USER=ingridx", "ingridx"},
    {"user: jamal", "jamal"},
    {"--user kristof", "kristof"},
    {"lena@login: ", "lena"},
    {"https://wandb.ai/mateusz/secretproj/runs/1", "mateusz"},
    {"https://wandb.ai/mateusz2/secretproj/runs/1", "secretproj"},
    {"wandb_entity: nadialab", "nadialab"},
    {"wandb: Currently logged in as: oliverx (teamorion)", "oliverx"},
    {"wandb: Currently logged in as: oliverx (teamorion)", "teamorion"},
    {"push to https://huggingface.co/petrovna/model", "petrovna"},
    {"git@github.com:quentinco/repo.git", "quentinco"},
    {"s3://rosalinds-bucket/x", "rosalinds-bucket"},
    {"mail to sven.t@uni-x.edu now", "sven.t@uni-x.edu"},
    {"nodelist=gpu[01-04]", "gpu[01-04]"},
    {"SLURM_JOB_NODELIST=nid001234", "nid001234"},
    {"MASTER_ADDR=tau7.cluster", "tau7.cluster"},
    {"ulm-a:41:83 [0] NCCL INFO x", "ulm-a"},
    {"Jan 02 10:11:12 vega kernel[1]: x", "vega"},
    {"inet 10.20.30.40/24", "10.20.30.40"},
    {"ether aa:bb:cc:dd:ee:01", "aa:bb:cc:dd:ee:01"},
    {"addr fe80::1ff:fe23:4567:890a", "fe80::1ff:fe23:4567:890a"},
    {"/pscratch/sd/w/wolfgang/x", "wolfgang"},
    {"running on node xen042", "xen042"},
    {"connect yak12.internal:22", "yak12.internal"},
    {"arn:aws:iam::123456789012:role/x", "123456789012"},
    {"GPU 0: GPU-1a2b3c4d-1111-2222-3333-444455556666", "GPU-1a2b3c4d-1111-2222-3333-444455556666"},
    {"uid=zsofia", "zsofia"},
};

/// Written when the rules were done, of other writings and kinds: what the rules were not made for.
inline constexpr Planted k_late[] = {
    {"PGPASSWORD=q"
     "uartz-9 psql"
     " -h db",
     "quartz-9"},
    {"mysql -u roo"
     "t -ps3cretsq"
     "l db",
     "s3cretsql"},
    {"sshpass -p o"
     "penme77 ssh "
     "x",
     "openme77"},
    {"curl -u ann:"
     "curlpw88 htt"
     "ps://x.org",
     "curlpw88"},
    {"curl --user "
     "ann:curlpw99"
     " https://x",
     "curlpw99"},
    {"htpasswd -b "
     "f ann htpw12"
     "34",
     "htpw1234"},
    {"openssl enc "
     "-pass pass:o"
     "pensslpw1",
     "opensslpw1"},
    {"export VAULT"
     "_TOKEN=s.c3j"
     "27xdcg2lMLzg"
     "eonyLGcTJ",
     "s.c3j27xdcg2"
     "lMLzgeonyLGc"
     "TJ"},
    {"setx API_SEC"
     "RET winsecre"
     "t1",
     "winsecret1"},
    {"$env:API_KEY"
     " = \"Fiz4soCm"
     "Z9cpvnpKnA1h"
     "\"",
     "Fiz4soCmZ9cp"
     "vnpKnA1h"},
    {"docker login"
     " -u ann -p d"
     "ockerpw11",
     "dockerpw11"},
    {"docker login"
     " --password="
     "dockerpw12",
     "dockerpw12"},
    {"wandb login "
     "211670eae679"
     "f02e8d28a790"
     "23c39c200661"
     "fccd",
     "211670eae679"
     "f02e8d28a790"
     "23c39c200661"
     "fccd"},
    {"huggingface-"
     "cli login --"
     "token hf_Eko"
     "MxrRVFTVA9aw"
     "7HIPtGADdzfL"
     "rjMcgMu",
     "hf_EkoMxrRVF"
     "TVA9aw7HIPtG"
     "ADdzfLrjMcgM"
     "u"},
    {"kaggle: {\"us"
     "ername\":\"x\","
     "\"key\":\"4dc3c"
     "d6089065c314"
     "6e80a9c22267"
     "0bb\"}",
     "4dc3cd608906"
     "5c3146e80a9c"
     "222670bb"},
    {"OPENAI_KEY: "
     "sk-ndI9le1kI"
     "3YLoJT6O0nPu"
     "MKvo8jMr8Y4e"
     "mFaDGGCg9QPv"
     "tZQ",
     "sk-ndI9le1kI"
     "3YLoJT6O0nPu"
     "MKvo8jMr8Y4e"
     "mFaDGGCg9QPv"
     "tZQ"},
    {"os.environ['"
     "HF_TOKEN'] ="
     " 'hf_a05mfSh"
     "L7uEIOejp2nn"
     "ERN66NvBERac"
     "PDC'",
     "hf_a05mfShL7"
     "uEIOejp2nnER"
     "N66NvBERacPD"
     "C"},
    {"os.environ[\""
     "WANDB_API_KE"
     "Y\"]=\"59b42b4"
     "ea410fb9102f"
     "29a422eb14ab"
     "2f2d0f0cc\"",
     "59b42b4ea410"
     "fb9102f29a42"
     "2eb14ab2f2d0"
     "f0cc"},
    {"wandb.login("
     "key=\"022238d"
     "aceee2092f07"
     "3ff80b9465ae"
     "f7ac86d66\")",
     "022238daceee"
     "2092f073ff80"
     "b9465aef7ac8"
     "6d66"},
    {"login(token="
     "'hf_YOl6UNII"
     "fW152CtE8R0K"
     "HceR7N1aYohf"
     "rU')",
     "hf_YOl6UNIIf"
     "W152CtE8R0KH"
     "ceR7N1aYohfr"
     "U"},
    {"client = Ope"
     "nAI(api_key="
     "\"t11ncUE1CR3"
     "mCrtRkWTpykB"
     "pIZdMBx1R\")",
     "t11ncUE1CR3m"
     "CrtRkWTpykBp"
     "IZdMBx1R"},
    {"anthropic.An"
     "thropic(api_"
     "key=\"PxJyDoH"
     "cGoipozX9ErM"
     "M0eQLtAweitC"
     "LORxWis8h\")",
     "PxJyDoHcGoip"
     "ozX9ErMM0eQL"
     "tAweitCLORxW"
     "is8h"},
    {"boto3.client"
     "(\"s3\", aws_s"
     "ecret_access"
     "_key=\"gnwKZ2"
     "ys5OFa75uYIc"
     "dMo46AYjkp4g"
     "y08VdUpNGu\")",
     "gnwKZ2ys5OFa"
     "75uYIcdMo46A"
     "Yjkp4gy08VdU"
     "pNGu"},
    {"Session(aws_"
     "session_toke"
     "n=\"30zp7tHNP"
     "5YFTiy7UQ6t2"
     "BWgFCcVjaxRf"
     "6BNz3EbzCLiV"
     "ry6IeJh5uh1r"
     "sc84fl8sFwOc"
     "hjS1ujoKhg16"
     "jQTqY9235nNT"
     "2J9ihRkfMaiH"
     "gAmYBiCh6Ziz"
     "kHfFsKE7ida6"
     "9z7ZRPefIVb5"
     "0756ehUGManB"
     "7QIsxBCMJOAr"
     "SUuWPnfGfulH"
     "2gnQtMsh4bBY"
     "oa0hnKiN3oi\""
     ")",
     "30zp7tHNP5YF"
     "Tiy7UQ6t2BWg"
     "FCcVjaxRf6BN"
     "z3EbzCLiVry6"
     "IeJh5uh1rsc8"
     "4fl8sFwOchjS"
     "1ujoKhg16jQT"
     "qY9235nNT2J9"
     "ihRkfMaiHgAm"
     "YBiCh6ZizkHf"
     "FsKE7ida69z7"
     "ZRPefIVb5075"
     "6ehUGManB7QI"
     "sxBCMJOArSUu"
     "WPnfGfulH2gn"
     "QtMsh4bBYoa0"
     "hnKiN3oi"},
    {"comet_ml.ini"
     "t(api_key=\"o"
     "NhN2inl2IO6v"
     "ozW5LUmU57MN"
     "\")",
     "oNhN2inl2IO6"
     "vozW5LUmU57M"
     "N"},
    {"neptune.init"
     "_run(api_tok"
     "en=\"xM4GI4PI"
     "uFQYGb18aiyt"
     "IMZorzBGMkrW"
     "609XHtgowVgr"
     "1MzEeGBCwjng"
     "5keJMLHNL1KS"
     "7rGlDI8rdEwG"
     "==\")",
     "xM4GI4PIuFQY"
     "Gb18aiytIMZo"
     "rzBGMkrW609X"
     "HtgowVgr1MzE"
     "eGBCwjng5keJ"
     "MLHNL1KS7rGl"
     "DI8rdEwG=="},
    {"mlflow.set_t"
     "racking_uri("
     "\"https://ann"
     ":mlpw12345@m"
     "lflow.x\")",
     "mlpw12345"},
    {"MLFLOW_TRACK"
     "ING_PASSWORD"
     "=mltrack99",
     "mltrack99"},
    {"MLFLOW_TRACK"
     "ING_TOKEN=UZ"
     "dbgWbNmXAosC"
     "2MLadXvXZ6Mm"
     "KGgyAU5Fz1t4"
     "36",
     "UZdbgWbNmXAo"
     "sC2MLadXvXZ6"
     "MmKGgyAU5Fz1"
     "t436"},
    {"CLEARML_API_"
     "SECRET_KEY=o"
     "8ZkmMglVzwQR"
     "6HvvxK07ZI5V"
     "4isXxbwLZNuL"
     "EzVTeGA4Wo5n"
     "D",
     "o8ZkmMglVzwQ"
     "R6HvvxK07ZI5"
     "V4isXxbwLZNu"
     "LEzVTeGA4Wo5"
     "nD"},
    {"api { creden"
     "tials { acce"
     "ss_key = \"A\""
     " secret_key "
     "= \"OR89qTVNq"
     "ZkLiEYgfpNsH"
     "wZkBHnGvPQcZ"
     "gDwMpYAGQQR5"
     "Vjiga\" } }",
     "OR89qTVNqZkL"
     "iEYgfpNsHwZk"
     "BHnGvPQcZgDw"
     "MpYAGQQR5Vji"
     "ga"},
    {"{\"credential"
     "s\": {\"secret"
     "\": \"9hk2Gocz"
     "pEjmqw9CY78K"
     "YeK2finmDb\"}"
     "}",
     "9hk2GoczpEjm"
     "qw9CY78KYeK2"
     "finmDb"},
    {"passwd=pw-of"
     "-four",
     "pw-of-four"},
    {"PASSWD: \"wit"
     "h space in\"",
     "with space i"
     "n"},
    {"pass_phrase:"
     " longphrase1"
     "2",
     "longphrase12"},
    {"ssh-keygen -"
     "N mykeypass1",
     "mykeypass1"},
    {"encryption_k"
     "ey: fd9c9b9f"
     "89900715dc1a"
     "c1a27df8713e"
     "4731de361b43"
     "be4de8db4947"
     "f39b8868",
     "fd9c9b9f8990"
     "0715dc1ac1a2"
     "7df8713e4731"
     "de361b43be4d"
     "e8db4947f39b"
     "8868"},
    {"FERNET_KEY=w"
     "PM8Pgp6M4rCo"
     "DARQbBnCGOiR"
     "EwF6rKjPoXee"
     "WNVVfv=",
     "wPM8Pgp6M4rC"
     "oDARQbBnCGOi"
     "REwF6rKjPoXe"
     "eWNVVfv="},
    {"SECRET_KEY_B"
     "ASE=423e6ed8"
     "c4b4a95db3ea"
     "22dfe9029629"
     "fa947bab3ae8"
     "e9ea7c72bb0b"
     "cc6bc4552e90"
     "71590d292a28"
     "3a2043d77fae"
     "cbaa4ff21db0"
     "c2e0b03dd475"
     "c5a6cd981f93",
     "423e6ed8c4b4"
     "a95db3ea22df"
     "e9029629fa94"
     "7bab3ae8e9ea"
     "7c72bb0bcc6b"
     "c4552e907159"
     "0d292a283a20"
     "43d77faecbaa"
     "4ff21db0c2e0"
     "b03dd475c5a6"
     "cd981f93"},
    {"DJANGO_SECRE"
     "T_KEY='k!9x("
     "2$m@7q#'",
     "k!9x(2$m@7q#"},
    {"jwt_secret: "
     "signme-pleas"
     "e",
     "signme-pleas"
     "e"},
    {"NEXTAUTH_SEC"
     "RET=TpJx6L6D"
     "wdBle6zCUGML"
     "WNlPmtemgOcL"
     "5RZL6w7Toj80",
     "TpJx6L6DwdBl"
     "e6zCUGMLWNlP"
     "mtemgOcL5RZL"
     "6w7Toj80"},
    {"RAILS_MASTER"
     "_KEY=f8fca2f"
     "7c164c8170fb"
     "e7d5d5a48481"
     "4",
     "f8fca2f7c164"
     "c8170fbe7d5d"
     "5a484814"},
    {"master_key: "
     "506442b83fe2"
     "906d62e61df5"
     "9a9c29e2",
     "506442b83fe2"
     "906d62e61df5"
     "9a9c29e2"},
    {"signing_key "
     "= XErIGqZrdv"
     "9y1HpcA3Ytte"
     "PSkHdxA22zuN"
     "5nJSoY7ivT9V"
     "wZjqFQMMYuHV"
     "T8Rkeu",
     "XErIGqZrdv9y"
     "1HpcA3YttePS"
     "kHdxA22zuN5n"
     "JSoY7ivT9VwZ"
     "jqFQMMYuHVT8"
     "Rkeu"},
    {"slack_webhoo"
     "k: https://h"
     "ooks.slack.c"
     "om/workflows"
     "/T0AAAAAA/A0"
     "BBBBBB/12345"
     "6789/oVc0YFG"
     "JnGIrotLLMZC"
     "1dltF",
     "T0AAAAAA/A0B"
     "BBBBB/123456"
     "789/oVc0YFGJ"
     "nGIrotLLMZC1"
     "dltF"},
    {"MATTERMOST_T"
     "OKEN=gockh10"
     "ev16injy4v0a"
     "zup7bqv",
     "gockh10ev16i"
     "njy4v0azup7b"
     "qv"},
    {"pushover tok"
     "en: mvt2g9yn"
     "6vsgkq8t9ow6"
     "6jm7mbmfip",
     "mvt2g9yn6vsg"
     "kq8t9ow66jm7"
     "mbmfip"},
    {"ntfy_token: "
     "tk_40vvfxr3h"
     "2ip889e9qkvj"
     "hasxpxkl",
     "tk_40vvfxr3h"
     "2ip889e9qkvj"
     "hasxpxkl"},
    {"gotify?token"
     "=mjzEdCZLy78"
     "qITw",
     "mjzEdCZLy78q"
     "ITw"},
    {"smtp_passwor"
     "d: mail-pass"
     "-1",
     "mail-pass-1"},
    {"IMAP_PASS=im"
     "appw1234",
     "imappw1234"},
    {"ldap_bind_pa"
     "ssword=ldapp"
     "w12",
     "ldappw12"},
    {"bindpw ldap-"
     "bind-2",
     "ldap-bind-2"},
    {"radius_secre"
     "t=radsec99",
     "radsec99"},
    {"rabbitmq: am"
     "qp://guest2:"
     "rabbitpw@mq/",
     "rabbitpw"},
    {"jdbc:mysql:/"
     "/h/db?user=a"
     "&password=jd"
     "bcpw11",
     "jdbcpw11"},
    {"Server=tcp:x"
     ";Uid=a;Pwd=o"
     "dbcpw11;",
     "odbcpw11"},
    {"snowflake://"
     "u:snowpw12@a"
     "cct/db",
     "snowpw12"},
    {"clickhouse:/"
     "/u:clickpw1@"
     "h:9000",
     "clickpw1"},
    {"ftp://u:ftpp"
     "w111@h/",
     "ftppw111"},
    {"sftp://u:sft"
     "ppw11@h/",
     "sftppw11"},
    {"https://oaut"
     "h2:q2v6Ynloz"
     "wBKMadCJhYH@"
     "gitlab.com/x"
     ".git",
     "q2v6YnlozwBK"
     "MadCJhYH"},
    {"https://x-ac"
     "cess-token:k"
     "ZLVhIQPk7VDp"
     "yCuqyJZ9fmGe"
     "Wa5n6skwawSf"
     "4d1@github.c"
     "om/a/b",
     "kZLVhIQPk7VD"
     "pyCuqyJZ9fmG"
     "eWa5n6skwawS"
     "f4d1"},
    {"pip install "
     "--index-url "
     "https://u:pi"
     "ppw123@pypi."
     "corp/simple",
     "pippw123"},
    {"[pypi]\nusern"
     "ame = __toke"
     "n__\npassword"
     " = pypi-52sa"
     "0bHkH58hVhhb"
     "a5BU6DSun5bu"
     "YmUwyT4l4EPH"
     "2cPg3ZDesGh6"
     "PiTqZ8P4E6u9"
     "3qX3iakzKOpv"
     "akH5EGhyIH4i"
     "k8dASPuTBULE",
     "pypi-52sa0bH"
     "kH58hVhhba5B"
     "U6DSun5buYmU"
     "wyT4l4EPH2cP"
     "g3ZDesGh6PiT"
     "qZ8P4E6u93qX"
     "3iakzKOpvakH"
     "5EGhyIH4ik8d"
     "ASPuTBULE"},
    {"//registry.n"
     "pmjs.org/:_a"
     "uthToken=c5c"
     "0hZJWslOCTBd"
     "5UTUfJ7xxe4N"
     "MS27s5DMU",
     "c5c0hZJWslOC"
     "TBd5UTUfJ7xx"
     "e4NMS27s5DMU"},
    {"_auth=dXNlcj"
     "pwYXNzd29yZD"
     "Ey",
     "dXNlcjpwYXNz"
     "d29yZDEy"},
    {"machine gith"
     "ub.com\n  log"
     "in x\n  passw"
     "ord netrcpw1"
     "2",
     "netrcpw12"},
    {"default logi"
     "n a password"
     " netrcpw34",
     "netrcpw34"},
    {"token: \"kube"
     "adm.12W5eBLo"
     "4sjMioPM\"",
     "kubeadm.12W5"
     "eBLo4sjMioPM"},
    {"    token: 8"
     "4DpGTu0U95R3"
     "at4IVs98xcaF"
     "KO3THtsMRLuP"
     "gqSyRXzqh4Hl"
     "hOT57LqORIo",
     "84DpGTu0U95R"
     "3at4IVs98xca"
     "FKO3THtsMRLu"
     "PgqSyRXzqh4H"
     "lhOT57LqORIo"},
    {"bearer_token"
     ": qFdEc6hEh6"
     "CAmlSiQbzkFK"
     "SwMPLRujBLy5"
     "J5Cnd6",
     "qFdEc6hEh6CA"
     "mlSiQbzkFKSw"
     "MPLRujBLy5J5"
     "Cnd6"},
    {"\"refresh_tok"
     "en\":\"wlYA75f"
     "DLEjxp6XUqey"
     "ChSg02orhv8i"
     "LmxxKHmbPqcj"
     "xQytyuP\"",
     "wlYA75fDLEjx"
     "p6XUqeyChSg0"
     "2orhv8iLmxxK"
     "HmbPqcjxQyty"
     "uP"},
    {"\"id_token\": "
     "\"QfiO2lmfQCM"
     "mtDkc34LUJmB"
     "mfzbgcuQ2zBE"
     "H6LkoilyuPnJ"
     "DTbCsU0nvhxQ"
     "wlfFp0gKYQPK"
     "fsq1mydDUadX"
     "sNt9CIf\"",
     "QfiO2lmfQCMm"
     "tDkc34LUJmBm"
     "fzbgcuQ2zBEH"
     "6LkoilyuPnJD"
     "TbCsU0nvhxQw"
     "lfFp0gKYQPKf"
     "sq1mydDUadXs"
     "Nt9CIf"},
    {"\"private_key"
     "_id\": \"44e10"
     "7d42c9fd2179"
     "837de27b9a61"
     "5c1a5ec6cc1\"",
     "44e107d42c9f"
     "d2179837de27"
     "b9a615c1a5ec"
     "6cc1"},
    {"\"private_key"
     "\": \"-----BEG"
     "IN PRIVATE K"
     "EY-----\\nNaW"
     "PLyjzKeNZNmd"
     "wTecforL3fNi"
     "YaEDsRX8RnBh"
     "LvQgZk7ptNRG"
     "XDJu7xXIxPu1"
     "6\\nHBU1YcF24"
     "YUQx4hqDTZmP"
     "fCMJgmICNTab"
     "eisIhtjQUucq"
     "YJ4N1RitcZIY"
     "h3WOGSX\\n---"
     "--END PRIVAT"
     "E KEY-----\\n"
     "\"",
     "-----BEGIN P"
     "RIVATE KEY--"
     "---\\nNaWPLyj"
     "zKeNZNmdwTec"
     "forL3fNiYaED"
     "sRX8RnBhLvQg"
     "Zk7ptNRGXDJu"
     "7xXIxPu16\\nH"
     "BU1YcF24YUQx"
     "4hqDTZmPfCMJ"
     "gmICNTabeisI"
     "htjQUucqYJ4N"
     "1RitcZIYh3WO"
     "GSX\\n-----EN"
     "D PRIVATE KE"
     "Y-----\\n"},
    {"-----BEGIN P"
     "GP PRIVATE K"
     "EY BLOCK----"
     "-\n\nWnNIC2Bvo"
     "ekAzwvTqqE62"
     "NjsWqH9x3XPy"
     "oQFzbHZfDfY7"
     "VSftROK7ZMex"
     "KWqtPhF\nvV6b"
     "zJelQs2jTs6B"
     "5ZHX6E6ZRDYf"
     "2lTeuU4QEBCW"
     "U5XkTQ0q4Lpe"
     "YnV95XBk\n---"
     "--END PGP PR"
     "IVATE KEY BL"
     "OCK-----",
     "WnNIC2BvoekA"
     "zwvTqqE62Njs"
     "WqH9x3XPyoQF"
     "zbHZfDfY7VSf"
     "tROK7ZMexKWq"
     "tPhF\nvV6bzJe"
     "lQs2jTs6B5ZH"
     "X6E6ZRDYf2lT"
     "euU4QEBCWU5X"
     "kTQ0q4LpeYnV"
     "95XBk"},
    {"-----BEGIN E"
     "C PRIVATE KE"
     "Y-----\nt8NxE"
     "oDnianaERE1d"
     "4cY96YCzIrgR"
     "TfXeBJmMROQr"
     "OPhA7iZAPjf2"
     "pwjFn0j41sy\n"
     "-----END EC "
     "PRIVATE KEY-"
     "----",
     "t8NxEoDniana"
     "ERE1d4cY96YC"
     "zIrgRTfXeBJm"
     "MROQrOPhA7iZ"
     "APjf2pwjFn0j"
     "41sy"},
    {"GITHUB_TOKEN"
     "=ghs_VQWG4BU"
     "ztNsZrK9M0KK"
     "VnsfzkSXaSXv"
     "qifPp",
     "ghs_VQWG4BUz"
     "tNsZrK9M0KKV"
     "nsfzkSXaSXvq"
     "ifPp"},
    {"glcbt glcbt-"
     "64_PXUtL6gvI"
     "4EE0G4tTH2c",
     "glcbt-64_PXU"
     "tL6gvI4EE0G4"
     "tTH2c"},
    whole("sntrys_gxreC"
          "Kn3a3eDWQZgv"
          "ysZQtoQXtrUL"
          "V2wN1k1Ikapt"
          "Inv1RzKIMYnq"
          "SOpLAel"),
    whole("dp.pt.s8y7IR"
          "sRaQoqZY7rID"
          "KtH3CMSWuizH"
          "ZV5B1i2eKXET"
          "c"),
    whole("rubygems_97c"
          "d4c694e538fd"
          "34a0848c8a72"
          "f6b814209205"
          "af46df1db"),
    {"sbp_c1688697"
     "e1505328b092"
     "e062b087fc93"
     "fcd80047",
     "sbp_c1688697"
     "e1505328b092"
     "e062b087fc93"
     "fcd80047"},
    whole("pscale_tkn_U"
          "YuXgqRzXoocW"
          "TRE5pUmGQVNv"
          "LNDvIiTrNLWG"
          "JJXWLb"),
    whole("xkeysib-00c1"
          "c3a605a23adf"
          "7fd582ca5b04"
          "c16bed33eded"
          "c7c11ee911a4"
          "ea8a6fc14f37"
          "-L17py8J1HzG"
          "gQQEL"),
    whole("EAACEdEose0c"
          "BA3CtVQhzWdN"
          "iA3bMfR9pPEG"
          "jcywf4PEzf2D"
          "x3j5Ey8JzXLG"
          "VC7W93O1SHaL"
          "nY"),
    whole("ATATT3xFfB2r"
          "nd5fEFpNioU4"
          "9uMjqbYA0VsU"
          "2o8RqmNsNLxI"
          "KsldCIRHQ8Wn"
          "nWTMAEsNv"),
    whole("sl.tX3TxaMJE"
          "oRbX0naRdIgH"
          "8GWgtaPflHSH"
          "34S82FrpdO7e"
          "YMvamOcoEXaV"
          "Slcq9RSqsArn"
          "PAaXIl53QYaR"
          "VG042xlGiqGd"
          "5NFyXBXBulqs"
          "W5083BqoJeEX"
          "KdgUeqpmDOBy"
          "Zb1OpisHDEd"),
    {"bot token NT"
     "k0pZyp7NhlNf"
     "X1JgZGvyFA.K"
     "9psny.v5Qqzu"
     "ex4HbdJBX3X8"
     "154BGWaijiHx"
     "yGTgkHEk",
     "NTk0pZyp7Nhl"
     "NfX1JgZGvyFA"
     ".K9psny.v5Qq"
     "zuex4HbdJBX3"
     "X8154BGWaiji"
     "HxyGTgkHEk"},
    {"TWILIO_AUTH_"
     "TOKEN=74299b"
     "77de16e53e43"
     "445d3d0743c5"
     "90",
     "74299b77de16"
     "e53e43445d3d"
     "0743c590"},
    {"stripe key s"
     "k_test_ZHfT6"
     "9ipw2xCYaTFN"
     "QiHq6aV",
     "sk_test_ZHfT"
     "69ipw2xCYaTF"
     "NQiHq6aV"},
    {"ALGOLIA_ADMI"
     "N_KEY=f643c9"
     "887b2dfcbdae"
     "31915cac73b1"
     "ab",
     "f643c9887b2d"
     "fcbdae31915c"
     "ac73b1ab"},
    {"MAPBOX=pk.ey"
     "Je8OhvhfuAXa"
     "l9GAslW9PX9m"
     "sX1TNmwlDULf"
     "HhwwWD2FNQlR"
     "zy8bp3XZFSkr"
     "G.FZO1QVCUJ0"
     "JySpSDwfDZnF",
     "pk.eyJe8Ohvh"
     "fuAXal9GAslW"
     "9PX9msX1TNmw"
     "lDULfHhwwWD2"
     "FNQlRzy8bp3X"
     "ZFSkrG.FZO1Q"
     "VCUJ0JySpSDw"
     "fDZnF"},
    {"cookie: conn"
     "ect.sid=s%3A"
     "jI7VotBn7rwN"
     "liA0veaVro66"
     "0ELyFc",
     "connect.sid="
     "s%3AjI7VotBn"
     "7rwNliA0veaV"
     "ro660ELyFc"},
    {"sessionid=rw"
     "IYwcrbzHcU5v"
     "uE1H91Wq1jtH"
     "sHZTs9",
     "rwIYwcrbzHcU"
     "5vuE1H91Wq1j"
     "tHsHZTs9"},
    {"csrftoken=pj"
     "H73NGaUiI18H"
     "J3ReaC5b7YMr"
     "s7ffbszYgxeG"
     "jv2KxlUMAW0K"
     "pWYlzhrYckl1"
     "dW",
     "pjH73NGaUiI1"
     "8HJ3ReaC5b7Y"
     "Mrs7ffbszYgx"
     "eGjv2KxlUMAW"
     "0KpWYlzhrYck"
     "l1dW"},
    {"PHPSESSID=j4"
     "zuf5oqw0cqeq"
     "ypn1e9l073y5",
     "j4zuf5oqw0cq"
     "eqypn1e9l073"
     "y5"},
    {"otp secret J"
     "BSWY3DPEHPK3"
     "PXP",
     "JBSWY3DPEHPK"
     "3PXP"},
    {"pin_code: 48"
     "2913",
     "482913"},
    {"recovery cod"
     "e: abcd-efgh"
     "-1234-5678",
     "abcd-efgh-12"
     "34-5678"},
    {"vpn_psk=psk-"
     "of-vpn-1",
     "psk-of-vpn-1"},
    {"wifi_psk: wl"
     "an-key-12",
     "wlan-key-12"},
    {"snmp_communi"
     "ty: privcomm"
     "1",
     "privcomm1"},
    {"runpod key r"
     "pa_HOLGT6JCW"
     "K95V5J2WTGPJ"
     "NM8WHKMKXUXG"
     "SQHPWBL",
     "rpa_HOLGT6JC"
     "WK95V5J2WTGP"
     "JNM8WHKMKXUX"
     "GSQHPWBL"},
    {"LAMBDA_API_K"
     "EY=secret_la"
     "b_899848f280"
     "984c5425891d"
     "b7febb68b7.E"
     "8jHk87qvET5A"
     "G7k9HMXTW3JD"
     "8qqEJBa",
     "secret_lab_8"
     "99848f280984"
     "c5425891db7f"
     "ebb68b7.E8jH"
     "k87qvET5AG7k"
     "9HMXTW3JD8qq"
     "EJBa"},
    {"together key"
     " 42d52bf63d4"
     "f62f02498a78"
     "44d0fa525133"
     "990d14520b26"
     "c7dba7bc0781"
     "babe7",
     "42d52bf63d4f"
     "62f02498a784"
     "4d0fa5251339"
     "90d14520b26c"
     "7dba7bc0781b"
     "abe7"},
    {"FIREWORKS_AP"
     "I_KEY=fw_74a"
     "LMJNQceOy6VL"
     "PrpnQmh",
     "fw_74aLMJNQc"
     "eOy6VLPrpnQm"
     "h"},
    whole("sk-or-v1-805"
          "9729a617227e"
          "61d4bb22c4d7"
          "a6c92f01f1c2"
          "d54265f7aa44"
          "4a16747ebb38"
          "4"),
    {"PASSWORD\ttab"
     "bed-pass1",
     "tabbed-pass1"},
    {"Password for"
     " ann: typed-"
     "in-pw",
     "typed-in-pw"},
    {"password is "
     "spoken-pw-1",
     "spoken-pw-1"},
    {"the api key "
     "is 83ELuWrDH"
     "TULlHRhhi0kc"
     "wzh",
     "83ELuWrDHTUL"
     "lHRhhi0kcwzh"},
    {"secret=urlse"
     "cret1&x=1",
     "urlsecret1"},
    {"drwxr-xr-x 2"
     " ursula user"
     "s 4096",
     "ursula"},
    {"-rw-r--r-- 1"
     " viktor grp "
     "12 Jan 1",
     "viktor"},
    {"viktoria  12"
     "345  0.0  py"
     "thon train.p"
     "y",
     "viktoria"},
    {"wendy     pt"
     "s/0  2024-01"
     "-01",
     "wendy"},
    {"(base) xaver"
     "@box7:~$ pyt"
     "hon",
     "xaver"},
    {"/nfs/homes/y"
     "usuf/x",
     "yusuf"},
    {"/afs/uni.edu"
     "/user/z/zeld"
     "a/x",
     "zelda"},
    {"file:///home"
     "/agathe/x",
     "agathe"},
    {"~benedikt/da"
     "ta",
     "benedikt"},
    {"cache at /va"
     "r/folders/ce"
     "line/x",
     "celine"},
    {"/mnt/c/Users"
     "/dorothea/x",
     "dorothea"},
    {"\\\\server9\\sh"
     "are\\x",
     "server9"},
    {"HOME=/home/e"
     "milio",
     "emilio"},
    {"PWD=/home/fa"
     "bian/w",
     "fabian"},
    {"\"user_name\":"
     " \"gretel\"",
     "gretel"},
    {"author = \"He"
     "inrich Maier"
     "\"",
     "Maier"},
    {"Author: Ines"
     " Lang <ines@"
     "x.org>",
     "ines@x.org"},
    {"Signed-off-b"
     "y: Jo <jo.k@"
     "uni.de>",
     "jo.k@uni.de"},
    {"contact: kir"
     "a (at) uni.d"
     "e",
     "kira"},
    {"submitted by"
     " lorenzo",
     "lorenzo"},
    {"Job 123 for "
     "user marek",
     "marek"},
    {"sacct -u nor"
     "bert",
     "norbert"},
    {"sudo -u olga"
     " python",
     "olga"},
    {"chown pavel:"
     "users x",
     "pavel"},
    {"hub_model_id"
     ": quirin/lla"
     "ma-x",
     "quirin"},
    {"repo_id=rahe"
     "l/model-x",
     "rahel"},
    {"wandb: View "
     "project at h"
     "ttps://wandb"
     ".ai/sabine/p",
     "sabine"},
    {"entity=\"tara"
     "s-lab\"",
     "taras-lab"},
    {"https://gith"
     "ub.com/ulrik"
     "e/x",
     "ulrike"},
    {"gs://vera-bu"
     "cket-7/x",
     "vera-bucket-"
     "7"},
    {"hostname: bl"
     "ade17.uni.ed"
     "u",
     "blade17.uni."
     "edu"},
    {"Running on h"
     "ost: cobalt",
     "cobalt"},
    {"node_rank=0 "
     "master=draco"
     ".uni.de:2950"
     "0",
     "draco.uni.de"},
    {"tcp://falcon"
     "3:29500",
     "falcon3"},
    {"ssh -p 22 ge"
     "mini01",
     "gemini01"},
    {"IP 192.168.4"
     ".77 up",
     "192.168.4.77"},
    {"from 172.16."
     "5.6 port 22",
     "172.16.5.6"},
    {"2001:db8:85a"
     "3::8a2e:370:"
     "7334",
     "2001:db8:85a"
     "3::8a2e:370:"
     "7334"},
    {"hwaddr 00-1A"
     "-2B-3C-4D-5E",
     "00-1A-2B-3C-"
     "4D-5E"},
    {"phone +49 17"
     "1 555 1234",
     "+49 171 555 "
     "1234"},
};

}  // namespace aplomb::report::test
