#pragma once
/// One secret of each further kind of key, by the services' documented forms. All made by chance.

#include <string_view>

namespace aplomb::report::test {

struct Kind {
  std::string_view name;
  std::string_view text;
  std::string_view secret;
};

// Keys are cut so that no scanner of sources takes them for real ones.
inline constexpr Kind k_kinds[] = {
    {"1password-service",
     "using ops_e"
     "yJwafr7-u42"
     "Fjahs5LdTGj"
     "jGu5PDHHIUr"
     "QdMftdK7Z9Z"
     "2AOyxpz-Yyj"
     "1v3X-n7e90m"
     "e-BU_vs7PeH"
     "ZXTPlblrJE3"
     "jAe4haR7K8X"
     "yZCB6IAUUJc"
     "Ta_RXcrzEBZ"
     "shBfTf39VMB"
     "lMJzjtPrcWC"
     "3f5fMqIY3Dw"
     "arw4xQTQzKE"
     "e7-PR9qR-hM"
     "jNzRf7-SKZS"
     "DK_Vb2x2kRV"
     "IIWKaNwGu0e"
     "_e64HmE-tWN"
     "2EABTPu1m0u"
     "geWOg7GLqwS"
     "BIPt3oILT9 "
     "for upload",
     "ops_eyJwafr"
     "7-u42Fjahs5"
     "LdTGjjGu5PD"
     "HHIUrQdMftd"
     "K7Z9Z2AOyxp"
     "z-Yyj1v3X-n"
     "7e90me-BU_v"
     "s7PeHZXTPlb"
     "lrJE3jAe4ha"
     "R7K8XyZCB6I"
     "AUUJcTa_RXc"
     "rzEBZshBfTf"
     "39VMBlMJzjt"
     "PrcWC3f5fMq"
     "IY3Dwarw4xQ"
     "TQzKEe7-PR9"
     "qR-hMjNzRf7"
     "-SKZSDK_Vb2"
     "x2kRVIIWKaN"
     "wGu0e_e64Hm"
     "E-tWN2EABTP"
     "u1m0ugeWOg7"
     "GLqwSBIPt3o"
     "ILT9"},
    {"1password-secret-key",
     "using A3-VR"
     "SWMC-4P43NR"
     "RWYYE-VR41O"
     "-XOUTK-VJP0"
     "G for uploa"
     "d",
     "A3-VRSWMC-4"
     "P43NRRWYYE-"
     "VR41O-XOUTK"
     "-VJP0G"},
    {"adobe",
     "using p8e-a"
     "skbi9ujzpxe"
     "u40scvpetp6"
     "937zklf2w f"
     "or upload",
     "p8e-askbi9u"
     "jzpxeu40scv"
     "petp6937zkl"
     "f2w"},
    {"age",
     "using AGE-S"
     "ECRET-KEY-1"
     "Q63ZKC37XPQ"
     "VZJ6XLYWTH0"
     "RQZUUJ24PDN"
     "AHSY9UGN257"
     "ZVU9KRT945X"
     "5KE for upl"
     "oad",
     "AGE-SECRET-"
     "KEY-1Q63ZKC"
     "37XPQVZJ6XL"
     "YWTH0RQZUUJ"
     "24PDNAHSY9U"
     "GN257ZVU9KR"
     "T945X5KE"},
    {"airtable-pat",
     "using patA9"
     "t5jfS6SyI6A"
     "D.1a22959ee"
     "472b4812d57"
     "02984287c56"
     "472fb7fd100"
     "68e2cb461d4"
     "8609f848644"
     " for upload",
     "patA9t5jfS6"
     "SyI6AD.1a22"
     "959ee472b48"
     "12d57029842"
     "87c56472fb7"
     "fd10068e2cb"
     "461d48609f8"
     "48644"},
    {"airtable-key",
     "airtable_ke"
     "y: keyOXd47"
     "EAMQBl9ny",
     "keyOXd47EAM"
     "QBl9ny"},
    {"alibaba",
     "using LTAIF"
     "JabvGwdDb4q"
     "6iPKf9ZX fo"
     "r upload",
     "LTAIFJabvGw"
     "dDb4q6iPKf9"
     "ZX"},
    {"alibaba-secret",
     "ALICLOUD_SE"
     "CRET_KEY=F4"
     "jnnXsiHR8yW"
     "moIJzGKZyfF"
     "k8ECgq",
     "F4jnnXsiHR8"
     "yWmoIJzGKZy"
     "fFk8ECgq"},
    {"anthropic",
     "using sk-an"
     "t-api03-SiU"
     "14oZPnoUjJG"
     "XwQQRw9dlUW"
     "1cXYngpNpfe"
     "XKmZzatoTZV"
     "ZGWw_9cLMIB"
     "ZgFjT88NpmN"
     "itL1LP7Klzd"
     "oS-TkLhjXI7"
     "G8AA for up"
     "load",
     "sk-ant-api0"
     "3-SiU14oZPn"
     "oUjJGXwQQRw"
     "9dlUW1cXYng"
     "pNpfeXKmZza"
     "toTZVZGWw_9"
     "cLMIBZgFjT8"
     "8NpmNitL1LP"
     "7KlzdoS-TkL"
     "hjXI7G8AA"},
    {"anthropic-admin",
     "using sk-an"
     "t-admin01-7"
     "3V3Zw_r9h9x"
     "Vl62DmX_7bz"
     "EesW8rauyH8"
     "j1vwhIT_A7r"
     "P_eAmILknoq"
     "gR9M9Jx3PW8"
     "IlGeptr97mu"
     "cY5sGF99cbE"
     "nSp-AA for "
     "upload",
     "sk-ant-admi"
     "n01-73V3Zw_"
     "r9h9xVl62Dm"
     "X_7bzEesW8r"
     "auyH8j1vwhI"
     "T_A7rP_eAmI"
     "LknoqgR9M9J"
     "x3PW8IlGept"
     "r97mucY5sGF"
     "99cbEnSp-AA"},
    {"artifactory",
     "using AKCp2"
     "g13oGcEJX1F"
     "3Zewf32y8u6"
     "UR1AoVRqrNa"
     "hcGK0thpjuJ"
     "1OAGCdF0SNG"
     "DfSnvPic8P5"
     "1p for uplo"
     "ad",
     "AKCp2g13oGc"
     "EJX1F3Zewf3"
     "2y8u6UR1AoV"
     "RqrNahcGK0t"
     "hpjuJ1OAGCd"
     "F0SNGDfSnvP"
     "ic8P51p"},
    {"artifactory-ref",
     "using cmVmd"
     "GtuKb7mYS5e"
     "xrQmUYt5hgA"
     "662cz6o8OvG"
     "miiGSVQhdVu"
     "gFkY6AzOUQE"
     "f3A9 for up"
     "load",
     "cmVmdGtuKb7"
     "mYS5exrQmUY"
     "t5hgA662cz6"
     "o8OvGmiiGSV"
     "QhdVugFkY6A"
     "zOUQEf3A9"},
    {"asana",
     "asana_token"
     "=1/20991706"
     "14428160:e6"
     "8d55b82e0a4"
     "ae595c073d6"
     "e2aa25bc",
     "1/209917061"
     "4428160:e68"
     "d55b82e0a4a"
     "e595c073d6e"
     "2aa25bc"},
    {"atlassian",
     "using ATATT"
     "3KD3HJ3vJVA"
     "sLf9PunlCmj"
     "zNKZNNHLFri"
     "Cv_FXVKkQP9"
     "ZiGBO6HeBwU"
     "mTo4DqIOJQM"
     "N6O2c6HRWqM"
     "9F-ETpd3Iei"
     "etgRCKGXpOf"
     "bELR3J4-b41"
     "BcsP3FYDyj8"
     "r89Ob5InSUL"
     "VbGRKIzV6m-"
     "iA64BUTcALP"
     "hjlQiyhAAI5"
     "P9fOZd60dCj"
     "0RyiSOSX9yK"
     " for upload",
     "ATATT3KD3HJ"
     "3vJVAsLf9Pu"
     "nlCmjzNKZNN"
     "HLFriCv_FXV"
     "KkQP9ZiGBO6"
     "HeBwUmTo4Dq"
     "IOJQMN6O2c6"
     "HRWqM9F-ETp"
     "d3IeietgRCK"
     "GXpOfbELR3J"
     "4-b41BcsP3F"
     "YDyj8r89Ob5"
     "InSULVbGRKI"
     "zV6m-iA64BU"
     "TcALPhjlQiy"
     "hAAI5P9fOZd"
     "60dCj0RyiSO"
     "SX9yK"},
    {"authress",
     "using sc_o7"
     "kvf0.abcd.a"
     "cc-rkrv0hko"
     "nn6.ZX9xG4K"
     "LK6A6UAfchI"
     "wi1XwW7X969"
     "kkVmOXjt8kO"
     " for upload",
     "sc_o7kvf0.a"
     "bcd.acc-rkr"
     "v0hkonn6.ZX"
     "9xG4KLK6A6U"
     "AfchIwi1XwW"
     "7X969kkVmOX"
     "jt8kO"},
    {"aws-bedrock",
     "using ABSKQ"
     "Pgn8wadqcSA"
     "A0XnPkNy610"
     "Y6WA3uusId3"
     "cSxJeK9K+zU"
     "KuqtvC0PrpO"
     "NlXWRwoXh67"
     "7n/Lhm4eMto"
     "vg5kBdxNDLR"
     "zD4mQtC5dsq"
     "62JlYIArG f"
     "or upload",
     "ABSKQPgn8wa"
     "dqcSAA0XnPk"
     "Ny610Y6WA3u"
     "usId3cSxJeK"
     "9K+zUKuqtvC"
     "0PrpONlXWRw"
     "oXh677n/Lhm"
     "4eMtovg5kBd"
     "xNDLRzD4mQt"
     "C5dsq62JlYI"
     "ArG"},
    {"aws-session",
     "aws_session"
     "_token = Fw"
     "oGZXIvYXdzE"
     "zm0sJjcXV8O"
     "m6s+AbB4y8r"
     "ugiFs89OoZE"
     "k6m8MihTA6V"
     "R+NGlpdz2xK"
     "PKemmO7i5CQ"
     "DiHsyxsk47M"
     "sOxLaiPn50u"
     "ZlQytYYQ3UL"
     "+FL2L+qSSIo"
     "EYdZAbRc7Un"
     "Ree7ZUZL3R7"
     "yonRit+EcMb"
     "dDHwgzdkNGd"
     "XE0hKpyLwte"
     "GSDUztdF/Y4"
     "LP7VtU3D/2h"
     "PMlTQQdfDaS"
     "36",
     "FwoGZXIvYXd"
     "zEzm0sJjcXV"
     "8Om6s+AbB4y"
     "8rugiFs89Oo"
     "ZEk6m8MihTA"
     "6VR+NGlpdz2"
     "xKPKemmO7i5"
     "CQDiHsyxsk4"
     "7MsOxLaiPn5"
     "0uZlQytYYQ3"
     "UL+FL2L+qSS"
     "IoEYdZAbRc7"
     "UnRee7ZUZL3"
     "R7yonRit+Ec"
     "MbdDHwgzdkN"
     "GdXE0hKpyLw"
     "teGSDUztdF/"
     "Y4LP7VtU3D/"
     "2hPMlTQQdfD"
     "aS36"},
    {"azure-ad",
     "client secr"
     "et is 0VX8Q"
     "~bfuKgbqIAa"
     "waliojJXZiA"
     "jEXbUseepbr"
     "ue",
     "0VX8Q~bfuKg"
     "bqIAawalioj"
     "JXZiAjEXbUs"
     "eepbrue"},
    {"azure-storage",
     "DefaultEndp"
     "ointsProtoc"
     "ol=https;Ac"
     "countName=c"
     "kpt;Account"
     "Key=i7HItOm"
     "rv3ARNR2FAw"
     "aVpZbrEKa5S"
     "gy2awReQyI8"
     "Mj8YCHNBCv9"
     "cTG2+jPLj0J"
     "cMHCbId6Vk8"
     "E1Cfu5Ac0F9"
     "C3==;Endpoi"
     "ntSuffix=co"
     "re.windows."
     "net",
     "i7HItOmrv3A"
     "RNR2FAwaVpZ"
     "brEKa5Sgy2a"
     "wReQyI8Mj8Y"
     "CHNBCv9cTG2"
     "+jPLj0JcMHC"
     "bId6Vk8E1Cf"
     "u5Ac0F9C3=="},
    {"azure-sas",
     "GET https:/"
     "/ckpt.blob."
     "core.window"
     "s.net/w/mod"
     "el.pt?sv=20"
     "22-11-02&sr"
     "=b&sig=5Wy6"
     "AvXII2N6dYw"
     "fJCkmZBk6Yb"
     "PVZz6FKgb0Y"
     "f1GVts%3D",
     "5Wy6AvXII2N"
     "6dYwfJCkmZB"
     "k6YbPVZz6FK"
     "gb0Yf1GVts%"
     "3D"},
    {"beamer",
     "beamer toke"
     "n b_m4B7KF6"
     "LVC6O3TEo2t"
     "qflj4ll4kFX"
     "CZ1sy-5ZzIT"
     "bjs2",
     "b_m4B7KF6LV"
     "C6O3TEo2tqf"
     "lj4ll4kFXCZ"
     "1sy-5ZzITbj"
     "s2"},
    {"bitbucket",
     "using ATBBw"
     "H3oXQWQSKqM"
     "5oQRUDvFS2a"
     "99kzexIJ9 f"
     "or upload",
     "ATBBwH3oXQW"
     "QSKqM5oQRUD"
     "vFS2a99kzex"
     "IJ9"},
    {"buildkite",
     "using bkua_"
     "2a2cbbb1995"
     "6ce3d37b1ae"
     "064b5cb7e5b"
     "8d38d3b for"
     " upload",
     "bkua_2a2cbb"
     "b19956ce3d3"
     "7b1ae064b5c"
     "b7e5b8d38d3"
     "b"},
    {"cerebras",
     "using csk-g"
     "qcek02d6lu4"
     "pcbx30dzm5n"
     "l2khrojxnx1"
     "cp2129m9jtc"
     "lk2 for upl"
     "oad",
     "csk-gqcek02"
     "d6lu4pcbx30"
     "dzm5nl2khro"
     "jxnx1cp2129"
     "m9jtclk2"},
    {"clickhouse",
     "using 4b1dP"
     "8L6Mqspyxdv"
     "LwahfR9gs6K"
     "Ix1ATdrd17o"
     "REBu for up"
     "load",
     "4b1dP8L6Mqs"
     "pyxdvLwahfR"
     "9gs6KIx1ATd"
     "rd17oREBu"},
    {"clojars",
     "using CLOJA"
     "RS_02s7yytl"
     "krfukjwg38r"
     "3fr9sxl5bt7"
     "vcokxew41pl"
     "or7olp90t54"
     "vvqanrgo fo"
     "r upload",
     "CLOJARS_02s"
     "7yytlkrfukj"
     "wg38r3fr9sx"
     "l5bt7vcokxe"
     "w41plor7olp"
     "90t54vvqanr"
     "go"},
    {"cloudflare-origin",
     "using v1.0-"
     "a82e10cac5c"
     "a2fbb73b738"
     "88-b50bcadc"
     "b4d1ce46aa9"
     "bb0021b6b4a"
     "e7d53280589"
     "27a6100bd14"
     "aec97ba1561"
     "7fdf9eff8cb"
     "8d8009572a5"
     "13b3a9b2dc1"
     "dfd047fe9fd"
     "99bd25359f9"
     "b90e34087b8"
     "71311b7928a"
     "a8e872 for "
     "upload",
     "v1.0-a82e10"
     "cac5ca2fbb7"
     "3b73888-b50"
     "bcadcb4d1ce"
     "46aa9bb0021"
     "b6b4ae7d532"
     "8058927a610"
     "0bd14aec97b"
     "a15617fdf9e"
     "ff8cb8d8009"
     "572a513b3a9"
     "b2dc1dfd047"
     "fe9fd99bd25"
     "359f9b90e34"
     "087b871311b"
     "7928aa8e872"},
    {"cloudflare",
     "CLOUDFLARE_"
     "API_TOKEN=9"
     "j9P2dS4bu67"
     "aD2cNuKcjJ_"
     "I0ddiV4Ynp6"
     "HTToHu",
     "9j9P2dS4bu6"
     "7aD2cNuKcjJ"
     "_I0ddiV4Ynp"
     "6HTToHu"},
    {"cohere",
     "CO_API_KEY="
     "iiO3z4ZI4qC"
     "3C1h7L2ros4"
     "u5fDHDUIT6b"
     "9yc4Cjm",
     "iiO3z4ZI4qC"
     "3C1h7L2ros4"
     "u5fDHDUIT6b"
     "9yc4Cjm"},
    {"comet",
     "COMET_API_K"
     "EY=G0PBjeye"
     "Bw20O4q0e5f"
     "7DIiob",
     "G0PBjeyeBw2"
     "0O4q0e5f7DI"
     "iob"},
    {"confluent",
     "confluent_s"
     "ecret: 9xhw"
     "oFjFd60bb5K"
     "0i9BsZt0m+c"
     "FwfwU52dDy1"
     "4vPHQxBXswL"
     "v4e3mfI7CjB"
     "m80Gd",
     "9xhwoFjFd60"
     "bb5K0i9BsZt"
     "0m+cFwfwU52"
     "dDy14vPHQxB"
     "XswLv4e3mfI"
     "7CjBm80Gd"},
    {"contentful",
     "contentful_"
     "access_toke"
     "n=CuMw1xBwb"
     "RhqAka3IV-N"
     "87ckVUQnSVI"
     "ngT-ED1ZuLI"
     "Y",
     "CuMw1xBwbRh"
     "qAka3IV-N87"
     "ckVUQnSVIng"
     "T-ED1ZuLIY"},
    {"databricks",
     "using dapie"
     "eef1963f77f"
     "8a169e0f72a"
     "873ed2971 f"
     "or upload",
     "dapieeef196"
     "3f77f8a169e"
     "0f72a873ed2"
     "971"},
    {"datadog",
     "DD_APP_KEY="
     "2c32281af1a"
     "899e4276c28"
     "55b65ce673c"
     "74e014e",
     "2c32281af1a"
     "899e4276c28"
     "55b65ce673c"
     "74e014e"},
    {"deepseek",
     "using sk-d7"
     "45ba777e268"
     "c0251af31bf"
     "84ba4151 fo"
     "r upload",
     "sk-d745ba77"
     "7e268c0251a"
     "f31bf84ba41"
     "51"},
    {"defined",
     "using dnkey"
     "-1b93pecgpe"
     "w9s18qr4lac"
     "2ny7p-l405q"
     "y5nqiotkamc"
     "0hq3e01a8ys"
     "qhnu9ket7uq"
     "5crvjlexo92"
     "0pv for upl"
     "oad",
     "dnkey-1b93p"
     "ecgpew9s18q"
     "r4lac2ny7p-"
     "l405qy5nqio"
     "tkamc0hq3e0"
     "1a8ysqhnu9k"
     "et7uq5crvjl"
     "exo920pv"},
    {"digitalocean",
     "using dop_v"
     "1_b81c7b6ae"
     "2bb4db0ad95"
     "871c81995a0"
     "09ca9726b0e"
     "a85be66ce14"
     "1f8ba492d93"
     " for upload",
     "dop_v1_b81c"
     "7b6ae2bb4db"
     "0ad95871c81"
     "995a009ca97"
     "26b0ea85be6"
     "6ce141f8ba4"
     "92d93"},
    {"digitalocean-refresh",
     "using dor_v"
     "1_775b0eb53"
     "44dbbbde384"
     "87202ae1049"
     "e8f88542341"
     "336be5d8065"
     "f7a01fdf9a4"
     " for upload",
     "dor_v1_775b"
     "0eb5344dbbb"
     "de38487202a"
     "e1049e8f885"
     "42341336be5"
     "d8065f7a01f"
     "df9a4"},
    {"discord",
     "bot logged "
     "in with MTm"
     "KZKDmp5bCKD"
     "zt366Yuw1MO"
     "E.HLqy8B.KB"
     "s8qC2eTONUF"
     "LWetULzTvRa"
     "_hknBQWsXYa"
     "kF2",
     "MTmKZKDmp5b"
     "CKDzt366Yuw"
     "1MOE.HLqy8B"
     ".KBs8qC2eTO"
     "NUFLWetULzT"
     "vRa_hknBQWs"
     "XYakF2"},
    {"discord-webhook",
     "POST https:"
     "//discord.c"
     "om/api/webh"
     "ooks/112233"
     "44556677889"
     "90/b-8XWafG"
     "1m5saVL3YkC"
     "EzsUIJeUXOZ"
     "2sVgR1gmqfT"
     "8Mh9PfaVCnb"
     "z6O0ceJn8Lr"
     "AptCh",
     "b-8XWafG1m5"
     "saVL3YkCEzs"
     "UIJeUXOZ2sV"
     "gR1gmqfT8Mh"
     "9PfaVCnbz6O"
     "0ceJn8LrApt"
     "Ch"},
    {"docker-hub",
     "using dckr_"
     "pat_8jKAXX-"
     "aR5xtYA5iTh"
     "xlDcDYexi f"
     "or upload",
     "dckr_pat_8j"
     "KAXX-aR5xtY"
     "A5iThxlDcDY"
     "exi"},
    {"doppler",
     "using dp.pt"
     ".YG9IV0H5Gj"
     "DVPzpZbieDz"
     "HapsxJMPGkf"
     "3EMmWNyZ5oS"
     " for upload",
     "dp.pt.YG9IV"
     "0H5GjDVPzpZ"
     "bieDzHapsxJ"
     "MPGkf3EMmWN"
     "yZ5oS"},
    {"doppler-svc",
     "using dp.st"
     ".prd.tkJc14"
     "KfkQmKlnQku"
     "hF79UBI8Sdx"
     "kXQKkYooSho"
     "3gXP for up"
     "load",
     "dp.st.prd.t"
     "kJc14KfkQmK"
     "lnQkuhF79UB"
     "I8SdxkXQKkY"
     "ooSho3gXP"},
    {"dropbox",
     "using sl.6C"
     "reks2ZLg5Dm"
     "rtDCCPrQRm0"
     "V_OaVRhO0Iw"
     "3AfRh7pd876"
     "NM0D5nl3Pvf"
     "e9zML_jxqHb"
     "t4ta7yYl-XP"
     "ISrE8EQa4q2"
     "rUzCqcid6T5"
     "ZVnk19J9zLJ"
     "TqqGiasTz6e"
     "CAmpEEl for"
     " upload",
     "sl.6Creks2Z"
     "Lg5DmrtDCCP"
     "rQRm0V_OaVR"
     "hO0Iw3AfRh7"
     "pd876NM0D5n"
     "l3Pvfe9zML_"
     "jxqHbt4ta7y"
     "Yl-XPISrE8E"
     "Qa4q2rUzCqc"
     "id6T5ZVnk19"
     "J9zLJTqqGia"
     "sTz6eCAmpEE"
     "l"},
    {"duffel",
     "using duffe"
     "l_live_Ubyg"
     "yDvxwJa-sae"
     "3FFoxbtGQpH"
     "4uqTNv1fmka"
     "pWk2Ws for "
     "upload",
     "duffel_live"
     "_UbygyDvxwJ"
     "a-sae3FFoxb"
     "tGQpH4uqTNv"
     "1fmkapWk2Ws"},
    {"dynatrace",
     "using dt0c0"
     "1.B6XMIO86Z"
     "UUVUMJEP03H"
     "43HC.M795R5"
     "HXJJSE3GYA0"
     "NSFKRVVOBCL"
     "ADU2O7QOGCZ"
     "IM8TIAJJXTR"
     "8XGUY8A5WPR"
     "FJA for upl"
     "oad",
     "dt0c01.B6XM"
     "IO86ZUUVUMJ"
     "EP03H43HC.M"
     "795R5HXJJSE"
     "3GYA0NSFKRV"
     "VOBCLADU2O7"
     "QOGCZIM8TIA"
     "JJXTR8XGUY8"
     "A5WPRFJA"},
    {"easypost",
     "using EZAKY"
     "6bRb0c0Vo1t"
     "udbNsKSAezY"
     "EXRxrjFoqDL"
     "KAwjOvunlBV"
     "Hw4qG6XWN f"
     "or upload",
     "EZAKY6bRb0c"
     "0Vo1tudbNsK"
     "SAezYEXRxrj"
     "FoqDLKAwjOv"
     "unlBVHw4qG6"
     "XWN"},
    {"elastic",
     "Authorizati"
     "on: ApiKey "
     "hF1MSeFQZRI"
     "d2nQx2JlnVz"
     "h0KpHDA+Dav"
     "0cyzAzjHgAc"
     "LWva1bAVozD"
     "yc2v5==",
     "hF1MSeFQZRI"
     "d2nQx2JlnVz"
     "h0KpHDA+Dav"
     "0cyzAzjHgAc"
     "LWva1bAVozD"
     "yc2v5=="},
    {"endorlabs",
     "using endr+"
     "8AKKd7NR0NL"
     "P8vYv for u"
     "pload",
     "endr+8AKKd7"
     "NR0NLP8vYv"},
    {"facebook",
     "using EAAMi"
     "F3rpOTWuHVj"
     "6TgHac0ewXs"
     "gFlEws0VE6v"
     "198UDFZtCir"
     "KcEk3463Dqk"
     "u0w47qYWdM9"
     "BDeDhxSR6Gw"
     "j7WCykTtBDx"
     "P2jPaFCdv6Q"
     "yutOIKLCYx0"
     "gmlWdjmDUuy"
     "SFYvVvtUxbd"
     "a4ArbOFN31N"
     "jz2mSIQVgCu"
     "7EuNN for u"
     "pload",
     "EAAMiF3rpOT"
     "WuHVj6TgHac"
     "0ewXsgFlEws"
     "0VE6v198UDF"
     "ZtCirKcEk34"
     "63Dqku0w47q"
     "YWdM9BDeDhx"
     "SR6Gwj7WCyk"
     "TtBDxP2jPaF"
     "Cdv6QyutOIK"
     "LCYx0gmlWdj"
     "mDUuySFYvVv"
     "tUxbda4ArbO"
     "FN31Njz2mSI"
     "QVgCu7EuNN"},
    {"fal",
     "FAL_KEY=236"
     "8a9ce-9b1f-"
     "43a9-ad09-f"
     "9f62a319959"
     ":6634ba8a7c"
     "ddc2b1615b6"
     "da043a302d7",
     "2368a9ce-9b"
     "1f-43a9-ad0"
     "9-f9f62a319"
     "959:6634ba8"
     "a7cddc2b161"
     "5b6da043a30"
     "2d7"},
    {"figma",
     "using figd_"
     "WEr1NHeJSvl"
     "6ZURuoMZiCg"
     "sLsKEjUOewO"
     "SLUstIg for"
     " upload",
     "figd_WEr1NH"
     "eJSvl6ZURuo"
     "MZiCgsLsKEj"
     "UOewOSLUstI"
     "g"},
    {"fireworks",
     "using fw_4Z"
     "hqrwELnACAB"
     "Ckh3rJPHhE8"
     " for upload",
     "fw_4ZhqrwEL"
     "nACABCkh3rJ"
     "PHhE8"},
    {"fly",
     "using fo1_Z"
     "t-PTIjzU0b6"
     "LWSr9HEwEFE"
     "noLaiUqix8c"
     "bAz3yB1Gz f"
     "or upload",
     "fo1_Zt-PTIj"
     "zU0b6LWSr9H"
     "EwEFEnoLaiU"
     "qix8cbAz3yB"
     "1Gz"},
    {"fly-m",
     "fly auth Fl"
     "yV1 fm2_+iJ"
     "RNZmSVp7p+u"
     "tcflrYIHvtD"
     "ow88wgsOxie"
     "TuVZiho1Ota"
     "PANTyrcwaBk"
     "2UXXaQ82CE7"
     "Q+tNjviLTx6",
     "FlyV1 fm2_+"
     "iJRNZmSVp7p"
     "+utcflrYIHv"
     "tDow88wgsOx"
     "ieTuVZiho1O"
     "taPANTyrcwa"
     "Bk2UXXaQ82C"
     "E7Q+tNjviLT"
     "x6"},
    {"flutterwave",
     "using FLWSE"
     "CK_TEST-363"
     "8d294f4a701"
     "cabcf46e33b"
     "6290b50-X f"
     "or upload",
     "FLWSECK_TES"
     "T-3638d294f"
     "4a701cabcf4"
     "6e33b6290b5"
     "0-X"},
    {"frameio",
     "using fio-u"
     "-9kCUl4Pr2m"
     "Rk5xSdiK57G"
     "7McjD8qt_hV"
     "paVjRyAfa1U"
     "yqPqfaO4e6h"
     "pXtr6r_uIv "
     "for upload",
     "fio-u-9kCUl"
     "4Pr2mRk5xSd"
     "iK57G7McjD8"
     "qt_hVpaVjRy"
     "Afa1UyqPqfa"
     "O4e6hpXtr6r"
     "_uIv"},
    {"gcp-key",
     "using AIzaU"
     "fSEkpZeW8cw"
     "EswHUpSlDqc"
     "nlmKpSjJt15"
     "W for uploa"
     "d",
     "AIzaUfSEkpZ"
     "eW8cwEswHUp"
     "SlDqcnlmKpS"
     "jJt15W"},
    {"gcp-oauth",
     "using ya29."
     "ZA51qOX_JzN"
     "oQ9Um2A2Qto"
     "jqnXmroywHK"
     "bwnnTrvRvkj"
     "8DS7uG-dIhK"
     "Lx5Y5puNCpW"
     "ew_AcnXzIuK"
     "odcZpYPUi85"
     "ypgg6nztmD9"
     "rMHfM1V2dZA"
     "hTtNkV5SSe "
     "for upload",
     "ya29.ZA51qO"
     "X_JzNoQ9Um2"
     "A2QtojqnXmr"
     "oywHKbwnnTr"
     "vRvkj8DS7uG"
     "-dIhKLx5Y5p"
     "uNCpWew_Acn"
     "XzIuKodcZpY"
     "PUi85ypgg6n"
     "ztmD9rMHfM1"
     "V2dZAhTtNkV"
     "5SSe"},
    {"google-secret",
     "using GOCSP"
     "X-PkPPsfcvC"
     "KVADifdIfTR"
     "uFz8OmGJ fo"
     "r upload",
     "GOCSPX-PkPP"
     "sfcvCKVADif"
     "dIfTRuFz8Om"
     "GJ"},
    {"github-fine",
     "using githu"
     "b_pat_9R6gM"
     "dJcjl4sVkjk"
     "zVJAyh_ZsOs"
     "6sZi9bxBjB7"
     "d6mvWr2Jjvv"
     "crb3ltlS1YG"
     "7ZVR1NzJDJd"
     "mbXrCsT1WQ1"
     " for upload",
     "github_pat_"
     "9R6gMdJcjl4"
     "sVkjkzVJAyh"
     "_ZsOs6sZi9b"
     "xBjB7d6mvWr"
     "2Jjvvcrb3lt"
     "lS1YG7ZVR1N"
     "zJDJdmbXrCs"
     "T1WQ1"},
    {"github-app",
     "using ghs_a"
     "Ge0P76i87La"
     "iD9GYStkdXe"
     "4kRRpYS6pXD"
     "aJ for uplo"
     "ad",
     "ghs_aGe0P76"
     "i87LaiD9GYS"
     "tkdXe4kRRpY"
     "S6pXDaJ"},
    {"github-refresh",
     "using ghr_z"
     "CfvHWKtENpz"
     "hIT2ETM3ojA"
     "aLRtPQsbHWp"
     "A8 for uplo"
     "ad",
     "ghr_zCfvHWK"
     "tENpzhIT2ET"
     "M3ojAaLRtPQ"
     "sbHWpA8"},
    {"gitlab-pat",
     "using glpat"
     "-QV9LsWVYKK"
     "8uumPBBngu "
     "for upload",
     "glpat-QV9Ls"
     "WVYKK8uumPB"
     "Bngu"},
    {"gitlab-deploy",
     "using gldt-"
     "v7XBtr-abnW"
     "0xZrv7joL f"
     "or upload",
     "gldt-v7XBtr"
     "-abnW0xZrv7"
     "joL"},
    {"gitlab-runner",
     "using glrt-"
     "4CNgswlj21d"
     "bXHuaTmzT f"
     "or upload",
     "glrt-4CNgsw"
     "lj21dbXHuaT"
     "mzT"},
    {"gitlab-ci",
     "using glcbt"
     "-1a_JvgWJ4a"
     "AaoN5hrrhSU"
     "eT for uplo"
     "ad",
     "glcbt-1a_Jv"
     "gWJ4aAaoN5h"
     "rrhSUeT"},
    {"gitlab-feed",
     "using glft-"
     "o20J2iExoTg"
     "_ozo5Tt2I f"
     "or upload",
     "glft-o20J2i"
     "ExoTg_ozo5T"
     "t2I"},
    {"gocardless",
     "gocardless "
     "live_9-gL4x"
     "40eP32ofCwY"
     "NEhbQUwP3qh"
     "m0yUmZy3O2X"
     "P",
     "live_9-gL4x"
     "40eP32ofCwY"
     "NEhbQUwP3qh"
     "m0yUmZy3O2X"
     "P"},
    {"grafana-cloud",
     "using glc_L"
     "krUClvx2cXF"
     "ieywGpovdtK"
     "xYBL2uWIByJ"
     "HK1JLAqOe1t"
     "xECURJ1vMiA"
     "C4Cj for up"
     "load",
     "glc_LkrUClv"
     "x2cXFieywGp"
     "ovdtKxYBL2u"
     "WIByJHK1JLA"
     "qOe1txECURJ"
     "1vMiAC4Cj"},
    {"grafana-sa",
     "using glsa_"
     "vgikrehcgXu"
     "US69XQaWoZE"
     "q1FNocsmu3_"
     "1734e674 fo"
     "r upload",
     "glsa_vgikre"
     "hcgXuUS69XQ"
     "aWoZEq1FNoc"
     "smu3_1734e6"
     "74"},
    {"groq",
     "using gsk_K"
     "4NzctghwlUY"
     "A1CrN11z749"
     "BTxtw9WrBlT"
     "ZhEHrP7F251"
     "XDF2qvb for"
     " upload",
     "gsk_K4Nzctg"
     "hwlUYA1CrN1"
     "1z749BTxtw9"
     "WrBlTZhEHrP"
     "7F251XDF2qv"
     "b"},
    {"harness",
     "using pat.x"
     "e6lCLnJQBAo"
     "R57P7VkbL2."
     "71096785a10"
     "f62c023b0d8"
     "f1.Y2eCWPas"
     "VLvBjCH3kem"
     "H for uploa"
     "d",
     "pat.xe6lCLn"
     "JQBAoR57P7V"
     "kbL2.710967"
     "85a10f62c02"
     "3b0d8f1.Y2e"
     "CWPasVLvBjC"
     "H3kemH"},
    {"vault",
     "using hvs.J"
     "VrYC6QgGn2u"
     "UCxEOuPePGe"
     "kwpZ23dhLjE"
     "ariMzq5zZvW"
     "FFQ_c0WIpLa"
     "e9S2GvNk-uD"
     "WvIese-vhqz"
     "ibfTGlIaB_F"
     "fGpW5X for "
     "upload",
     "hvs.JVrYC6Q"
     "gGn2uUCxEOu"
     "PePGekwpZ23"
     "dhLjEariMzq"
     "5zZvWFFQ_c0"
     "WIpLae9S2Gv"
     "Nk-uDWvIese"
     "-vhqzibfTGl"
     "IaB_FfGpW5X"},
    {"vault-batch",
     "using hvb.V"
     "ZBtYDuPBXWE"
     "tbO8gfIXuRe"
     "uHVJ4wI2DTc"
     "sLsK1O3_uvZ"
     "XXFeoTnNFuG"
     "EuFTRlZRMJE"
     "cehMJ0gUN10"
     "7uex7c7JUH8"
     "VgCxuUecHEH"
     "jbZOZzrdRNJ"
     "QX8coPUJFFA"
     "deGPkBiaGqp"
     "7khoGtD for"
     " upload",
     "hvb.VZBtYDu"
     "PBXWEtbO8gf"
     "IXuReuHVJ4w"
     "I2DTcsLsK1O"
     "3_uvZXXFeoT"
     "nNFuGEuFTRl"
     "ZRMJEcehMJ0"
     "gUN107uex7c"
     "7JUH8VgCxuU"
     "ecHEHjbZOZz"
     "rdRNJQX8coP"
     "UJFFAdeGPkB"
     "iaGqp7khoGt"
     "D"},
    {"terraform",
     "using LHbRV"
     "PqPa3wbFV.a"
     "tlasv1.DPWZ"
     "FMDWO1-diVC"
     "aWBenYvyoEx"
     "fvYgwvZz-Qz"
     "f056sRjLBZk"
     "0fR5EU-8ENj"
     "pv7dpEwh fo"
     "r upload",
     "LHbRVPqPa3w"
     "bFV.atlasv1"
     ".DPWZFMDWO1"
     "-diVCaWBenY"
     "vyoExfvYgwv"
     "Zz-Qzf056sR"
     "jLBZk0fR5EU"
     "-8ENjpv7dpE"
     "wh"},
    {"heroku",
     "using HRKU-"
     "AATMZQgQ6VF"
     "x82S2t0D3fy"
     "EKLv2HsbF17"
     "E-Q_gvd8h9-"
     "pKyCelNfDyP"
     "RURgJ for u"
     "pload",
     "HRKU-AATMZQ"
     "gQ6VFx82S2t"
     "0D3fyEKLv2H"
     "sbF17E-Q_gv"
     "d8h9-pKyCel"
     "NfDyPRURgJ"},
    {"hubspot",
     "using pat-n"
     "a1-bc9136f4"
     "-3f5b-48c0-"
     "a250-c9286b"
     "7a3a8c for "
     "upload",
     "pat-na1-bc9"
     "136f4-3f5b-"
     "48c0-a250-c"
     "9286b7a3a8c"},
    {"huggingface",
     "using hf_aZ"
     "nVnIsGcZkUc"
     "NdaZpHSHmGu"
     "giXNWeWhMZ "
     "for upload",
     "hf_aZnVnIsG"
     "cZkUcNdaZpH"
     "SHmGugiXNWe"
     "WhMZ"},
    {"hf-org",
     "using api_o"
     "rg_mYwJTPaZ"
     "VCbNMVzneQB"
     "vJSgNFsQVEw"
     "JZPc for up"
     "load",
     "api_org_mYw"
     "JTPaZVCbNMV"
     "zneQBvJSgNF"
     "sQVEwJZPc"},
    {"infracost",
     "using ico-Q"
     "7tKoX9gnUUF"
     "LQbEtsD1C54"
     "2aLtM3qoX f"
     "or upload",
     "ico-Q7tKoX9"
     "gnUUFLQbEts"
     "D1C542aLtM3"
     "qoX"},
    {"intra42",
     "using s-s4t"
     "2ud-0e7b8d4"
     "622cf8c1d78"
     "0ed524d3ac4"
     "911bc0f6d0b"
     "807bf2177ce"
     "d8f1ab97cff"
     "b5 for uplo"
     "ad",
     "s-s4t2ud-0e"
     "7b8d4622cf8"
     "c1d780ed524"
     "d3ac4911bc0"
     "f6d0b807bf2"
     "177ced8f1ab"
     "97cffb5"},
    {"jfrog",
     "X-JFrog-Art"
     "-Api: pqbOT"
     "UVLt337ijuk"
     "lSwd6kD985N"
     "DlGNepGmOc6"
     "hmcqFnqvmYt"
     "KfAgvNvqCVh"
     "ZIYE",
     "pqbOTUVLt33"
     "7ijuklSwd6k"
     "D985NDlGNep"
     "GmOc6hmcqFn"
     "qvmYtKfAgvN"
     "vqCVhZIYE"},
    {"jwt",
     "using eyJhb"
     "GciOiJIUzI1"
     "NiJ9.eyJSgF"
     "dNMHjag-M23"
     "Q5LbQ6HgQEG"
     "EP25s7Doac_"
     "oznjYjRFNVY"
     "o_rLeRQy_dU"
     "Fc.OLzTugeb"
     "4sPVFSwCnNd"
     "-SmKOokpil9"
     "kpcl3Hf17aV"
     "1l for uplo"
     "ad",
     "eyJhbGciOiJ"
     "IUzI1NiJ9.e"
     "yJSgFdNMHja"
     "g-M23Q5LbQ6"
     "HgQEGEP25s7"
     "Doac_oznjYj"
     "RFNVYo_rLeR"
     "Qy_dUFc.OLz"
     "Tugeb4sPVFS"
     "wCnNd-SmKOo"
     "kpil9kpcl3H"
     "f17aV1l"},
    {"kaggle",
     "{\"username\""
     ":\"ml\",\"key\""
     ":\"3d0051814"
     "6ccb1ed17d4"
     "8c47c59e078"
     "e\"}",
     "3d00518146c"
     "cb1ed17d48c"
     "47c59e078e"},
    {"langsmith",
     "using lsv2_"
     "pt_9a66f60f"
     "85098a52caa"
     "cd6c7b8d960"
     "c6_8b840c9d"
     "39 for uplo"
     "ad",
     "lsv2_pt_9a6"
     "6f60f85098a"
     "52caacd6c7b"
     "8d960c6_8b8"
     "40c9d39"},
    {"langfuse",
     "using sk-lf"
     "-3abc3dd6-1"
     "b67-4f14-a2"
     "c9-16bcd98d"
     "2e4e for up"
     "load",
     "sk-lf-3abc3"
     "dd6-1b67-4f"
     "14-a2c9-16b"
     "cd98d2e4e"},
    {"launchdarkly",
     "using api-4"
     "bfd5ff7-337"
     "d-41ff-a580"
     "-6e2bdf4a7d"
     "1d for uplo"
     "ad",
     "api-4bfd5ff"
     "7-337d-41ff"
     "-a580-6e2bd"
     "f4a7d1d"},
    {"linear",
     "using lin_a"
     "pi_QbBGWW5T"
     "sOUSHycMjRL"
     "ThUZwEnfA39"
     "Qg5sDHhbM4 "
     "for upload",
     "lin_api_QbB"
     "GWW5TsOUSHy"
     "cMjRLThUZwE"
     "nfA39Qg5sDH"
     "hbM4"},
    {"lightning",
     "LIGHTNING_A"
     "PI_KEY=52d8"
     "51c1-d7c9-4"
     "c1e-a0d6-20"
     "6d8a3d6be4",
     "52d851c1-d7"
     "c9-4c1e-a0d"
     "6-206d8a3d6"
     "be4"},
    {"mailchimp",
     "mailchimp 4"
     "73d47a270e1"
     "2ae8813581d"
     "f2499e639-u"
     "s20",
     "473d47a270e"
     "12ae8813581"
     "df2499e639-"
     "us20"},
    {"mailgun",
     "using key-0"
     "9afc6ae3258"
     "2538c938b3b"
     "23cb09dc8 f"
     "or upload",
     "key-09afc6a"
     "e32582538c9"
     "38b3b23cb09"
     "dc8"},
    {"mapbox",
     "using pk.eO"
     "KXpAcKScIR3"
     "D7kAiGMXW9B"
     "ASHyeZuRxZI"
     "dT312of5SzY"
     "lKDeDPOvo6i"
     "KRh.IMmaoSH"
     "dAQnLOLo3TZ"
     "WCTm for up"
     "load",
     "pk.eOKXpAcK"
     "ScIR3D7kAiG"
     "MXW9BASHyeZ"
     "uRxZIdT312o"
     "f5SzYlKDeDP"
     "Ovo6iKRh.IM"
     "maoSHdAQnLO"
     "Lo3TZWCTm"},
    {"mattermost",
     "mattermost_"
     "token=ci5jd"
     "yezje69ij94"
     "4t5yjgr60q",
     "ci5jdyezje6"
     "9ij944t5yjg"
     "r60q"},
    {"maxmind",
     "using twrOi"
     "h_scMMUMfZW"
     "hxUupByMmz1"
     "gId3dUjuy_m"
     "mk for uplo"
     "ad",
     "twrOih_scMM"
     "UMfZWhxUupB"
     "yMmz1gId3dU"
     "juy_mmk"},
    {"mistral",
     "MISTRAL_API"
     "_KEY=kn3SCB"
     "8NXsI09AgVj"
     "hEfK1LRj9wo"
     "4oxr",
     "kn3SCB8NXsI"
     "09AgVjhEfK1"
     "LRj9wo4oxr"},
    {"modal",
     "modal token"
     " set --toke"
     "n-id ak-q5n"
     "ITHGgGGZP5L"
     "nZcrITRX",
     "ak-q5nITHGg"
     "GGZP5LnZcrI"
     "TRX"},
    {"modal-secret",
     "modal token"
     " set --toke"
     "n-secret as"
     "-MxaSXRxAie"
     "QT37UhH2FKm"
     "N",
     "as-MxaSXRxA"
     "ieQT37UhH2F"
     "KmN"},
    {"neptune",
     "using eyJhc"
     "GlfYWRkcmVz"
     "cyI6unsLtaV"
     "U7zFwLY9zzF"
     "TSYFpIKoGaR"
     "YAj4syzge3h"
     "TVUlhXewIia"
     "fPuPloeXPmG"
     "FXqfvQxVuxl"
     "p8qKcB5h/ES"
     "Wo3fPLeWTaV"
     "Bu7ipxEVXdK"
     "vJgxjqUDYPn"
     "kfq== for u"
     "pload",
     "eyJhcGlfYWR"
     "kcmVzcyI6un"
     "sLtaVU7zFwL"
     "Y9zzFTSYFpI"
     "KoGaRYAj4sy"
     "zge3hTVUlhX"
     "ewIiafPuPlo"
     "eXPmGFXqfvQ"
     "xVuxlp8qKcB"
     "5h/ESWo3fPL"
     "eWTaVBu7ipx"
     "EVXdKvJgxjq"
     "UDYPnkfq=="},
    {"neon",
     "using napi_"
     "k7odw4w9z9u"
     "3vis47vhlgc"
     "qqbwi7s1z7m"
     "js74roq22t9"
     "rwbtvonqrg0"
     "udo8rue2d f"
     "or upload",
     "napi_k7odw4"
     "w9z9u3vis47"
     "vhlgcqqbwi7"
     "s1z7mjs74ro"
     "q22t9rwbtvo"
     "nqrg0udo8ru"
     "e2d"},
    {"newrelic",
     "using NRAK-"
     "L4NOK9I7Q0N"
     "5PKG3JBQAJV"
     "550ZK for u"
     "pload",
     "NRAK-L4NOK9"
     "I7Q0N5PKG3J"
     "BQAJV550ZK"},
    {"npm",
     "using npm_H"
     "jn9rFtrh2oa"
     "Spn4SFtgnKI"
     "PYzR1xoGfTn"
     "P5 for uplo"
     "ad",
     "npm_Hjn9rFt"
     "rh2oaSpn4SF"
     "tgnKIPYzR1x"
     "oGfTnP5"},
    {"notion",
     "using ntn_3"
     "8692506428p"
     "DbOOxJ77oyc"
     "GAWqAX7ZK3X"
     "td20wauGqAA"
     "m for uploa"
     "d",
     "ntn_3869250"
     "6428pDbOOxJ"
     "77oycGAWqAX"
     "7ZK3Xtd20wa"
     "uGqAAm"},
    {"nvidia",
     "using nvapi"
     "-iCZ4RwDiNu"
     "d0V7C1oF6Lv"
     "M1Huqs7bgY0"
     "tQY2ViOYqB8"
     "2XEalzl465T"
     "HeXxojV7JN "
     "for upload",
     "nvapi-iCZ4R"
     "wDiNud0V7C1"
     "oF6LvM1Huqs"
     "7bgY0tQY2Vi"
     "OYqB82XEalz"
     "l465THeXxoj"
     "V7JN"},
    {"octopus",
     "using API-S"
     "HJTI49NVCMH"
     "4IWP8107M26"
     "IML for upl"
     "oad",
     "API-SHJTI49"
     "NVCMH4IWP81"
     "07M26IML"},
    {"okta",
     "okta_api_to"
     "ken=00H0urt"
     "lJrEnvpU3qT"
     "f4Da1K2dqvp"
     "shQvlt8Iomg"
     "uq",
     "00H0urtlJrE"
     "nvpU3qTf4Da"
     "1K2dqvpshQv"
     "lt8Iomguq"},
    {"openai",
     "using sk-pr"
     "oj-opzM2nn0"
     "-YX-StI9KNp"
     "UGiqDZd88SB"
     "bmip42E_GR6"
     "bNiGzrtvPdO"
     "7ZBnHPWOUxm"
     "etpewehQ5TE"
     "T3BlbkFJn0Q"
     "c0I4qtk5rMT"
     "oAm5Vd7mzqd"
     "GinAA9Z_srT"
     "H9cKZOT8kTE"
     "EkZxoP6YDpQ"
     "QJfKMEW70DW"
     "4yHW3 for u"
     "pload",
     "sk-proj-opz"
     "M2nn0-YX-St"
     "I9KNpUGiqDZ"
     "d88SBbmip42"
     "E_GR6bNiGzr"
     "tvPdO7ZBnHP"
     "WOUxmetpewe"
     "hQ5TET3Blbk"
     "FJn0Qc0I4qt"
     "k5rMToAm5Vd"
     "7mzqdGinAA9"
     "Z_srTH9cKZO"
     "T8kTEEkZxoP"
     "6YDpQQJfKME"
     "W70DW4yHW3"},
    {"openai-svc",
     "using sk-sv"
     "cacct-KNH_L"
     "jDuHxfJOa7S"
     "ZCb_b7g6taV"
     "YroF4YvgFLk"
     "be__GmBVMDx"
     "u8GN8gfDq4I"
     "iMUaJBNcWvr"
     "D91T3BlbkFJ"
     "wXvPvRvuoC8"
     "9yRQk2yy_kq"
     "plFdfn_7ksE"
     "sOemjpQOHP0"
     "48s8NJyAgng"
     "w5-OCJ51uKb"
     "RWaTe9KO fo"
     "r upload",
     "sk-svcacct-"
     "KNH_LjDuHxf"
     "JOa7SZCb_b7"
     "g6taVYroF4Y"
     "vgFLkbe__Gm"
     "BVMDxu8GN8g"
     "fDq4IiMUaJB"
     "NcWvrD91T3B"
     "lbkFJwXvPvR"
     "vuoC89yRQk2"
     "yy_kqplFdfn"
     "_7ksEsOemjp"
     "QOHP048s8NJ"
     "yAgngw5-OCJ"
     "51uKbRWaTe9"
     "KO"},
    {"openrouter",
     "using sk-or"
     "-v1-750118b"
     "82a79338cea"
     "0e875bc5cab"
     "1a57a37ba34"
     "e2f0b6be802"
     "c2b0ef8e3cc"
     "6c for uplo"
     "ad",
     "sk-or-v1-75"
     "0118b82a793"
     "38cea0e875b"
     "c5cab1a57a3"
     "7ba34e2f0b6"
     "be802c2b0ef"
     "8e3cc6c"},
    {"openshift",
     "using sha25"
     "6~VaM_KaCCQ"
     "S8OJj9uKpBp"
     "o1JcrmoseCQ"
     "0LM0ovfH0Rj"
     "P for uploa"
     "d",
     "sha256~VaM_"
     "KaCCQS8OJj9"
     "uKpBpo1Jcrm"
     "oseCQ0LM0ov"
     "fH0RjP"},
    {"perplexity",
     "using pplx-"
     "C26uZn8cOIA"
     "MaOgXNI4CLo"
     "TST3NV6cFoa"
     "RlhdXQbMAbC"
     "zzXp for up"
     "load",
     "pplx-C26uZn"
     "8cOIAMaOgXN"
     "I4CLoTST3NV"
     "6cFoaRlhdXQ"
     "bMAbCzzXp"},
    {"pinecone",
     "using pcsk_"
     "oqVtDa_EGpa"
     "z8r9aINIgyc"
     "P9mVYKVkOMJ"
     "l6Kffunnk5R"
     "4KrJNhEXST7"
     "tYUUBn6FrZg"
     "PY2y for up"
     "load",
     "pcsk_oqVtDa"
     "_EGpaz8r9aI"
     "NIgycP9mVYK"
     "VkOMJl6Kffu"
     "nnk5R4KrJNh"
     "EXST7tYUUBn"
     "6FrZgPY2y"},
    {"planetscale",
     "using pscal"
     "e_tkn_HQsWf"
     "2wWPwscwDBM"
     "M7YngsQwQqb"
     "ffQkGsbg356"
     "ODDAh for u"
     "pload",
     "pscale_tkn_"
     "HQsWf2wWPws"
     "cwDBMM7Yngs"
     "QwQqbffQkGs"
     "bg356ODDAh"},
    {"planetscale-pw",
     "using pscal"
     "e_pw_ncgr0X"
     "ge5TLesXC_I"
     "7wgr-dOgac3"
     "RvFClP1-S_f"
     "4BSc for up"
     "load",
     "pscale_pw_n"
     "cgr0Xge5TLe"
     "sXC_I7wgr-d"
     "Ogac3RvFClP"
     "1-S_f4BSc"},
    {"postman",
     "using PMAK-"
     "e38d1df6910"
     "74ba1fbd2d2"
     "29-8b53f0f3"
     "3f6a9c0edb0"
     "2d22bc1b258"
     "e271 for up"
     "load",
     "PMAK-e38d1d"
     "f691074ba1f"
     "bd2d229-8b5"
     "3f0f33f6a9c"
     "0edb02d22bc"
     "1b258e271"},
    {"prefect",
     "using pnu_I"
     "krrqKyPe0Bq"
     "oZE1jnwUIqY"
     "Ph6p2DmRNYM"
     "T3 for uplo"
     "ad",
     "pnu_IkrrqKy"
     "Pe0BqoZE1jn"
     "wUIqYPh6p2D"
     "mRNYMT3"},
    {"private-key",
     "-----BEGIN "
     "OPENSSH PRI"
     "VATE KEY---"
     "--\n8WHjKXev"
     "gpGUw7hJgAR"
     "4m8RACb7BJm"
     "NY6YXbQj+Qn"
     "lstvWJM/9lR"
     "DrqJQtyo3yt"
     "xW224Gn1ss8"
     "kwl899fdpEi"
     "QzjJhQ4DnFk"
     "pgfK8OFxhml"
     "ltxKGl9VspS"
     "37DHxSW6DF\n"
     "-----END OP"
     "ENSSH PRIVA"
     "TE KEY-----",
     "8WHjKXevgpG"
     "Uw7hJgAR4m8"
     "RACb7BJmNY6"
     "YXbQj+Qnlst"
     "vWJM/9lRDrq"
     "JQtyo3ytxW2"
     "24Gn1ss8kwl"
     "899fdpEiQzj"
     "JhQ4DnFkpgf"
     "K8OFxhmlltx"
     "KGl9VspS37D"
     "HxSW6DF"},
    {"pulumi",
     "using pul-c"
     "04f38bd1e89"
     "f114f8805a7"
     "61435cb9a83"
     "f0b93c for "
     "upload",
     "pul-c04f38b"
     "d1e89f114f8"
     "805a761435c"
     "b9a83f0b93c"},
    {"pypi",
     "using pypi-"
     "AgEIcHlwaS5"
     "vcmcZ3BYtzr"
     "JMuP4zwSnC1"
     "aoz0STmeZ8K"
     "549ESBcnaI0"
     "zQ1CpnpnzaQ"
     "-s1rLJ4qo9_"
     "pLb3K0kLdeZ"
     "_VlXRgqRO17"
     "R-O7vmzXYCs"
     "LvNe2qe-jMP"
     "TNPmAjjX1VI"
     "HYhT4tziT-7"
     "skpMsXZU3Sp"
     "7Eqw5nWcYXf"
     " for upload",
     "pypi-AgEIcH"
     "lwaS5vcmcZ3"
     "BYtzrJMuP4z"
     "wSnC1aoz0ST"
     "meZ8K549ESB"
     "cnaI0zQ1Cpn"
     "pnzaQ-s1rLJ"
     "4qo9_pLb3K0"
     "kLdeZ_VlXRg"
     "qRO17R-O7vm"
     "zXYCsLvNe2q"
     "e-jMPTNPmAj"
     "jX1VIHYhT4t"
     "ziT-7skpMsX"
     "ZU3Sp7Eqw5n"
     "WcYXf"},
    {"rapidapi",
     "x-rapidapi-"
     "key: jbqpg4"
     "nlay02i5u7v"
     "jldpwsp92py"
     "j7p05r3y44j"
     "o9mgaph0i87",
     "jbqpg4nlay0"
     "2i5u7vjldpw"
     "sp92pyj7p05"
     "r3y44jo9mga"
     "ph0i87"},
    {"readme",
     "using rdme_"
     "evmmnkiwpjg"
     "qheaf9i7go9"
     "afhhdsahsge"
     "8o741i21dzs"
     "rgtqzdh7pma"
     "1i6h0323sba"
     "8wj6 for up"
     "load",
     "rdme_evmmnk"
     "iwpjgqheaf9"
     "i7go9afhhds"
     "ahsge8o741i"
     "21dzsrgtqzd"
     "h7pma1i6h03"
     "23sba8wj6"},
    {"replicate",
     "using r8_hP"
     "xGtcx94f1eb"
     "VfZdXSRUELF"
     "94zN1H0Fw0f"
     "s4 for uplo"
     "ad",
     "r8_hPxGtcx9"
     "4f1ebVfZdXS"
     "RUELF94zN1H"
     "0Fw0fs4"},
    {"rubygems",
     "using rubyg"
     "ems_d7bdc49"
     "a08e0b564f3"
     "a5853b121c0"
     "6d7a400a02e"
     "6ee360b6 fo"
     "r upload",
     "rubygems_d7"
     "bdc49a08e0b"
     "564f3a5853b"
     "121c06d7a40"
     "0a02e6ee360"
     "b6"},
    {"runpod",
     "using rpa_6"
     "G2PRX0EJUWE"
     "33GF2GH6N08"
     "K5YD2JIKSIT"
     "LILZJVPT fo"
     "r upload",
     "rpa_6G2PRX0"
     "EJUWE33GF2G"
     "H6N08K5YD2J"
     "IKSITLILZJV"
     "PT"},
    {"scaleway",
     "SCW_SECRET_"
     "KEY=767286d"
     "3-8718-4f2f"
     "-aa5f-bdddd"
     "cd51152",
     "767286d3-87"
     "18-4f2f-aa5"
     "f-bddddcd51"
     "152"},
    {"scalingo",
     "using tk-us"
     "-zUaUOIGuwu"
     "qedEtpfdns5"
     "HKJxASvuN5V"
     "DNOglV6EDC3"
     "Vpc-N for u"
     "pload",
     "tk-us-zUaUO"
     "IGuwuqedEtp"
     "fdns5HKJxAS"
     "vuN5VDNOglV"
     "6EDC3Vpc-N"},
    {"sendgrid",
     "using SG.vA"
     "UjEjdaOmcCn"
     "J_YkBOBLV.y"
     "A1_fm9klBeM"
     "5LUh3Gk0P-X"
     "27hSpMe0XU6"
     "z9iPMB47Y f"
     "or upload",
     "SG.vAUjEjda"
     "OmcCnJ_YkBO"
     "BLV.yA1_fm9"
     "klBeM5LUh3G"
     "k0P-X27hSpM"
     "e0XU6z9iPMB"
     "47Y"},
    {"sendinblue",
     "using xkeys"
     "ib-613cd39a"
     "7903532f1be"
     "38fcf8420cc"
     "bae68ade8ae"
     "400e2cf230a"
     "8b1f2ddb0ce"
     "a-su8fHVpmH"
     "8gwarsR for"
     " upload",
     "xkeysib-613"
     "cd39a790353"
     "2f1be38fcf8"
     "420ccbae68a"
     "de8ae400e2c"
     "f230a8b1f2d"
     "db0cea-su8f"
     "HVpmH8gwars"
     "R"},
    {"sentry",
     "using sntry"
     "s_eyJsAhQsv"
     "2ZCoXiZr437"
     "0gSFDx7AXQ0"
     "Tpl/10zHvQp"
     "Zld4YDGdl4v"
     "y7iKNevJMAj"
     "hA9XZvj5+Dk"
     "UH67OCboWOe"
     "vCr1Qm+WEWy"
     "jj68rDtuj/b"
     "TzQMulOJ6gE"
     "2Xf5 for up"
     "load",
     "sntrys_eyJs"
     "AhQsv2ZCoXi"
     "Zr4370gSFDx"
     "7AXQ0Tpl/10"
     "zHvQpZld4YD"
     "Gdl4vy7iKNe"
     "vJMAjhA9XZv"
     "j5+DkUH67OC"
     "boWOevCr1Qm"
     "+WEWyjj68rD"
     "tuj/bTzQMul"
     "OJ6gE2Xf5"},
    {"sentry-user",
     "using sntry"
     "u_61cf26180"
     "17c0bcea530"
     "fb8d69853d5"
     "9598fda2e40"
     "fbd46f72629"
     "255867df4c8"
     " for upload",
     "sntryu_61cf"
     "2618017c0bc"
     "ea530fb8d69"
     "853d59598fd"
     "a2e40fbd46f"
     "72629255867"
     "df4c8"},
    {"sentry-dsn",
     "dsn=https:/"
     "/ca6591dea5"
     "692a42c8a10"
     "424ceeb3c5e"
     "@o12345.ing"
     "est.sentry."
     "io/4501",
     "ca6591dea56"
     "92a42c8a104"
     "24ceeb3c5e"},
    {"settlemint",
     "using sm_aa"
     "t_WY1niaAr9"
     "5iAe0ED for"
     " upload",
     "sm_aat_WY1n"
     "iaAr95iAe0E"
     "D"},
    {"shippo",
     "using shipp"
     "o_live_ced7"
     "bbc47c2fdf1"
     "ac00b8dffe4"
     "dc67ef7ecad"
     "dbc for upl"
     "oad",
     "shippo_live"
     "_ced7bbc47c"
     "2fdf1ac00b8"
     "dffe4dc67ef"
     "7ecaddbc"},
    {"shopify",
     "using shpat"
     "_d9d5e9e010"
     "f0636b74e09"
     "423d4bb017d"
     " for upload",
     "shpat_d9d5e"
     "9e010f0636b"
     "74e09423d4b"
     "b017d"},
    {"slack-bot",
     "using xoxb-"
     "24952439545"
     "0-324259600"
     "726-iSVGKqn"
     "uzQJrdXt0Mc"
     "wlBeDN for "
     "upload",
     "xoxb-249524"
     "395450-3242"
     "59600726-iS"
     "VGKqnuzQJrd"
     "Xt0McwlBeDN"},
    {"slack-app",
     "using xapp-"
     "1-BTCCJEI45"
     "5X-76734081"
     "42512-b1f60"
     "d5877a6659c"
     "cfe43cc5bfe"
     "24c43628be0"
     "18479b691fa"
     "5c526c19142"
     "4bed for up"
     "load",
     "xapp-1-BTCC"
     "JEI455X-767"
     "3408142512-"
     "b1f60d5877a"
     "6659ccfe43c"
     "c5bfe24c436"
     "28be018479b"
     "691fa5c526c"
     "191424bed"},
    {"slack-hook",
     "https://hoo"
     "ks.slack.co"
     "m/services/"
     "T04PC3ODGI/"
     "B0LWVMBMIW/"
     "fnHtBpdxhEe"
     "OvAZTov9qtS"
     "9b",
     "T04PC3ODGI/"
     "B0LWVMBMIW/"
     "fnHtBpdxhEe"
     "OvAZTov9qtS"
     "9b"},
    {"snyk",
     "SNYK_TOKEN="
     "538d00d1-2d"
     "d6-48b3-a88"
     "1-4e78e0221"
     "90d",
     "538d00d1-2d"
     "d6-48b3-a88"
     "1-4e78e0221"
     "90d"},
    {"sonar",
     "using sqp_9"
     "ce8bbd45964"
     "48c2246a20d"
     "1eb35f2549a"
     "d844d0 for "
     "upload",
     "sqp_9ce8bbd"
     "4596448c224"
     "6a20d1eb35f"
     "2549ad844d0"},
    {"sourcegraph",
     "using sgp_6"
     "aa3d0843331"
     "580e_657297"
     "607e096c90b"
     "4ed195025aa"
     "7814b42b705"
     "0 for uploa"
     "d",
     "sgp_6aa3d08"
     "43331580e_6"
     "57297607e09"
     "6c90b4ed195"
     "025aa7814b4"
     "2b7050"},
    {"square",
     "using EAAAZ"
     "WeMq2-7M8E4"
     "KEE1D5GVi6i"
     "Oto129RKcQG"
     "rh1LIZVDdDb"
     "miH0JSBW_6t"
     "-4aI for up"
     "load",
     "EAAAZWeMq2-"
     "7M8E4KEE1D5"
     "GVi6iOto129"
     "RKcQGrh1LIZ"
     "VDdDbmiH0JS"
     "BW_6t-4aI"},
    {"stripe",
     "using rk_li"
     "ve_ptcDcyyU"
     "rq7axeBcEsM"
     "ecmrT for u"
     "pload",
     "rk_live_ptc"
     "DcyyUrq7axe"
     "BcEsMecmrT"},
    {"supabase",
     "using sbp_a"
     "1490301c62d"
     "28410405a4f"
     "1c5bea6d0c6"
     "105335 for "
     "upload",
     "sbp_a149030"
     "1c62d284104"
     "05a4f1c5bea"
     "6d0c6105335"},
    {"tailscale",
     "using tskey"
     "-auth-r8je8"
     "zQySoUWCNTR"
     "L-HHLSHzHNF"
     "YyyDJZRnSzl"
     "qZdE5F8ZEfk"
     "v for uploa"
     "d",
     "tskey-auth-"
     "r8je8zQySoU"
     "WCNTRL-HHLS"
     "HzHNFYyyDJZ"
     "RnSzlqZdE5F"
     "8ZEfkv"},
    {"teams",
     "https://con"
     "toso.webhoo"
     "k.office.co"
     "m/webhookb2"
     "/5f1f995f-1"
     "26f-43ba-ac"
     "08-427692ba"
     "4224@4f901d"
     "a7-3c92-40f"
     "6-a882-bfc3"
     "1b5d4100/In"
     "comingWebho"
     "ok/e7f8ba33"
     "9feaa1c8c89"
     "2efbddbb3ff"
     "f1/e6962e29"
     "-7382-417a-"
     "a1cb-664523"
     "f2bba9",
     "5f1f995f-12"
     "6f-43ba-ac0"
     "8-427692ba4"
     "224@4f901da"
     "7-3c92-40f6"
     "-a882-bfc31"
     "b5d4100/Inc"
     "omingWebhoo"
     "k/e7f8ba339"
     "feaa1c8c892"
     "efbddbb3fff"
     "1/e6962e29-"
     "7382-417a-a"
     "1cb-664523f"
     "2bba9"},
    {"telegram",
     "https://api"
     ".telegram.o"
     "rg/bot14935"
     "57631:AAooa"
     "fd8JsC1lH5D"
     "f6nHE_-Kf00"
     "o2sv3z9e/se"
     "ndMessage",
     "1493557631:"
     "AAooafd8JsC"
     "1lH5Df6nHE_"
     "-Kf00o2sv3z"
     "9e"},
    {"together",
     "using tgp_v"
     "1_o4wUSL9Nz"
     "BYDj4TnyUD5"
     "bh-TRgvGZ-o"
     "sbwJ4IFz0G4"
     "y for uploa"
     "d",
     "tgp_v1_o4wU"
     "SL9NzBYDj4T"
     "nyUD5bh-TRg"
     "vGZ-osbwJ4I"
     "Fz0G4y"},
    {"twilio",
     "using SKbcb"
     "e688e0dd2ad"
     "475d0a6f744"
     "d9a9dc7 for"
     " upload",
     "SKbcbe688e0"
     "dd2ad475d0a"
     "6f744d9a9dc"
     "7"},
    {"twitch",
     "twitch_toke"
     "n=p7yr6qcj5"
     "0hqqlcglajm"
     "736nv8xvkr",
     "p7yr6qcj50h"
     "qqlcglajm73"
     "6nv8xvkr"},
    {"twitter",
     "using AAAAA"
     "AAAAAAAAAAA"
     "AAAAAkHzL04"
     "wdIu68LBAo3"
     "7SPrYO1yxW6"
     "qZKmrXQgAEV"
     "aqxyKM8mkcI"
     "2Aii72JH5ps"
     "Q384Bgy%MGA"
     "inJ844xgAjf"
     "H%IwTyK for"
     " upload",
     "AAAAAAAAAAA"
     "AAAAAAAAAAk"
     "HzL04wdIu68"
     "LBAo37SPrYO"
     "1yxW6qZKmrX"
     "QgAEVaqxyKM"
     "8mkcI2Aii72"
     "JH5psQ384Bg"
     "y%MGAinJ844"
     "xgAjfH%IwTy"
     "K"},
    {"typeform",
     "using tfp_1"
     "tOcObQSDnCJ"
     "aK-gZfJiCBE"
     "fXBR43ZDylN"
     "ddcghvAT2xl"
     "q7Vpql9VUyO"
     "48d for upl"
     "oad",
     "tfp_1tOcObQ"
     "SDnCJaK-gZf"
     "JiCBEfXBR43"
     "ZDylNddcghv"
     "AT2xlq7Vpql"
     "9VUyO48d"},
    {"vercel",
     "using verce"
     "l_blob_rw_r"
     "76tWCLz5lsC"
     "T0PE_9SbX4d"
     "EZUvBlpY0If"
     "XwBxuCMi1cA"
     "aI for uplo"
     "ad",
     "vercel_blob"
     "_rw_r76tWCL"
     "z5lsCT0PE_9"
     "SbX4dEZUvBl"
     "pY0IfXwBxuC"
     "Mi1cAaI"},
    {"voyage",
     "VOYAGE_API_"
     "KEY=pa-h8Iv"
     "4-adLY2ciMe"
     "OkgCnOHv9bx"
     "SqN9FUS-9WW"
     "tIbddb",
     "pa-h8Iv4-ad"
     "LY2ciMeOkgC"
     "nOHv9bxSqN9"
     "FUS-9WWtIbd"
     "db"},
    {"wandb",
     "wandb login"
     " cf1ea961d4"
     "e3c9948673c"
     "2dfe847e55a"
     "1f44ce60",
     "cf1ea961d4e"
     "3c9948673c2"
     "dfe847e55a1"
     "f44ce60"},
    {"wandb-new",
     "using wandb"
     "_v1_9fJLtFx"
     "be0D4431-EC"
     "bVLlIihf7_7"
     "dohi75-Kcr1"
     "tRUr_gsAzcW"
     "N-Qc640mzPr"
     "p_27_7cpmu1"
     "unsy for up"
     "load",
     "wandb_v1_9f"
     "JLtFxbe0D44"
     "31-ECbVLlIi"
     "hf7_7dohi75"
     "-Kcr1tRUr_g"
     "sAzcWN-Qc64"
     "0mzPrp_27_7"
     "cpmu1unsy"},
    {"weaviate",
     "WEAVIATE_AP"
     "I_KEY=zptgS"
     "b41H13Bpnox"
     "D4k3AeE9P9p"
     "aLjSwyZ5D",
     "zptgSb41H13"
     "BpnoxD4k3Ae"
     "E9P9paLjSwy"
     "Z5D"},
    {"xai",
     "using xai-D"
     "XXD6RszNBkT"
     "SQ3F9wQA0zQ"
     "QwqmN1AoeaN"
     "t1em7afLmZs"
     "1YHLO72gfcq"
     "zBZMELREnUh"
     "VQYycrCAnme"
     "rr for uplo"
     "ad",
     "xai-DXXD6Rs"
     "zNBkTSQ3F9w"
     "QA0zQQwqmN1"
     "AoeaNt1em7a"
     "fLmZs1YHLO7"
     "2gfcqzBZMEL"
     "REnUhVQYycr"
     "CAnmerr"},
    {"yandex",
     "using AQVNM"
     "yXoFJEmbH1X"
     "pijukwc0r4M"
     "fj9iNMWPfVs"
     "8x for uplo"
     "ad",
     "AQVNMyXoFJE"
     "mbH1Xpijukw"
     "c0r4Mfj9iNM"
     "WPfVs8x"},
    {"zendesk",
     "zendesk_tok"
     "en=Q9ontTBs"
     "qIn9Ge5857W"
     "PykCfL5hPwy"
     "qi0kEHW7ev",
     "Q9ontTBsqIn"
     "9Ge5857WPyk"
     "CfL5hPwyqi0"
     "kEHW7ev"},
    {"zilliz",
     "ZILLIZ_CLOU"
     "D_API_KEY=3"
     "c4e1ad5389e"
     "23886c38c83"
     "58aef943b35"
     "45dd82f5c9e"
     "cb4fcc5fda7"
     "23e237c1caf"
     "3400c",
     "3c4e1ad5389"
     "e23886c38c8"
     "358aef943b3"
     "545dd82f5c9"
     "ecb4fcc5fda"
     "723e237c1ca"
     "f3400c"},
    {"vast",
     "vastai set "
     "api-key 54b"
     "fb9575fc5d5"
     "bdca54e2baf"
     "c2dc2f47aa4"
     "e7944e5e2f7"
     "791e6a729ed"
     "ac14ac",
     "54bfb9575fc"
     "5d5bdca54e2"
     "bafc2dc2f47"
     "aa4e7944e5e"
     "2f7791e6a72"
     "9edac14ac"},
    {"lambda",
     "using secre"
     "t_ZUzARHNKr"
     "nCs_9dfa3f8"
     "ee71906e8da"
     "388c6615726"
     "9c9.uuKYrZN"
     "k2pZGUsKjNb"
     "juBt6k for "
     "upload",
     "secret_ZUzA"
     "RHNKrnCs_9d"
     "fa3f8ee7190"
     "6e8da388c66"
     "157269c9.uu"
     "KYrZNk2pZGU"
     "sKjNbjuBt6k"},
    {"paperspace",
     "using pts_g"
     "1ujl2xme9zx"
     "weq3oi82qlz"
     "235p5hn9i f"
     "or upload",
     "pts_g1ujl2x"
     "me9zxweq3oi"
     "82qlz235p5h"
     "n9i"},
    {"coreweave",
     "kubectl --t"
     "oken=cwO6NS"
     "XT7QH2aDeMu"
     "NadLEGd4Zpl"
     "D4yJFJfI7Yy"
     "R4g",
     "cwO6NSXT7QH"
     "2aDeMuNadLE"
     "Gd4ZplD4yJF"
     "JfI7YyR4g"},
    {"mlflow",
     "MLFLOW_TRAC"
     "KING_PASSWO"
     "RD=29MO2S5L"
     "xluVYrq7cB",
     "29MO2S5Lxlu"
     "VYrq7cB"},
    {"dagshub",
     "dvc remote "
     "modify orig"
     "in --local "
     "password a6"
     "8707d05e410"
     "0b7cf5b2b05"
     "d5c1e3e8c6e"
     "60a8a",
     "a68707d05e4"
     "100b7cf5b2b"
     "05d5c1e3e8c"
     "6e60a8a"},
    {"clearml",
     "CLEARML_API"
     "_SECRET_KEY"
     "=hQmsGeovCO"
     "2Z4OszabOeQ"
     "V9YCYXIQjIR"
     "kIQr3L4JdpW"
     "rZyZlOP",
     "hQmsGeovCO2"
     "Z4OszabOeQV"
     "9YCYXIQjIRk"
     "IQr3L4JdpWr"
     "ZyZlOP"},
    {"redis",
     "redis://:cI"
     "ucbpSBuVvTh"
     "Ql5K7LN@10."
     "1.2.3:6379/"
     "0",
     "cIucbpSBuVv"
     "ThQl5K7LN"},
    {"mongo",
     "mongodb+srv"
     "://ml:xLicP"
     "sempKdp7TPq"
     "y2Ac@cluste"
     "r0.x1.mongo"
     "db.net/",
     "xLicPsempKd"
     "p7TPqy2Ac"},
    {"ssh-pass",
     "SSHPASS=i16"
     "0vv9zkK7pFC"
     "un sshpass "
     "-e ssh n1",
     "i160vv9zkK7"
     "pFCun"},
    {"luks",
     "aria2c --ht"
     "tp-passwd=f"
     "Z0ATRPqyt6u"
     "T4RVsCKgaZP"
     "1 https://d"
     ".example.co"
     "m/w",
     "fZ0ATRPqyt6"
     "uT4RVsCKgaZ"
     "P1"},
    {"s3cmd",
     "s3cmd --sec"
     "ret_key=Y90"
     "0gtWz9lBbrS"
     "qJKUgzJTkUA"
     "gFmfE+jQ1bh"
     "sYxx ls",
     "Y900gtWz9lB"
     "brSqJKUgzJT"
     "kUAgFmfE+jQ"
     "1bhsYxx"},
    {"basic",
     "curl -H 'Au"
     "thorization"
     ": Basic g/7"
     "xnsURTBHaUx"
     "7jAjHJgYunD"
     "SGyQm2v==' "
     "https://h.e"
     "xample.com",
     "g/7xnsURTBH"
     "aUx7jAjHJgY"
     "unDSGyQm2v="
     "="},
};

}  // namespace aplomb::report::test
