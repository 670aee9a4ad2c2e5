#include "cli/ckpt_convert.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "checkpoint/convert.h"
#include "cli/output.h"
#include "core/json_text.h"
#include "core/text.h"

namespace aplomb::cli {
namespace {

using Json = nlohmann::ordered_json;
using checkpoint::Converted;

std::string size_text(std::uint64_t bytes) { return core::show_bytes(static_cast<double>(bytes)); }

std::string text_of(const Converted& done, const std::string& dtype, const std::string& out) {
  std::string text = fmt::format("{}: {} tensors in {}", core::sanitize(out), done.tensors, dtype);
  if (done.left > 0) text += fmt::format(", {} as they were", done.left);
  text += fmt::format("; {} of weights, {} before\n", size_text(done.bytes_after),
                      size_text(done.bytes_before));
  if (done.copied > 0) text += fmt::format("{} other files copied\n", done.copied);
  if (done.vanished > 0)
    text += fmt::format("{} values were too small for {} and are zero now\n", done.vanished, dtype);
  for (const std::string& each : done.left_out) text += "left out: " + core::sanitize(each) + "\n";
  return text;
}

std::string json_of(const Converted& done, const std::string& dtype, const std::string& out) {
  Json left_out = Json::array();
  for (const std::string& each : done.left_out) left_out.push_back(core::sanitize(each));
  const Json all = {{"schema", "aplomb.convert/1"},
                    {"out", core::sanitize(out)},
                    {"dtype", dtype},
                    {"weight_files", done.weight_files},
                    {"tensors", done.tensors},
                    {"left_as_they_were", done.left},
                    {"bytes_before", done.bytes_before},
                    {"bytes_after", done.bytes_after},
                    {"vanished", done.vanished},
                    {"copied", done.copied},
                    {"left_out", std::move(left_out)}};
  return core::json_text(all, 2) + "\n";
}

}  // namespace

void CkptConvert::declare(const arguments::Verb& ckpt) {
  verb_ =
      ckpt.verb("convert", "Weights in another number format: fp32 masters from bf16, and back");
  verb_.option("IN", in_, "a safetensors file, or a checkpoint's folder with such weights")
      .required();
  verb_.option("OUT", out_, "the file or folder to write; may not be there").required();
  verb_.option("--dtype", dtype_, "the new format")
      .one_of({"float32", "bfloat16", "float16"})
      .shows_default();
  verb_.flag("--json", json_, "print what was done as JSON (schema aplomb.convert/1)");
  confinement_.declare(verb_);
  verb_.footer(
      "Example: resume from weights that were saved in bf16 with fp32 masters\n"
      "  aplomb ckpt convert out/checkpoint-400 out/checkpoint-400-fp32 --dtype float32\n"
      "\n"
      "Of a folder everything else is copied, and config.json states the new dtype. To float32 is "
      "exact;\n"
      "back rounds to nearest. The input is never written.");
}

int CkptConvert::run() {
  never_write({in_});
  const auto refuse = [](const core::Error& error) {
    complain(core::sanitize(error.text));
    return static_cast<int>(k_exit_usage);
  };
  if (const auto allowed = may_write(out_); !allowed) return refuse(allowed.error());
  confinement_.enter({out_});
  const auto done = checkpoint::convert_checkpoint(
      in_, out_, {numerics::format_of(dtype_).value_or(numerics::Format::fp32)});
  if (!done) return refuse(done.error());
  const auto said = write_out(json_ ? json_of(*done, dtype_, out_) : text_of(*done, dtype_, out_));
  return said ? static_cast<int>(k_exit_healthy) : refuse(said.error());
}

}  // namespace aplomb::cli
