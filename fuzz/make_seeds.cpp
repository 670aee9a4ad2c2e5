/// make_seeds OUT EXAMPLES: writes the inputs that fuzzing starts from, a folder a target: what
/// each reader quotes of its format, the files below EXAMPLES that a reader would choose, and small
/// binary files of every format.

#include <aplomb/recorder.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "sources/made_files.h"
#include "sources/reader.h"

namespace {

namespace fs = std::filesystem;
using namespace aplomb;

constexpr std::size_t k_most_bytes = 16384;  // the fuzzer mutates small inputs best
constexpr char k_as_it_is = '\x18';          // the leading byte: no frames, parts of 4096 bytes
constexpr char k_in_frames = '\x19';

void write(const fs::path& folder, const std::string& name, const std::string& bytes) {
  fs::create_directories(folder);
  std::ofstream(folder / name, std::ios::binary) << bytes;
}

std::string in_pieces(std::initializer_list<std::string> pieces) {
  std::string out(1, k_in_frames);
  for (const std::string& piece : pieces) {
    out += static_cast<char>(piece.size() & 0xFFU);
    out += static_cast<char>(piece.size() >> 8U);
    out += piece;
  }
  return out;
}

/// The message in a frame made by scalar_event() and the like.
std::string message_of(const std::string& frame) { return frame.substr(12, frame.size() - 16); }

void write_binary(const fs::path& out) {
  const std::string scalar = test::scalar_event(3, "train/loss", 2.5F);
  const std::string tensor = test::value_event(4, "loss", [](protozero::pbf_writer& value) {
    value.add_message(8, std::string("\x08\x01\x12\x00\x22\x04\x00\x00\x80\x3f", 10));
  });
  write(out / "tensorboard", "file", k_as_it_is + test::version_event() + scalar + tensor);
  write(out / "tensorboard", "messages", in_pieces({message_of(scalar), message_of(tensor)}));
  test::WandbWriter writer;
  writer.items(5, {{"learning_rate", "0.0002"}, {"model", R"({"layers": 2, "name": "tiny"})"}});
  writer.items(2, {{"train/loss", "2.5"}, {"_step", "1"}, {"x", "\"NaN\""}});
  writer.output("RuntimeError: CUDA error: device-side assert triggered\n");
  write(out / "wandb", "file", k_as_it_is + writer.bytes());
  std::string history;
  protozero::pbf_writer item(history);
  item.add_message(2, std::string("\x0a\x0d\x0a\x04loss\x82\x01\x03"
                                  "2.5"));
  write(out / "wandb", "records", in_pieces({history}));
  using namespace std::string_literals;
  write(out / "byte_stream", "gzip",
        "\x18\x1f\x8b\x08\0\0\0\0\0\0\x03\x4b\xcc\x03\0\x6b\x1c\x6e\xd4\x02\0\0\0"s);
  write(out / "byte_stream", "zstd",
        "\x18\x28\xb5\x2f\xfd\x24\x02\x11\0\0\x61\x62\x4f\xc3\x97\x5c"s);
  write(out / "byte_stream", "utf16", "\x18\xff\xfel\0o\0=\xd8\x00\xde"s);
  write(out / "condition", "1",
        "lr.peak > 1e-3 && !(known(schedule.warmup_steps)) || loss.spike.sigma >= 4");
}

/// A record as a run leaves it: a few steps, one of them skipped.
void write_step_record(const fs::path& out) {
  const fs::path path = out / "step-record.tmp";
  fs::create_directories(out);
  std::string error;
  if (const auto recorder = Recorder::open(path, {.slots = 8, .text_bytes = 4096}, error)) {
    const RecordedValue loss{recorder->name("loss"), 2.5};
    for (int step = 0; step < 12; ++step) {
      recorder->record({.step = step,
                        .values = {&loss, 1},
                        .action = static_cast<std::uint8_t>(step == 9 ? 2 : 0),
                        .policy = step == 9 ? "spike" : "",
                        .reason = step == 9 ? "why" : ""});
    }
  }
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  write(out / "step-record", "file", k_as_it_is + bytes);
  fs::remove(path);
}

void write_text(const fs::path& out, const fs::path& examples) {
  for (const auto& reader : sources::readers()) {
    write(out / reader->spec().slug, "example", k_as_it_is + reader->spec().example);
  }
  for (const auto& entry : fs::recursive_directory_iterator(examples)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    bytes.resize(std::min(bytes.size(), k_most_bytes));
    std::string name = fs::relative(entry.path(), examples).string();
    std::replace(name.begin(), name.end(), '/', '_');
    for (const auto& reader : sources::readers()) {
      if (reader->sniff({name, bytes, bytes.size()}) > 0)
        write(out / reader->spec().slug, name, k_as_it_is + bytes);
    }
  }
}

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The files of a format of several files, each behind its length.
std::string as_folder(const std::vector<std::string>& files) {
  std::string out;
  for (const std::string& file : files) {
    out += static_cast<char>(file.size() & 0xFFU);
    out += static_cast<char>(file.size() >> 8U);
    out += file;
  }
  return out;
}

void write_zero(const fs::path& out, const fs::path& data) {
  for (const char* stage : {"zero1", "zero2", "zero3"}) {
    std::vector<std::string> models;
    std::vector<std::string> optimizers;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(data / stage / "global_step3", none)) {
      const bool model = entry.path().string().ends_with("model_states.pt");
      (model ? models : optimizers).push_back(bytes_of(entry.path()));
      write(out / "checkpoint_torch_zip", stage + entry.path().filename().string(),
            bytes_of(entry.path()));
    }
    if (models.empty() || optimizers.size() < 2) continue;
    write(out / "checkpoint_zero", stage, as_folder({models[0], optimizers[0], optimizers[1]}));
  }
}

