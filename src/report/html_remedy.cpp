#include "report/html_remedy.h"

#include <algorithm>

#include "knowledge/framework.h"
#include "report/html_text.h"

namespace aplomb::report {
namespace {

using Way = std::pair<std::string, std::string>;  // framework, text

/// The user's framework, then the others by name, `generic` last.
std::vector<Way> ways_of(const ReportRemedy& remedy, const std::string& framework) {
  std::vector<Way> ways(remedy.rendered.begin(), remedy.rendered.end());
  const auto rank = [&](const Way& way) {
    if (way.first == framework) return 0;
    return way.first == "generic" ? 2 : 1;
  };
  std::stable_sort(ways.begin(), ways.end(),
                   [&](const Way& a, const Way& b) { return rank(a) < rank(b); });
  return ways;
}

std::string shown_name(const std::string& slug) {
  if (slug == "generic") return "Any framework";
  if (slug.ends_with(" command line")) return "Command line";
  const knowledge::Framework* known = knowledge::find_framework(slug);
  return known == nullptr || known->name.empty() ? slug : known->name;
}

std::string ways_html(const std::vector<Way>& ways) {
  std::string tabs;
  std::string texts;
  for (const auto& [slug, text] : ways) {
    const std::string way = escape(slug);
    tabs += "<button type=\"button\" role=\"tab\" data-way=\"" + way + "\">" +
            escape(shown_name(slug)) + "</button>";
    texts += "<pre data-way=\"" + way + "\">" + escape(text) + "</pre>";
  }
  return "<div class=\"ways\"><div class=\"tabs\"><div class=\"names\" role=\"tablist\">" + tabs +
         "</div><button type=\"button\" class=\"copy\" hidden>copy</button></div>" + texts +
         "</div>";
}

}  // namespace

std::string remedies_html(const std::vector<ReportRemedy>& remedies, const std::string& framework) {
  if (remedies.empty()) return {};
  std::string out = "<ol class=\"fixes\">";
  for (const ReportRemedy& remedy : remedies) {
    out += "<li>" + prose(remedy.text);
    const std::vector<Way> ways = ways_of(remedy, framework);
    if (!ways.empty()) out += ways_html(ways);
    out += "</li>";
  }
  return out + "</ol>";
}

}  // namespace aplomb::report
