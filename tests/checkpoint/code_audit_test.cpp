// Program text in a checkpoint that is no pickle. Nothing here renders or loads it.

#include "checkpoint/code_audit.h"

#include <gtest/gtest.h>

#include "made_checkpoints.h"
#include "made_torch.h"

namespace aplomb::checkpoint {
namespace {

using namespace std::string_literals;

std::string found(const std::string& bytes, const std::string& name) {
  std::vector<tensors::Finding> out;
  audit_code(test::as_bytes(bytes), "some/folder/" + name, out);
  std::string said;
  for (const tensors::Finding& each : out)
    said += (said.empty() ? "" : " ") + each.kind + ":" + std::string(core::name(each.severity));
  return said;
}

TEST(CodeAudit, ATemplateThatReachesForPythonIsTold) {
  for (const char* source :
       {"{{ joiner.__init__.__globals__.os.system('id') }}", "{{ ''['__class__'] }}",
        "{% set x = messages | attr('pop') %}", "{{ x['\\x5f\\x5fclass\\x5f\\x5f'] }}",
        "{%- if true -%}{{ lipsum.popen('id') }}{%- endif -%}", "{{ ().mro() }}"}) {
    EXPECT_NE(reach_of_template(source), "") << source;
  }
  for (
      const char* source :
      {"{% for message in messages %}<|im_start|>{{ message['role'] + '\\n' + message['content'] | "
       "trim }}<|im_end|>{% endfor %}",
       "{%- set ns = namespace(found=false) -%}{{ raise_exception('no system message') }}",
       "It may speak of __class__ and popen(): {{ bos_token }}", "{# __globals__ #}{{ 1 }}",
       "{{ message.content.split('</think>')[-1].lstrip('\\n') }}{{ tools | tojson(indent=4) }}"}) {
    EXPECT_EQ(reach_of_template(source), "") << source;
  }
}

TEST(CodeAudit, ATemplateIsLookedAtWhereverItStands) {
  const std::string bad = "{{ cycler.__init__.__globals__ }}";
  EXPECT_EQ(found("{\"chat_template\": \"" + bad + "\"}", "tokenizer_config.json"),
            "code.template:failed");
  EXPECT_EQ(found("{\"chat_template\": [{\"name\": \"default\", \"template\": \"" + bad + "\"}]}",
                  "tokenizer_config.json"),
            "code.template:failed");
  EXPECT_EQ(found(bad, "chat_template.jinja"), "code.template:failed");
  const std::string key = "tokenizer.chat_template.tool";
  EXPECT_EQ(
      found("GGUF\3\0\0\0"s + key + "\x08\0\0\0"s + test::little(bad.size(), 8) + bad, "m.gguf"),
      "code.template:failed");
  EXPECT_EQ(found("{\"chat_template\": \"{{ bos_token }}\", \"auto_map\": {}}", "config.json"), "");
}

TEST(CodeAudit, AModelThatIsAProgramIsTold) {
  EXPECT_EQ(found(R"({"auto_map": {"AutoModel": "modeling_own.Model"}})", "config.json"),
            "code.remote:note");
  EXPECT_EQ(found(R"({"auto_map": {"AutoModel": "someone/else--modeling.Model"}})", "config.json"),
            "code.remote:warning");
  EXPECT_EQ(found(R"({"trust_remote_code": true})", "config.json"), "code.remote:warning");
  EXPECT_EQ(found(R"({"trust_remote_code": false})", "config.json"), "");
}

TEST(CodeAudit, PythonCodeInKerasIsTold) {
  const std::string layer =
      R"({"class_name": "Lambda", "config": {"function": {"class_name": "__lambda__", "config": {"code": "4wE="}}}})";
  EXPECT_EQ(found(test::zip({{"config.json", layer}}), "m.keras"), "code.lambda:failed");
  EXPECT_EQ(found("\x89HDF\r\n\x1a\n" + layer, "m.h5"), "code.lambda:failed");
  EXPECT_EQ(found(R"({"module": "subprocess", "class_name": "function", "config": "Popen"})",
                  "config.json"),
            "code.lambda:failed");
  EXPECT_EQ(
      found(R"({"module": "keras.layers", "class_name": "Dense", "config": {}})", "config.json"),
      "");
}

}  // namespace
}  // namespace aplomb::checkpoint
