#include "pickle/pickle_globals.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/pair_table.h"
#include "core/text.h"

namespace aplomb::pickle {
namespace {

using Names = std::vector<std::string_view>;
using NameSet = std::unordered_set<std::string_view>;

enum class List {
  dangerous_modules,
  dangerous_names,
  dangerous_parts,
  harmless_builtins,
  allowed_calls,
  allowed_classes,
  allowed_values,
  known_libraries,
  dangerous_words
};

struct Listed {
  List list;
  std::string_view name;
};

constexpr Listed k_listed[] = {
#define DANGEROUS_MODULE(name) {List::dangerous_modules, name},
#define DANGEROUS_NAME(name) {List::dangerous_names, name},
#define DANGEROUS_PART(name) {List::dangerous_parts, name},
#define HARMLESS_BUILTIN(name) {List::harmless_builtins, name},
#define ALLOWED_CALL(name) {List::allowed_calls, name},
#define ALLOWED_CLASSES(name) {List::allowed_classes, name},
#define ALLOWED_VALUE(name) {List::allowed_values, name},
#define KNOWN_LIBRARY(name) {List::known_libraries, name},
#define DANGEROUS_WORD(name) {List::dangerous_words, name},
#include "pickle/globals.def"
#undef DANGEROUS_MODULE
#undef DANGEROUS_NAME
#undef DANGEROUS_PART
#undef HARMLESS_BUILTIN
#undef ALLOWED_CALL
#undef ALLOWED_CLASSES
#undef ALLOWED_VALUE
#undef KNOWN_LIBRARY
#undef DANGEROUS_WORD
};

/// The names of a module, apart from each other by blanks.
struct OfModule {
  std::string_view module;
  std::string_view names;
};

constexpr OfModule k_library_classes[] = {
#define CLASSES_OF(module, names) {module, names},
#include "pickle/library_names.def"
#undef CLASSES_OF
};

constexpr OfModule k_library_functions[] = {
#define FUNCTIONS_OF(module, names) {module, names},
#include "pickle/library_names.def"
#undef FUNCTIONS_OF
};

/// Sorted by module, as tools/pickle_names.py writes them.
template <std::size_t N>
bool is_in_library(const OfModule (&all)[N], std::string_view module, std::string_view name) {
  const auto* const found =
      std::lower_bound(std::begin(all), std::end(all), module,
                       [](const OfModule& each, std::string_view m) { return each.module < m; });
  if (found == std::end(all) || found->module != module) return false;
  for (std::string_view left = found->names; !left.empty();) {
    const std::size_t end = left.find(' ');
    if (left.substr(0, end) == name) return true;
    left = end == std::string_view::npos ? "" : left.substr(end + 1);
  }
  return false;
}

/// The names of one list, in the order of globals.def.
template <List list, class All>
const All& names_of() {
  static const All all = [] {
    All found;
    for (const Listed& each : k_listed) {
      if (each.list == list) found.insert(found.end(), each.name);
    }
    return found;
  }();
  return all;
}

constexpr auto dangerous_modules = names_of<List::dangerous_modules, NameSet>;
constexpr auto dangerous_names = names_of<List::dangerous_names, Names>;
constexpr auto dangerous_parts = names_of<List::dangerous_parts, NameSet>;
constexpr auto harmless_builtins = names_of<List::harmless_builtins, NameSet>;
constexpr auto allowed_calls = names_of<List::allowed_calls, Names>;
constexpr auto allowed_classes = names_of<List::allowed_classes, NameSet>;
constexpr auto allowed_values = names_of<List::allowed_values, Names>;
constexpr auto known_libraries = names_of<List::known_libraries, NameSet>;
constexpr auto dangerous_words = names_of<List::dangerous_words, NameSet>;

/// `*` for any characters but a dot, `**` for any.
bool fits(std::string_view pattern, std::string_view text) {
  while (!pattern.empty()) {
    if (pattern.front() != '*') {
      if (text.empty() || text.front() != pattern.front()) return false;
      pattern.remove_prefix(1);
      text.remove_prefix(1);
      continue;
    }
    const bool over_dots = pattern.starts_with("**");
    pattern.remove_prefix(over_dots ? 2 : 1);
    for (std::size_t taken = 0;; ++taken) {
      if (fits(pattern, text.substr(taken))) return true;
      if (taken == text.size() || (!over_dots && text[taken] == '.')) return false;
    }
  }
  return text.empty();
}

bool any_fits(const Names& patterns, std::string_view text) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](std::string_view pattern) { return fits(pattern, text); });
}

