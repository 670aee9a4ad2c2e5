#pragma once
/// Text on its way into a page. What stands in a user's log is hostile until it has been through
/// here.

#include <string>
#include <string_view>

namespace aplomb::report {

/// For element content and quoted attributes: `& < > " '` as references, control characters as
/// blanks, bytes that are no UTF-8 as U+FFFD. Line ends and tabs stay.
std::string escape(std::string_view text);

/// JSON text for a `<script type="application/json">` element: `<`, `>` and `&` as \u escapes, so
/// that no text in it can end the element.
std::string escape_json(std::string_view json);

/// Paragraph text of the knowledge base: escaped, with `code` between backquotes as <code>.
std::string prose(std::string_view text);

}  // namespace aplomb::report
