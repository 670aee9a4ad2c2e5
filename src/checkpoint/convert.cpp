#include "checkpoint/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "checkpoint/file_role.h"
#include "checkpoint/own_files.h"
#include "checkpoint/safetensors.h"
#include "core/inside_folder.h"
#include "core/json_text.h"
#include "core/new_file.h"
#include "core/text.h"

namespace aplomb::checkpoint {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using numerics::Format;
using tensors::MappedFile;
using tensors::Tensor;

constexpr std::size_t k_part_bytes = 1U << 20U;
constexpr std::size_t k_most_files = 500;
constexpr std::string_view k_index = ".safetensors.index.json";

const char* stored_name(Format format) {
  return format == Format::fp32 ? "F32" : format == Format::bf16 ? "BF16" : "F16";
}
const char* torch_name(Format format) {
  return format == Format::fp32 ? "float32" : format == Format::bf16 ? "bfloat16" : "float16";
}
std::size_t width(Format format) { return format == Format::fp32 ? 4 : 2; }

/// What can be converted; nothing: stays as it is.
std::optional<Format> format_of(const Tensor& tensor) {
  if (tensor.type == nullptr) return std::nullopt;
  for (const Format each : {Format::fp32, Format::bf16, Format::fp16}) {
    if (tensor.type->name == stored_name(each)) return each;
  }
  return std::nullopt;
}

/// Every value of fp16 as fp32.
const std::array<float, 65536>& fp16_values() {
  static const auto all = [] {
    auto made = std::make_unique<std::array<float, 65536>>();
    for (std::uint32_t bits = 0; bits < made->size(); ++bits)
      (*made)[bits] = static_cast<float>(numerics::decode(Format::fp16, bits));
    return made;
  }();
  return *all;
}

void widen(std::span<const std::byte> from, Format format, std::vector<float>& out) {
  out.resize(from.size() / width(format));
  if (format == Format::fp32) {
    std::memcpy(out.data(), from.data(), out.size() * sizeof(float));
    return;
  }
  const auto& table = fp16_values();
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, from.data() + 2 * i, sizeof bits);
    out[i] =
        format == Format::bf16 ? std::bit_cast<float>(std::uint32_t{bits} << 16U) : table[bits];
  }
}

/// Counts of one conversion.
struct Narrowed {
  std::uint64_t beyond = 0;
  std::uint64_t vanished = 0;
};

void narrow(std::span<const float> from, Format format, std::string& out, Narrowed& counts) {
  out.resize(from.size() * width(format));
  if (format == Format::fp32) {
    std::memcpy(out.data(), from.data(), out.size());
    return;
  }
  const std::uint16_t infinity = format == Format::bf16 ? 0x7F80U : 0x7C00U;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::uint16_t bits = format == Format::bf16 ? bf16_of(from[i]) : fp16_of(from[i]);
    std::memcpy(out.data() + 2 * i, &bits, sizeof bits);
    const std::uint16_t size = bits & 0x7FFFU;
    counts.beyond += size == infinity && std::isfinite(from[i]) ? 1U : 0U;
    counts.vanished += size == 0 && from[i] != 0 ? 1U : 0U;
  }
}

class Conversion {
 public:
  Conversion(std::string in, std::string out, Format to)
      : in_(std::move(in)), out_(std::move(out)), to_(to) {}

  core::Result<Converted> run() {
    std::error_code why;
    const fs::file_status status = fs::status(in_, why);
    if (!fs::exists(status)) {
      return core::fail(core::ErrorCode::not_found, fmt::format("[convert] {} is not there", in_));
    }
    if (auto apart = stands_apart(); !apart) return tl::unexpected(apart.error());
    auto done = fs::is_directory(status) ? folder() : one_file();
    if (!done) return tl::unexpected(done.error());
    if (auto lost = nothing_lost(); !lost) return tl::unexpected(lost.error());
    // The index last: whoever finds it finds all that it names.
    for (auto& each : written_) {
      if (auto named = each->commit(); !named) return tl::unexpected(named.error());
    }
    return std::move(result_);
  }