/// Whether the list has the module or one that it lies in.
bool covers(const NameSet& modules, std::string_view module) {
  for (std::string_view whole = module;;) {
    if (modules.count(whole) > 0) return true;
    const std::size_t dot = whole.rfind('.');
    if (dot == std::string_view::npos) return false;
    whole = whole.substr(0, dot);
  }
}

template <class Visit>
bool any_part(std::string_view name, const Visit& visit) {
  while (true) {
    const std::size_t dot = name.find('.');
    if (visit(name.substr(0, dot))) return true;
    if (dot == std::string_view::npos) return false;
    name.remove_prefix(dot + 1);
  }
}

bool is_dunder(std::string_view part) {
  return part.size() > 4 && part.starts_with("__") && part.ends_with("__");
}

bool is_dangerous_part(std::string_view part) {
  if (is_dunder(part)) return true;
  while (part.starts_with('_')) part.remove_prefix(1);
  return dangerous_parts().count(part) > 0;
}

/// Modules that other modules hand on under their own names (`torch.serialization.os`): too many
/// packages have a `types` or a `code` of their own for the whole list.
bool leads_to_system(std::string_view module) {
  static const NameSet k_roots = {"os",       "posix",  "nt",     "subprocess", "sys",
                                  "builtins", "ctypes", "shutil", "socket",     "importlib"};
  return any_part(module, [](std::string_view part) { return k_roots.count(part) > 0; });
}

/// Python's names for what older versions call otherwise, and one of two names of the same module
/// (`_compat_pickle.py`; numpy 2 renamed numpy.core).
std::string canonical(std::string_view module) {
  if (module == "__builtin__" || module == "exceptions") return "builtins";
  if (module == "copy_reg") return "copyreg";
  if (module == "_io" || module == "cStringIO") return "io";
  if (module == "_operator") return "operator";
  if (module == "_functools") return "functools";
  if (module == "_random") return "random";
  if (module == "_collections") return "collections";
  if (module == "numpy._core") return "numpy.core";
  if (module.starts_with("numpy._core.")) return "numpy.core." + std::string(module.substr(12));
  return std::string(module);
}

/// A function whose name has a word such as `write`, `fetch`, `run`. Classes are called what they are
/// (`RunningStage`), and rebuilders say so.
bool does_what_it_says(std::string_view name) {
  if (is_class_name(name) || is_rebuilder(name)) return false;
  while (!name.empty()) {
    const std::size_t end = name.find_first_of("_.");
    if (dangerous_words().count(name.substr(0, end)) > 0) return true;
    name = end == std::string_view::npos ? "" : name.substr(end + 1);
  }
  return false;
}

