// Program text in a checkpoint that is no pickle. Nothing here renders or loads it.

#include "pickle/program_text.h"

#include <gtest/gtest.h>

#include "made_checkpoints.h"
#include "made_torch.h"

namespace aplomb::checkpoint {
namespace {

using namespace std::string_literals;

std::string found(const std::string& bytes, const std::string& name) {
  std::vector<tensors::Finding> out;
  pickle::audit_code(test::as_bytes(bytes), "some/folder/" + name, out);
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
    EXPECT_NE(pickle::reach_of_template(source), "") << source;
  }
  for (
      const char* source :
      {"{% for message in messages %}<|im_start|>{{ message['role'] + '\\n' + message['content'] | "
       "trim }}<|im_end|>{% endfor %}",
       "{%- set ns = namespace(found=false) -%}{{ raise_exception('no system message') }}",
       "It may speak of __class__ and popen(): {{ bos_token }}", "{# __globals__ #}{{ 1 }}",
       "{{ message.content.split('</think>')[-1].lstrip('\\n') }}{{ tools | tojson(indent=4) }}"}) {
    EXPECT_EQ(pickle::reach_of_template(source), "") << source;
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

TEST(CodeAudit, AConfigurationThatHasPythonCalledIsTold) {
  EXPECT_EQ(found("model:\n  _target_: os.system\n  command: id\n", "model_config.yaml"),
            "code.config:failed");
  EXPECT_EQ(found(R"({"_target_": "subprocess.check_call"})", "config.json"), "code.config:failed");
  EXPECT_EQ(found("x: !!python/object/apply:os.system [id]\n", "hparams.yaml"),
            "code.config:failed");
  EXPECT_EQ(found("x: !!python/name:my.thing\n", "hparams.yaml"), "code.config:warning");
  EXPECT_EQ(found(R"([{"idx": 0, "type": "os.system"}])", "modules.json"), "code.config:failed");
  for (const char* honest : {"optim:\n  _target_: torch.optim.AdamW\n",
                             "log: {_target_: torch.utils.tensorboard.SummaryWriter}\n",
                             "f:\n  _target_: hydra.utils.get_method\nx: !!python/tuple [1, 2]\n"})
    EXPECT_EQ(found(honest, "config.yaml"), "") << honest;
  EXPECT_EQ(
      found(R"([{"idx": 0, "type": "sentence_transformers.models.Pooling"}])", "modules.json"), "");
}

TEST(CodeAudit, DataOutsideOfTheFolderAndMachineCodeAreTold) {
  const auto onnx = [](const std::string& place) {
    return "\x08\x0a\x12\x30"s + "\x0a\x08location\x12" + static_cast<char>(place.size()) + place;
  };
  EXPECT_EQ(found(onnx("../../etc/passwd"), "m.onnx"), "code.path:failed");
  EXPECT_EQ(found(onnx("/etc/passwd"), "m.onnx"), "code.path:failed");
  EXPECT_EQ(found(onnx("weights/w..bin"), "m.onnx"), "");
  EXPECT_EQ(found("\x7f"s + "ELF" + std::string(60, '\0'), "k.so"), "code.native:warning");
}

}  // namespace
}  // namespace aplomb::checkpoint
