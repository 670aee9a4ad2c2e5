#include "checkpoint/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "checkpoint/checkpoint_format.h"
#include "core/text.h"

namespace aplomb::checkpoint {
namespace {

constexpr std::uint64_t k_most_tensors = 4'000'000;
constexpr std::uint64_t k_most_keys = 1'000'000;
constexpr std::uint64_t k_most_axes = 8;  // ggml itself has 4
constexpr std::uint64_t k_most_alignment = 1U << 20U;
constexpr int k_most_nesting = 8;  // arrays of arrays

constexpr tensors::ElementType quantised(std::string_view name, unsigned block, unsigned bytes,
                                         unsigned scales = 0, unsigned first = 0,
                                         unsigned second = 0) {
  return {
      name,           (8 * bytes + block - 1) / block, std::nullopt, 1, true, block, bytes, scales,
      {first, second}};
}

/// ggml-common.h: blocks of 32 or 256 weights, and where their fp16 scales (d, then dmin or m) lie.
/// Types without an fp16 scale have none listed.
constexpr std::array<std::pair<std::uint32_t, tensors::ElementType>, 25> k_quantised = {{
    {2, quantised("Q4_0", 32, 18, 1, 0)},
    {3, quantised("Q4_1", 32, 20, 2, 0, 2)},
    {6, quantised("Q5_0", 32, 22, 1, 0)},
    {7, quantised("Q5_1", 32, 24, 2, 0, 2)},
    {8, quantised("Q8_0", 32, 34, 1, 0)},
    {9, quantised("Q8_1", 32, 36, 2, 0, 2)},
    {10, quantised("Q2_K", 256, 84, 2, 80, 82)},
    {11, quantised("Q3_K", 256, 110, 1, 108)},
    {12, quantised("Q4_K", 256, 144, 2, 0, 2)},
    {13, quantised("Q5_K", 256, 176, 2, 0, 2)},
    {14, quantised("Q6_K", 256, 210, 1, 208)},
    {15, quantised("Q8_K", 256, 292)},
    {16, quantised("IQ2_XXS", 256, 66, 1, 0)},
    {17, quantised("IQ2_XS", 256, 74, 1, 0)},
    {18, quantised("IQ3_XXS", 256, 98, 1, 0)},
    {19, quantised("IQ1_S", 256, 50, 1, 0)},
    {20, quantised("IQ4_NL", 32, 18, 1, 0)},
    {21, quantised("IQ3_S", 256, 110, 1, 0)},
    {22, quantised("IQ2_S", 256, 82, 1, 0)},
    {23, quantised("IQ4_XS", 256, 136, 1, 0)},
    {29, quantised("IQ1_M", 256, 56)},
    {34, quantised("TQ1_0", 256, 54, 1, 52)},
    {35, quantised("TQ2_0", 256, 66, 1, 64)},
    {39, quantised("MXFP4", 32, 17)},
    {40, quantised("NVFP4", 64, 36)},
}};

const tensors::ElementType* type_of(std::uint32_t number) {
  switch (number) {
    case 0:
      return tensors::element_type("F32");
    case 1:
      return tensors::element_type("F16");
    case 24:
      return tensors::element_type("I8");
    case 25:
      return tensors::element_type("I16");
    case 26:
      return tensors::element_type("I32");
    case 27:
      return tensors::element_type("I64");
    case 28:
      return tensors::element_type("F64");
    case 30:
      return tensors::element_type("BF16");
    default:
      break;
  }
  for (const auto& [id, type] : k_quantised) {
    if (id == number) return &type;
  }
  return nullptr;
}

class GgufReader {
 public:
  GgufReader(std::span<const std::byte> bytes, GgufFile& out) : bytes_(bytes), out_(out) {}

