#include "log_errors/signature_table.h"

#include <fmt/format.h>

#include "knowledge/document.h"
#include "tool_tables/text_table.h"

namespace aplomb::log_errors {
namespace {

std::unique_ptr<RE2> compile(const std::string& text, std::vector<std::string>& broken) {
  if (text.empty()) return nullptr;
  RE2::Options options;
  options.set_log_errors(false);
  auto expression = std::make_unique<RE2>(text, options);
  if (expression->ok()) return expression;
  broken.push_back(fmt::format("{}: {}", text, expression->error()));
  return nullptr;
}

core::Severity severity_of(std::string_view word) {
  for (const core::Severity each :
       {core::Severity::warning, core::Severity::unstable, core::Severity::failed}) {
    if (word == name(each)) return each;
  }
  return core::Severity::note;
}

SignatureRole role_named(std::string_view word) {
  if (word == "cascade") return SignatureRole::cascade;
  if (word == "symptom") return SignatureRole::symptom;
  if (word == "frame") return SignatureRole::frame;
  return SignatureRole::root;
}

std::unique_ptr<Signature> read_signature(const knowledge::Node& entry) {
  auto signature = std::make_unique<Signature>();
  signature->kind = knowledge::text_of(entry, "id");
  signature->title = knowledge::text_of(entry, "title");
  signature->severity = severity_of(knowledge::text_of(entry, "severity"));
  signature->role = role_named(knowledge::text_of(entry, "role"));
  signature->place = knowledge::text_of(entry, "place");
  signature->in_logs = knowledge::truth_of(entry, "in_logs");
  signature->stack = knowledge::truth_of(entry, "stack");
  signature->at_end = knowledge::truth_of(entry, "at_end");
  signature->literals = knowledge::texts_of(entry, "any");
  signature->require_text = knowledge::text_of(entry, "require");
  signature->unless_text = knowledge::text_of(entry, "unless");
  signature->pattern_texts = knowledge::texts_of(entry, "pattern");
  signature->per = knowledge::texts_of(entry, "per");
  signature->lines = static_cast<unsigned>(knowledge::number_of(entry, "lines", 0));
  return signature;
}

}  // namespace

const Signature::Compiled& Signature::compiled() const {
  std::call_once(once_, [this] {
    compiled_.require = compile(require_text, compiled_.broken);
    compiled_.unless = compile(unless_text, compiled_.broken);
    for (const std::string& text : pattern_texts) {
      if (auto expression = compile(text, compiled_.broken))
        compiled_.patterns.push_back(std::move(expression));
    }
  });
  return compiled_;
}

SignatureTable::SignatureTable() {
  for (const std::string_view path : {"errors.yaml", "errors_training.yaml"})
    load(path, knowledge::file(path));
  for (const knowledge::Entry& file : knowledge::folder("errors")) load(file.path, file.content);
  add_tables();
  filter_.build();
}

void SignatureTable::add_tables() {
  for (std::size_t i = 0; i < tool_tables::table_kinds().size(); ++i) {
    const tool_tables::TableSpec& spec = tool_tables::table_kinds()[i].spec();
    auto signature = std::make_unique<Signature>();
    signature->kind = spec.slug;
    signature->title = spec.summary;
    signature->role = SignatureRole::table;
    signature->literals.assign(spec.heads.begin(), spec.heads.end());
    signature->table = i;
    add(std::move(signature));
  }
}

void SignatureTable::add(std::unique_ptr<Signature> signature) {
  const auto owner = static_cast<std::uint32_t>(signatures_.size());
  if (signature->literals.empty())
    mistakes_.push_back(fmt::format("{}: no literals in 'any'", signature->kind));
  for (const std::string& literal : signature->literals) {
    if (filter_.add(literal, owner)) continue;
    mistakes_.push_back(fmt::format("{}: the literal '{}' is shorter than {} bytes",
                                    signature->kind, literal,
                                    core::LiteralFilter::k_least_literal));
  }
  signatures_.push_back(std::move(signature));
}

void SignatureTable::load(std::string_view path, const knowledge::Node& content) {
  for (const knowledge::Node& entry : content.items()) {
    auto signature = read_signature(entry);
    if (signature->kind.empty() || find(signature->kind) != nullptr) {
      mistakes_.push_back(
          fmt::format("{}: an id is missing or stands twice: '{}'", path, signature->kind));
      continue;
    }
    add(std::move(signature));
  }
}

const SignatureTable& SignatureTable::instance() {
  static const SignatureTable the_table;
  return the_table;
}

const Signature* SignatureTable::find(std::string_view kind) const {
  for (const auto& signature : signatures_) {
    if (signature->kind == kind) return signature.get();
  }
  return nullptr;
}

}  // namespace aplomb::log_errors