Trust trust_of(std::string_view module, std::string_view name) {
  const std::string full = std::string(module) + "." + std::string(name);
  // An exact name of the list stands above the module that it lies in (types.SimpleNamespace).
  const Names& calls = allowed_calls();
  if (std::find(calls.begin(), calls.end(), full) != calls.end()) return Trust::call;
  const Names& values = allowed_values();
  if (std::find(values.begin(), values.end(), full) != values.end()) return Trust::value;
  if (module == "__torch__" || module.starts_with("__torch__.")) return Trust::made;
  const bool builtin = module == "builtins";
  if (builtin && any_fits(calls, full)) return Trust::call;
  if (covers(dangerous_modules(), module) || any_fits(dangerous_names(), full) ||
      (!builtin && leads_to_system(module)) || any_part(name, is_dangerous_part)) {
    return Trust::dangerous;
  }
  if (builtin) {
    const std::string_view first = name.substr(0, name.find('.'));
    const bool harmless =
        harmless_builtins().count(first) > 0 || any_fits(calls, "builtins." + std::string(first));
    return harmless ? Trust::suspicious : Trust::dangerous;
  }
  // A dotted name reaches through what a module happens to have imported.
  const bool is_dotted = name.find('.') != std::string_view::npos;
  if (!is_dotted && any_fits(calls, full)) return Trust::call;
  const bool named_like_classes =
      !any_part(name, [](std::string_view part) { return !is_class_name(part); });
  if (named_like_classes && covers(allowed_classes(), module)) return Trust::made;
  if (!is_dotted && any_fits(values, full)) return Trust::value;
  if (is_in_library(k_library_classes, module, name)) return Trust::made;
  if (is_in_library(k_library_functions, module, name)) return Trust::value;
  return is_of_known_library(module) && does_what_it_says(name) ? Trust::dangerous
                                                                : Trust::suspicious;
}

/// `FloatStorage` -> F32, `UntypedStorage` -> bytes; null where the name is no storage.
const tensors::ElementType* storage_type(std::string_view name) {
  constexpr std::string_view k_end = "Storage";
  if (!name.ends_with(k_end) || name.size() == k_end.size()) return nullptr;
  const std::string word = core::lower(name.substr(0, name.size() - k_end.size()));
  return tensors::element_type_of_torch(word == "_legacy" || word == "typed" ? "untyped" : word);
}

GlobalKind torch_kind(std::string_view module, std::string_view name) {
  if (module == "torch._utils") {
    if (name == "_rebuild_tensor" || name == "_rebuild_tensor_v2" || name == "_rebuild_tensor_v3") {
      return GlobalKind::rebuild_tensor;
    }
    if (name == "_rebuild_parameter" || name == "_rebuild_parameter_with_state") {
      return GlobalKind::rebuild_parameter;
    }
    if (name == "_rebuild_wrapper_subclass") return GlobalKind::rebuild_wrapper;
  }
  if (module == "torch._tensor" && name.starts_with("_rebuild_from_type")) {
    return GlobalKind::rebuild_from_type;
  }
  if (module == "torch.storage" && name == "_load_from_bytes") return GlobalKind::load_from_bytes;
  if (module == "torch" && name == "Size") return GlobalKind::sequence;
  return GlobalKind::opaque;
}

GlobalKind numpy_kind(std::string_view module, std::string_view name) {
  if (module == "numpy" && name == "dtype") return GlobalKind::numpy_dtype;
  if (name == "_reconstruct") return GlobalKind::numpy_array;
  if (name == "scalar" && module.ends_with("multiarray")) return GlobalKind::numpy_scalar;
  if (name == "_frombuffer") return GlobalKind::numpy_buffer;
  if (module == "numpy.random._pickle") return GlobalKind::generator;
  return GlobalKind::opaque;
}