/// Parts of tensors as ranks leave them, and optimizer states in 8 bits.
void write_ranks(const fs::path& out, const fs::path& data) {
  const std::string dtensors = bytes_of(data / "seeds/dtensors.pt");
  const std::string sharded = bytes_of(data / "seeds/sharded_tensors.pt");
  const std::string block = bytes_of(data / "seeds/sharded.safetensors");
  if (dtensors.empty() || sharded.empty() || block.empty()) return;
  write(out / "checkpoint_torch_zip", "dtensors", dtensors);
  write(out / "checkpoint_torch_zip", "sharded_tensors", sharded);
  write(out / "checkpoint_safetensors", "sharded", block);
  for (const char* name : {"adamw8bit", "ao8bit", "ao4bit"}) {
    const std::string state = bytes_of(data / "coded" / name / "optimizer.pt");
    if (state.empty()) continue;
    write(out / "checkpoint_torch_zip", name, state);
    write(out / "checkpoint_ranks", name, as_folder({dtensors, dtensors, state, block}));
  }
  write(out / "checkpoint_ranks", "sharded_tensors", as_folder({sharded, sharded, {}, block}));
}

/// Whole small files of the example's checkpoints and of the tests', and what they do not hold: a
/// safetensors file, a pickle that calls, an index, GGUF.
void write_checkpoints(const fs::path& out, const fs::path& examples) {
  using namespace std::string_literals;
  for (const auto& entry : fs::recursive_directory_iterator(examples)) {
    const std::string ending = entry.path().extension().string();
    const bool wanted = ending == ".pt" || ending == ".pth" || ending == ".bin";
    if (!wanted || !entry.is_regular_file() || entry.file_size() > k_most_bytes) continue;
    write(out / "checkpoint_torch_zip", entry.path().filename().string(), bytes_of(entry.path()));
  }
  const std::string header = R"({"w":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})";
  write(out / "checkpoint_safetensors", "small",
        std::string(1, static_cast<char>(header.size())) + "\0\0\0\0\0\0\0"s + header +
            "\x80\x3f\0\0"s);
  write(out / "checkpoint_safetensors", "index.json",
        R"({"weight_map": {"w": "model-1.safetensors"}})");
  write(out / "checkpoint_torch_pickle", "call",
        "\x80\x02"
        "cos\nsystem\n(X\x01\0\0\0xtR.");
  const fs::path data = examples.parent_path() / "tests/checkpoint/data";
  write_zero(out, data);
  for (const char* name : {"small.gguf", "small_legacy.pt", "small_dcp"}) {
    const std::string bytes = bytes_of(data / "seeds" / name);
    const std::string_view word(name);
    const char* target = word.ends_with("gguf") ? "checkpoint_gguf"
                         : word.ends_with("pt") ? "checkpoint_torch_pickle"
                                                : "checkpoint_dcp";
    if (!bytes.empty()) write(out / target, name, bytes);
  }
  write_ranks(out, data);
}

