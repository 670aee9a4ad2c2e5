// What numpy.save and numpy.savez write: one array behind a header that is a Python literal, and zip
// archives of nothing but such. Arrays of objects are pickles; pickle_audit.h says what they would run.
//
//     \x93NUMPY 01 00  76 00  {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }  \n

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <deque>

#include "checkpoint/checkpoint_format.h"
#include "core/text.h"
#include "pickle/pickle.h"
#include "pickle/zip_archive.h"

namespace aplomb::checkpoint {
namespace {

constexpr std::string_view k_magic("\x93NUMPY", 6);
constexpr std::uint64_t k_most_inflated = std::uint64_t{1} << 30U;
constexpr std::size_t k_most_axes = 64;  // numpy 2: NPY_MAXDIMS

struct Header {
  std::string_view type;  ///< `<f4`; empty of structured arrays
  bool fortran = false;
  std::vector<std::int64_t> shape;
  std::uint64_t data_at = 0;
};

/// What stands behind `'key':`, blanks aside.
std::string_view value_of(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(key);
  if (at == std::string_view::npos) return {};
  std::string_view rest = header.substr(at + key.size());
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return rest;
}

/// `(3, 4)`, `(3,)`, `()`.
bool read_shape(std::string_view text, std::vector<std::int64_t>& shape) {
  const std::size_t end = text.find(')');
  if (!text.starts_with("(") || end == std::string_view::npos) return false;
  text = core::trim(text.substr(1, end - 1));
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view word = core::trim(text.substr(0, comma));
    std::int64_t extent = 0;
    const auto [stop, fault] = std::from_chars(word.data(), word.data() + word.size(), extent);
    if (fault != std::errc() || stop != word.data() + word.size() || extent < 0) return false;
    if (shape.size() >= k_most_axes) return false;
    shape.push_back(extent);
    text = core::trim(text.substr(std::min(comma + 1, text.size())));
  }
  return true;
}

std::optional<Header> read_header(std::string_view bytes) {
  if (bytes.size() < 12 || !bytes.starts_with(k_magic)) return std::nullopt;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
  const bool wide = byte(6) >= 2;
  std::uint64_t length = byte(8) | (static_cast<std::uint64_t>(byte(9)) << 8U);
  if (wide) {
    length |= (static_cast<std::uint64_t>(byte(10)) << 16U) |
              (static_cast<std::uint64_t>(byte(11)) << 24U);
  }
  Header header;
  header.data_at = (wide ? 12U : 10U) + length;
  if (header.data_at > bytes.size()) return std::nullopt;
  const std::string_view text = bytes.substr(wide ? 12 : 10, length);
  const std::string_view type = value_of(text, "'descr':");
  if (type.starts_with("'")) header.type = type.substr(1, type.find('\'', 1) - 1);
  header.fortran = value_of(text, "'fortran_order':").starts_with("True");
  if (type.empty() || !read_shape(value_of(text, "'shape':"), header.shape)) return std::nullopt;
  return header;
}

std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> stride(shape.size(), 1);
  for (std::size_t i = 1; i < shape.size(); ++i) {
    if (__builtin_mul_overflow(stride[i - 1], std::max<std::int64_t>(shape[i - 1], 1), &stride[i]))
      stride[i] = 0;
  }
  return stride;
}

/// One array: a tensor, where its elements are numbers of a kind that is read.
class Arrays {
 public:
  Arrays(const StoredFile& file, Opening& opening) : file_(file), opening_(opening) {}

  void take(std::string_view bytes, const std::string& name, std::uint64_t at,
            const std::shared_ptr<const void>& owner, bool mapped) {
    const auto header = read_header(bytes);
    if (!header) return complain("checkpoint.bad-header", name, "its header is none of numpy's");
    tensors::Tensor tensor;
    tensor.type = pickle::numpy_element_type(header->type);
    if (tensor.type == nullptr) {  // texts, dates, objects, structures
      if (header->type.starts_with(">"))
        opening_.refuse(file_.path, fmt::format("has {} in big-endian order, which is not read",
                                                core::shorten(core::sanitize(name), 80)));
      return;
    }
    tensor.shape = header->shape;
    const auto count = tensors::count_of(tensor.shape);
    std::uint64_t size = 0;
    if (!count || __builtin_mul_overflow(*count, tensor.type->bits / 8, &size)) {
      return complain("checkpoint.bad-offsets", name,
                      fmt::format("the shape {} is impossible", tensors::show_shape(tensor.shape)));
    }
    if (size > bytes.size() - header->data_at) {
      return complain("checkpoint.truncated", name,
                      fmt::format("it needs {} bytes of elements and has {}", size,
                                  bytes.size() - header->data_at));
    }
    tensor.name = core::sanitize(name);
    tensor.count = *count;
    if (header->fortran && tensor.shape.size() > 1) tensor.stride = strides_of(tensor.shape);
    tensor.bytes = std::as_bytes(std::span(bytes.data() + header->data_at, size));
    tensor.offset = at + header->data_at;
    tensor.owner = owner;
    tensor.mapped = mapped;
    opening_.add_weight(std::move(tensor), file_.index);
  }

  void complain(const char* kind, const std::string& name, const std::string& what) {
    opening_.note(kind, core::Severity::failed, file_.path,
                  fmt::format("[numpy] {}: {}", core::shorten(core::sanitize(name), 80), what));
  }

 private:
  const StoredFile& file_;
  Opening& opening_;
};

std::string stem_of(std::string_view name) {
  return std::string(name.substr(0, name.ends_with(".npy") ? name.size() - 4 : name.size()));
}

bool is_of_arrays(const pickle::ZipDirectory& zip) {
  return !zip.entries.empty() &&
         std::all_of(zip.entries.begin(), zip.entries.end(),
                     [](const pickle::ZipEntry& each) { return each.name.ends_with(".npy"); });
}

class NumpyArrays final : public CheckpointFormat {
 public:
  bool takes(const StoredFile& file) const override {
    if (file.text().starts_with(k_magic)) return true;
    if (!pickle::looks_like_zip(file.bytes()) || !file.name().ends_with(".npz")) return false;
    const auto zip = pickle::read_zip_directory(file.bytes(), file.path);
    return zip && is_of_arrays(*zip);
  }

  std::string read(const StoredFile& file, Opening& opening) const override {
    Arrays arrays(file, opening);
    if (file.text().starts_with(k_magic)) {
      arrays.take(file.text(), stem_of(file.name()), 0, file.mapped, true);
      return "numpy";
    }
    const auto zip = pickle::read_zip_directory(file.bytes(), file.path);
    opening.join(zip->findings);
    std::uint64_t inflated = 0;
    for (const pickle::ZipEntry& each : zip->entries) {
      const std::string name = stem_of(each.name);
      if (each.stored) {
        arrays.take(file.text().substr(each.offset, each.size), name, each.offset, file.mapped,
                    true);
        continue;
      }
      auto content = pickle::inflate_entry(file.bytes(), each, k_most_inflated - inflated);
      if (!content) {
        arrays.complain("checkpoint.missing-data", name, content.error().text);
        continue;
      }
      inflated += content->size();
      const auto kept = std::make_shared<const std::string>(std::move(*content));
      arrays.take(*kept, name, each.offset, kept, false);
    }
    return "numpy";
  }
};

}  // namespace

std::unique_ptr<CheckpointFormat> make_numpy_arrays_format() {
  return std::make_unique<NumpyArrays>();
}

}  // namespace aplomb::checkpoint