  /// Why the header cannot be read; empty where it can.
  std::string read(const std::shared_ptr<const void>& owner) {
    at_ = 4;
    const std::uint64_t version = little(4);
    if ((version & 0xFFFFU) == 0) return "it was written for big-endian machines";
    if (version < 2 || version > 3) return fmt::format("version {} is not read", version);
    const std::uint64_t tensors = little(8);
    const std::uint64_t keys = little(8);
    if (tensors > k_most_tensors || keys > k_most_keys) {
      return fmt::format("it states {} tensors and {} keys", tensors, keys);
    }
    for (std::uint64_t i = 0; i < keys && good_; ++i) take_key();
    for (std::uint64_t i = 0; i < tensors && good_; ++i) take_tensor();
    if (!good_) return fmt::format("its header breaks off at byte {}", at_);
    place(owner);
    return {};
  }

 private:
  std::uint64_t little(std::size_t width) {
    if (!good_ || width > bytes_.size() - at_) {
      good_ = false;
      return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i) {
      value |= std::to_integer<std::uint64_t>(bytes_[at_ + i]) << (8U * i);
    }
    at_ += width;
    return value;
  }

  void skip(std::uint64_t count) {
    if (!good_ || count > bytes_.size() - at_) {
      good_ = false;
    } else {
      at_ += count;
    }
  }

  std::string_view text() {
    const std::uint64_t size = little(8);
    const std::uint64_t from = at_;
    skip(size);
    if (!good_) return {};
    return {reinterpret_cast<const char*>(bytes_.data()) + from, size};  // NOLINT: as text
  }

  /// Bytes of a value of this type; 0 for texts and arrays, which say their own.
  static std::uint64_t width_of(std::uint64_t type) {
    constexpr std::array<std::uint64_t, 13> k_widths = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return type < k_widths.size() ? k_widths[type] : 0;
  }

  void skip_value(std::uint64_t type, int depth) {
    constexpr std::uint64_t k_text = 8;
    constexpr std::uint64_t k_array = 9;
    if (type == k_text) {
      text();
    } else if (type == k_array) {
      const std::uint64_t inner = little(4);
      const std::uint64_t count = little(8);
      const std::uint64_t width = width_of(inner);
      std::uint64_t size = 0;
      if (depth >= k_most_nesting || __builtin_mul_overflow(count, width, &size)) {
        good_ = false;
      } else if (width > 0) {
        skip(size);
      } else {
        for (std::uint64_t i = 0; i < count && good_; ++i) skip_value(inner, depth + 1);
      }
    } else if (width_of(type) > 0) {
      skip(width_of(type));
    } else {
      good_ = false;
    }
  }

  void take_key() {
    const std::string_view key = text();
    const std::uint64_t type = little(4);
    if (key == "general.alignment" && type == 4) {
      alignment_ = little(4);
    } else if (key == "general.architecture" && type == 8) {
      out_.architecture = core::sanitize(text());
    } else {
      skip_value(type, 0);
    }
  }

  void take_tensor() {
    tensors::Tensor tensor;
    tensor.name = core::sanitize(text());
    const std::uint64_t axes = little(4);
    if (axes > k_most_axes) good_ = false;
    for (std::uint64_t i = 0; i < axes && good_; ++i) {
      tensor.shape.push_back(static_cast<std::int64_t>(little(8)));
    }
    std::reverse(tensor.shape.begin(), tensor.shape.end());
    const std::uint64_t type = little(4);
    tensor.type = type_of(static_cast<std::uint32_t>(type));
    tensor.offset = little(8);
    if (!good_) return;
    if (tensor.type == nullptr) {
      return complain("checkpoint.unsupported", tensor, fmt::format("type {} is not known", type));
    }
    if (!names_.insert(tensor.name).second) {
      return complain("checkpoint.duplicate-name", tensor, "it stands twice; the first is read");
    }
    out_.tensors.push_back(std::move(tensor));
  }

  void complain(const char* kind, const tensors::Tensor& tensor, const std::string& what) {
    out_.findings.add(kind, core::Severity::failed, at_,
                      fmt::format("[gguf] {}: {}", core::shorten(tensor.name, 80), what));
  }