/// Arrays, packed pickles, and pickles that call, for the audit.
void write_pickles(const fs::path& out, const fs::path& examples) {
  using namespace std::string_literals;
  std::string array = "\x93NUMPY\x01\0"s;
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  header.resize(117, ' ');
  header += '\n';
  array += static_cast<char>(header.size());
  array += '\0' + header + "\0\0\x80\x3f\0\0\x80\x3f"s;
  write(out / "checkpoint_numpy", "one", as_folder({{}, array}));
  write(out / "checkpoint_packed", "gzip",
        as_folder({"\x1f\x8b\x08\0\0\0\0\0\0\x03\x6b\x60\x99\x0e\0\x2b\x7b\xb1\x9d\x04\0\0\0"s}));
  const fs::path audited = out / "checkpoint_pickles";
  write(audited, "call",
        "\x80\x02"
        "cos\nsystem\n(X\x01\0\0\0xtR.");
  write(audited, "stack_global",
        "\x80\x04\x8c\x02os\x94\x8c\x06system\x94\x93\x94\x8c\x01x\x94\x85\x94R\x94.");
  write(audited, "inst", "(S'x'\nios\nsystem\n.");
  write(audited, "extension", "\x80\x02\x82\x01)R.");
  write(audited, "array", array);
  for (const char* from : {"checkpoint_torch_zip", "checkpoint_torch_pickle"}) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(out / from, none))
      write(audited, entry.path().filename().string(), bytes_of(entry.path()));
  }
  for (const auto& entry : fs::recursive_directory_iterator(examples)) {
    const bool wanted = entry.path().extension() == ".npz" || entry.path().extension() == ".npy";
    if (wanted && entry.is_regular_file() && entry.file_size() <= k_most_bytes)
      write(audited, entry.path().filename().string(), bytes_of(entry.path()));
  }
}

/// A BPE of a few characters with the parts that other files of the kind have.
std::string small_tokenizer(const std::string& parts, const std::string& model) {
  return R"({"version": "1.0", "added_tokens": [{"id": 9, "content": "<|end|>", "special": true}], )" +
         parts + R"(, "model": {"type": "BPE", )" + model +
         R"("vocab": {"a": 0, "b": 1, "ab": 2, "\u2581": 3, "\u2581a": 4, "<0x41>": 5, "<unk>": 6, "1": 7, "\u0120a": 8}, "merges": ["a b", ["\u2581", "a"]]}})";
}

void write_trainer_text(const fs::path& out, const fs::path& examples) {
  using namespace std::string_literals;
  write(out / "tokenizer", "example",
        bytes_of(examples / "finetune/model/tokenizer.json") + "\0The duck of Emil is white."s);
  const std::string text = "\0 ab a\xc3\xa9 12<|end|>\n\tA b"s;
  write(
      out / "tokenizer", "bytes",
      small_tokenizer(
          R"("normalizer": {"type": "NFC"}, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true, "use_regex": true}, "decoder": {"type": "ByteLevel"})",
          "") +
          text);
  write(
      out / "tokenizer", "pieces",
      small_tokenizer(
          R"("normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"}, {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]}, "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})",
          R"("byte_fallback": true, "unk_token": "<unk>", "fuse_unk": true, )") +
          text);
  write(
      out / "tokenizer", "split",
      small_tokenizer(
          R"("pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "\\p{N}{1,3}|\\s+(?!\\S)|[^\\s]+"}, "behavior": "Isolated", "invert": false}, {"type": "Digits", "individual_digits": true}]}, "post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<|end|>", "type_id": 0}}], "special_tokens": {"<|end|>": {"id": "<|end|>", "ids": [9], "tokens": ["<|end|>"]}}})",
          R"("ignore_merges": true, )") +
          text);
  const std::string said = "\0What is {{ this }}?"s;
  write(out / "chat_template", "turns",
        "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] | trim }}<|end|>\n{% endfor %}"
        "{%- if add_generation_prompt %}<|assistant|>{% endif %}" +
            said);
  write(out / "chat_template", "pairs",
        "{{ bos_token }}{% set ns = namespace(n=0) %}{% for m in messages[1:] %}{% set ns.n = ns.n "
        "+ 1 %}"
        "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('turns') }}{% "
        "endif %}"
        "{% if m.role == 'user' %}{{ '[INST] ' ~ m.content ~ ' [/INST]' }}"
        "{% else %}{% generation %} {{ m.content }}{{ eos_token }}{% endgeneration %}{% endif %}{% "
        "endfor %}" +
            said);
  write(
      out / "chat_template", "calls",
      "{% macro one(m, end='.') %}{{ m.content.split(' ')[-1] | upper }}{{ end * 2 }}{% endmacro %}"
      "{% for m in messages if m.role != 'system' %}{{ one(m, end='!') }}{{ m | tojson }}"
      "{% else %}none{% endfor %}{# a note #}{{ messages | length }}" +
          said);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: make_seeds OUT EXAMPLES\n");
    return 2;
  }
  write_binary(arguments[1]);
  write_step_record(arguments[1]);
  write_text(arguments[1], arguments[2]);
  write_checkpoints(arguments[1], arguments[2]);
  write_pickles(arguments[1], arguments[2]);
  write_trainer_text(arguments[1], arguments[2]);
  return 0;
}