 private:
  core::Result<void> stands_apart() const {
    std::error_code why;
    const fs::path source = fs::weakly_canonical(in_, why);
    const fs::path target = fs::weakly_canonical(out_, why);
    const auto [end, rest] =
        std::mismatch(source.begin(), source.end(), target.begin(), target.end());
    static_cast<void>(rest);
    if (end == source.end()) {
      return core::fail(core::ErrorCode::bad_usage,
                        fmt::format("[convert] {} is or lies in {}: inputs are never written; name "
                                    "another place",
                                    out_, in_));
    }
    if (fs::exists(target, why) && !(fs::is_directory(target, why) && fs::is_empty(target, why) &&
                                     fs::is_directory(source, why))) {
      return core::fail(core::ErrorCode::bad_usage,
                        fmt::format("[convert] {} is there already and is not replaced; name "
                                    "another place, or remove it",
                                    out_));
    }
    return {};
  }

  core::Result<void> one_file() {
    const auto mapped = open(in_);
    if (!mapped) return tl::unexpected(mapped.error());
    if (!looks_like_safetensors((*mapped)->bytes())) return refused();
    return weights(*mapped, out_);
  }

  core::Result<void> folder() {
    std::vector<std::string> names;
    if (auto listed = list(names); !listed) return listed;
    const bool any = std::any_of(names.begin(), names.end(), [](const std::string& name) {
      const FileRole role = role_of_file(name);
      return (role == FileRole::weights || role == FileRole::adapter) &&
             name.ends_with(".safetensors");
    });
    if (!any) return refused();
    if (auto made = core::make_folder(out_); !made) return made;
    std::vector<std::string> indexes;
    for (const std::string& name : names) {
      if (name.ends_with(k_index)) {
        indexes.push_back(name);
      } else if (auto done = take(name); !done) {
        return done;
      }
    }
    if (result_.weight_files == 0) return refused();
    for (const std::string& name : indexes) {
      if (auto done = index(name); !done) return done;
    }
    return {};
  }

  core::Result<void> list(std::vector<std::string>& names) {
    std::error_code why;
    for (fs::directory_iterator at(in_, why), end; !why && at != end; at.increment(why)) {
      std::error_code none;
      const std::string name = at->path().filename().string();
      if (at->is_directory(none)) {
        if (name.starts_with("global_step") || name.starts_with("pytorch_model_fsdp"))
          return refused();
        result_.left_out.push_back(name + "/");
      } else if (!at->is_regular_file(none) ||
                 (at->is_symlink(none) && core::leads_outside(in_, at->path().string()))) {
        result_.left_out.push_back(name);
      } else {
        names.push_back(name);
      }
    }
    if (why) {
      return core::fail(core::ErrorCode::not_readable,
                        fmt::format("[convert] {}: {}", in_, why.message()));
    }
    if (names.size() > k_most_files) {
      return core::fail(core::ErrorCode::too_large,
                        fmt::format("[convert] {} holds more than {} files", in_, k_most_files));
    }
    std::sort(names.begin(), names.end());
    return {};
  }

  core::Result<void> take(const std::string& name) {
    const std::string path = (fs::path(in_) / name).string();
    const std::string target = (fs::path(out_) / name).string();
    const FileRole role = role_of_file(name);
    const bool of_weights = role == FileRole::weights || role == FileRole::adapter;
    if (of_weights && !name.ends_with(".safetensors")) {
      result_.left_out.push_back(name);  // the same weights in their old format
      return {};
    }
    const auto mapped = open(path);
    if (!mapped) return tl::unexpected(mapped.error());
    if (of_weights) {
      converted_.insert(name);
      return weights(*mapped, target);
    }
    ++result_.copied;
    if (name == "config.json") return config(**mapped, target);
    return copy(**mapped, target);
  }