GlobalKind python_kind(std::string_view full) {
  static constexpr std::pair<std::string_view, GlobalKind> k_kinds[] = {
      {"builtins.set", GlobalKind::collection},
      {"builtins.frozenset", GlobalKind::collection},
      {"builtins.list", GlobalKind::sequence},
      {"builtins.tuple", GlobalKind::sequence},
      {"builtins.dict", GlobalKind::mapping},
      {"builtins.getattr", GlobalKind::getattr},
      {"builtins.type", GlobalKind::type},
      {"builtins.iter", GlobalKind::iterator},
      {"builtins.range", GlobalKind::lazy},
      {"builtins.xrange", GlobalKind::lazy},
      {"itertools.count", GlobalKind::lazy},
      {"itertools.repeat", GlobalKind::lazy},
      {"itertools.chain", GlobalKind::lazy},
      {"itertools.cycle", GlobalKind::lazy},
      {"builtins.str", GlobalKind::text_maker},
      {"builtins.unicode", GlobalKind::text_maker},
      {"builtins.bytes", GlobalKind::bytes_maker},
      {"builtins.bytearray", GlobalKind::bytes_maker},
      {"collections.OrderedDict", GlobalKind::mapping},
      {"collections.defaultdict", GlobalKind::mapping},
      {"collections.Counter", GlobalKind::mapping},
      {"_codecs.encode", GlobalKind::encode},
      {"operator.getitem", GlobalKind::getitem},
      {"functools.partial", GlobalKind::partial},
      {"copyreg._reconstructor", GlobalKind::reconstructor},
      {"copyreg.__newobj__", GlobalKind::new_object},
      {"copyreg.__newobj_ex__", GlobalKind::new_object},
      {"joblib.numpy_pickle.NumpyArrayWrapper", GlobalKind::array_in_stream}};
  return core::second_of(k_kinds, full).value_or(GlobalKind::opaque);
}

}  // namespace

bool is_class_name(std::string_view name) {
  while (name.starts_with('_')) name.remove_prefix(1);
  return !name.empty() && name.front() >= 'A' && name.front() <= 'Z' && !name.ends_with("__") &&
         name.find('.') == std::string_view::npos;
}

bool makes_more_than_values(std::string_view name) {
  // The last word of a class's name says what its instances do.
  constexpr std::string_view k_ends[] = {
      "Writer", "Builder",  "Logger",   "Saver",   "Dumper", "Downloader", "Recorder", "Profiler",
      "Server", "Client",   "Launcher", "Runner",  "Pool",   "Process",    "Thread",   "Store",
      "Engine", "Database", "Analyzer", "Spawner", "File",   "Dataset",    "Tracker",  "Monitor",
      "Loader", "Importer", "Executor", "Handler", "Cache",  "Session",    "Socket",   "Manager"};
  return std::any_of(std::begin(k_ends), std::end(k_ends),
                     [&](std::string_view end) { return name.ends_with(end); });
}

bool is_of_known_library(std::string_view module) {
  return known_libraries().count(module.substr(0, module.find('.'))) > 0;
}

bool is_rebuilder(std::string_view name) {
  while (name.starts_with('_')) name.remove_prefix(1);
  constexpr std::string_view k_beginnings[] = {"rebuild",  "reconstruct",  "restore", "recreate",
                                               "unpickle", "pyx_unpickle", "new",     "make_new"};
  for (const std::string_view each : k_beginnings) {
    if (name.starts_with(each)) return true;
  }
  return name.ends_with("_unpickle") || name.ends_with("_ctor") || name.ends_with("_reconstruct");
}

GlobalMeaning meaning_of(std::string_view written_module, std::string_view name) {
  const std::string module = canonical(written_module);
  GlobalMeaning meaning;
  meaning.trust = trust_of(module, name);
  const std::string_view top = std::string_view(module).substr(0, module.find('.'));
  if (top == "torch") {
    meaning.kind = torch_kind(module, name);
    if (module == "torch" || module == "torch.cuda" || module == "torch.storage") {
      meaning.type = storage_type(name);
      if (meaning.type != nullptr) meaning.kind = GlobalKind::storage;
    }
    if (module == "torch" && meaning.type == nullptr) {
      meaning.type = tensors::element_type_of_torch(name);
      if (meaning.type != nullptr) meaning = {GlobalKind::dtype, Trust::value, meaning.type};
    }
    if (meaning.kind == GlobalKind::storage && meaning.trust != Trust::dangerous) {
      meaning.trust = Trust::call;
    }
    return meaning;
  }
  if (top == "numpy") {
    meaning.kind = numpy_kind(module, name);
    return meaning;
  }
  meaning.kind = python_kind(module + "." + std::string(name));
  return meaning;
}

}  // namespace aplomb::pickle