  void place(const std::shared_ptr<const void>& owner) {
    if (alignment_ == 0 || alignment_ > k_most_alignment) alignment_ = 32;
    const std::uint64_t data_at = (at_ + alignment_ - 1) / alignment_ * alignment_;
    for (tensors::Tensor& tensor : out_.tensors) {
      const auto count = tensors::count_of(tensor.shape);
      tensor.owner = owner;
      if (!count || (*count % tensor.type->block) != 0) {
        complain("checkpoint.bad-offsets", tensor,
                 fmt::format("shape {} is impossible for {}", tensors::show_shape(tensor.shape),
                             tensor.type->name));
        continue;
      }
      tensor.count = *count;
      const std::uint64_t size = tensors::stored_bytes(tensor);
      const bool fits = data_at <= bytes_.size() && tensor.count <= (1ULL << 60U) &&
                        tensor.offset <= bytes_.size() - data_at &&
                        size <= bytes_.size() - data_at - tensor.offset;
      if (!fits) {
        complain(
            "checkpoint.truncated", tensor,
            fmt::format("{} bytes at {} lie beyond the file's {}; the file was cut or is still "
                        "being written",
                        size, tensor.offset, bytes_.size()));
        continue;
      }
      tensor.offset += data_at;
      tensor.bytes = bytes_.subspan(tensor.offset, size);
    }
    check_overlaps();
  }

  void check_overlaps() {
    std::vector<const tensors::Tensor*> order;
    for (const tensors::Tensor& each : out_.tensors) {
      if (!each.bytes.empty()) order.push_back(&each);
    }
    std::sort(order.begin(), order.end(), [](const tensors::Tensor* a, const tensors::Tensor* b) {
      return a->offset < b->offset;
    });
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (order[i]->offset < order[i - 1]->offset + order[i - 1]->bytes.size()) {
        complain("checkpoint.overlap", *order[i], "its bytes begin inside the tensor before it");
      }
    }
  }

  std::span<const std::byte> bytes_;
  GgufFile& out_;
  std::uint64_t at_ = 0;
  std::uint64_t alignment_ = 32;
  bool good_ = true;
  std::unordered_set<std::string> names_;
};

}  // namespace

bool looks_like_gguf(std::span<const std::byte> bytes) {
  constexpr std::array<char, 4> k_magic = {'G', 'G', 'U', 'F'};
  return bytes.size() >= 24 && std::equal(k_magic.begin(), k_magic.end(), bytes.begin(),
                                          [](char a, std::byte b) { return std::byte(a) == b; });
}

core::Result<GgufFile> read_gguf(std::span<const std::byte> bytes,
                                 const std::shared_ptr<const void>& owner,
                                 const std::string& path) {
  if (!looks_like_gguf(bytes)) {
    return core::fail(core::ErrorCode::bad_format,
                      fmt::format("[gguf] {} cannot be read: no GGUF header of 24 bytes", path));
  }
  GgufFile file;
  file.findings.of(path);
  const std::string why = GgufReader(bytes, file).read(owner);
  if (!why.empty()) {
    return core::fail(core::ErrorCode::bad_format,
                      fmt::format("[gguf] {} cannot be read: {}", path, why));
  }
  return file;
}

namespace {

class GgufFormat final : public CheckpointFormat {
 public:
  bool takes(const StoredFile& file) const override { return looks_like_gguf(file.bytes()); }
  std::string read(const StoredFile& file, Opening& opening) const override {
    auto read = read_gguf(file.bytes(), file.mapped, file.path);
    if (!read) {
      opening.unreadable(file.path, read.error());
      return {};
    }
    opening.join(read->findings);
    for (tensors::Tensor& tensor : read->tensors) opening.add_weight(std::move(tensor), file.index);
    return "gguf";
  }
};

}  // namespace

std::unique_ptr<CheckpointFormat> make_gguf_format() { return std::make_unique<GgufFormat>(); }

}  // namespace aplomb::checkpoint