  core::Result<void> weights(const std::shared_ptr<const MappedFile>& mapped,
                             const std::string& target) {
    const auto file = read_safetensors(mapped->bytes(), mapped, mapped->path());
    if (!file) return tl::unexpected(file.error());
    if (auto sound = is_sound(file->findings); !sound) return sound;
    if (is_optimizer_file(*file)) {
      ++result_.copied;
      return copy(*mapped, target);
    }
    ++result_.weight_files;
    auto made = begin(target);
    if (!made) return tl::unexpected(made.error());
    if (auto done = (*made)->write(head_of(*file)); !done) return done;
    for (const Tensor& each : file->tensors) {
      if (auto done = tensor(each, **made); !done) return done;
    }
    return {};
  }

  /// The header of the new file: the same tensors in the same order.
  std::string head_of(const SafetensorsFile& file) {
    Json head = Json::object();
    if (!file.metadata.empty()) head["__metadata__"] = file.metadata;
    std::uint64_t at = 0;
    for (const Tensor& each : file.tensors) {
      const bool changes = format_of(each).has_value();
      const std::uint64_t size = changes ? each.count * width(to_) : each.bytes.size();
      head[each.name] = {
          {"dtype", changes ? std::string(stored_name(to_)) : std::string(each.type->name)},
          {"shape", each.shape},
          {"data_offsets", {at, at + size}}};
      at += size;
    }
    total_ += at;
    std::string text = head.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');  // the data begins at a multiple of 8
    std::uint64_t length = text.size();
    std::string out(sizeof length, '\0');
    for (char& byte : out) {
      byte = static_cast<char>(length & 0xFFU);
      length >>= 8U;
    }
    return out + text;
  }

  core::Result<void> tensor(const Tensor& each, core::NewFile& out) {
    const auto from = format_of(each);
    ++(from ? result_.tensors : result_.left);
    result_.bytes_before += each.bytes.size();
    Narrowed counts;
    for (std::size_t at = 0; at < each.bytes.size(); at += k_part_bytes) {
      const auto part = each.bytes.subspan(at, std::min(k_part_bytes, each.bytes.size() - at));
      core::Result<void> done;
      if (!from || *from == to_) {
        // NOLINTNEXTLINE: bytes as characters
        done = out.write({reinterpret_cast<const char*>(part.data()), part.size()});
        result_.bytes_after += part.size();
      } else {
        widen(part, *from, wide_);
        narrow(wide_, to_, narrow_, counts);
        done = out.write(narrow_);
        result_.bytes_after += narrow_.size();
      }
      tensors::drop_pages(part);
      if (!done) return done;
    }
    result_.vanished += counts.vanished;
    if (counts.beyond == 0) return {};
    return core::fail(
        core::ErrorCode::too_large,
        fmt::format("[convert] {} values of {} are larger than {} can hold; nothing "
                    "is converted (bfloat16 has the range of float32)",
                    counts.beyond, core::shorten(core::sanitize(each.name), 120), torch_name(to_)));
  }

  core::Result<void> index(const std::string& name) {
    const auto mapped = open((fs::path(in_) / name).string());
    if (!mapped) return tl::unexpected(mapped.error());
    Json all = core::ordered_json_from((*mapped)->text());
    const auto read = read_shard_index((*mapped)->text(), (*mapped)->path());
    if (!read || !all.is_object()) {
      return core::fail(core::ErrorCode::bad_format,
                        fmt::format("[convert] {} is no index of shards", (*mapped)->path()));
    }
    if (auto sound = is_sound(read->findings); !sound) return sound;
    for (const std::string& shard : read->files) {
      if (converted_.count(shard) > 0) continue;
      return core::fail(core::ErrorCode::bad_format,
                        fmt::format("[convert] the shard {} that the index names is not there",
                                    core::shorten(core::sanitize(shard), 120)));
    }
    if (!all["metadata"].is_object()) all["metadata"] = Json::object();
    all["metadata"]["total_size"] = total_;
    return whole((fs::path(out_) / name).string(), core::json_text(all, 2) + "\n");
  }

  /// from_pretrained(dtype="auto") casts to what config.json states.
  core::Result<void> config(const MappedFile& file, const std::string& target) {
    Json all = core::ordered_json_from(file.text());
    bool states = false;
    for (const char* key : {"torch_dtype", "dtype"}) {
      if (!all.is_object() || !all.contains(key) || !all[key].is_string()) continue;
      all[key] = torch_name(to_);
      states = true;
    }
    return states ? whole(target, core::json_text(all, 2) + "\n") : copy(file, target);
  }

  core::Result<void> copy(const MappedFile& file, const std::string& target) {
    auto made = begin(target);
    if (!made) return tl::unexpected(made.error());
    for (std::size_t at = 0; at < file.text().size(); at += k_part_bytes) {
      if (auto done = (*made)->write(file.text().substr(at, k_part_bytes)); !done) return done;
      tensors::drop_pages(
          file.bytes().subspan(at, std::min<std::size_t>(k_part_bytes, file.size() - at)));
    }
    return {};
  }

  core::Result<void> whole(const std::string& target, std::string_view text) {
    auto made = begin(target);
    if (!made) return tl::unexpected(made.error());
    return (*made)->write(text);
  }

  static core::Result<void> is_sound(const tensors::Findings& findings) {
    for (const tensors::Finding& each : findings.list()) {
      if (each.severity == core::Severity::note) continue;
      return core::fail(core::ErrorCode::bad_format, each.text + "; nothing is converted");
    }
    return {};
  }

  core::Result<std::shared_ptr<const MappedFile>> open(const std::string& path) {
    read_.insert(path);
    return MappedFile::open(path);
  }

  core::Result<core::NewFile*> begin(const std::string& target) {
    auto made = core::NewFile::beside(target);
    if (!made) return tl::unexpected(made.error());
    written_.push_back(std::move(*made));
    return written_.back().get();
  }

  /// Bytes that could not be had counted as zeros: such an output must not stand.
  core::Result<void> nothing_lost() const {
    for (const tensors::LostFile& each : tensors::lost_files()) {
      if (read_.count(each.path) == 0) continue;
      return core::fail(core::ErrorCode::not_readable,
                        fmt::format("[convert] {} could not be read from byte {} on: it was cut, "
                                    "or the disk fails; nothing is converted",
                                    each.path, each.from));
    }
    return {};
  }

  tl::unexpected<core::Error> refused() const {
    return core::fail(
        core::ErrorCode::unsupported,
        fmt::format("[convert] {} holds no safetensors weights of its own, and other formats are "
                    "not written: save them with model.save_pretrained(DIR) first (DeepSpeed: "
                    "zero_to_fp32.py, which gives fp32 at once; torch distributed checkpoints: "
                    "python -m torch.distributed.checkpoint.format_utils dcp_to_torch)",
                    in_));
  }

  std::string in_;
  std::string out_;
  Format to_;
  Converted result_;
  std::uint64_t total_ = 0;          ///< bytes of all tensors
  std::set<std::string> read_;       ///< paths
  std::set<std::string> converted_;  ///< names of a folder's files of weights
  std::vector<std::unique_ptr<core::NewFile>> written_;
  std::vector<float> wide_;
  std::string narrow_;
};

}  // namespace

std::uint16_t bf16_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>((bits >> 16U) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

std::uint16_t fp16_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16U) & 0x8000U;
  const std::uint32_t size = bits & 0x7FFFFFFFU;
  if (size > 0x7F800000U)  // NaN keeps the upper bits of its payload
    return static_cast<std::uint16_t>(sign | 0x7E00U | ((size >> 13U) & 0x1FFU));
  // 65520 lies half-way to what would come after 65504, and ties go to infinity.
  if (size >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);
  if (size < 0x38800000U) {
    // Below 2^-14: one ULP of 0.5 is 2^-24, the smallest fp16, so the sum rounds as it should.
    const float sum = std::bit_cast<float>(size) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(sum) - 0x3F000000U));
  }
  const std::uint32_t rounded = size + 0xFFFU + ((size >> 13U) & 1U);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13U));
}

core::Result<Converted> convert_checkpoint(const std::string& in, const std::string& out,
                                           const ConvertOptions& options) {
  return Conversion(in, out, options.to).run();
}

}  // namespace aplomb::checkpoint
