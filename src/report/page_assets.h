#pragma once
/// The report page's style and script, from src/report/page/, embedded at build.

namespace aplomb::report {

extern const char* const k_page_style;
extern const char* const k_page_script;
/// Of k_page_script, in base64, for the page's Content-Security-Policy.
extern const char* const k_page_script_sha256;

}  // namespace aplomb::report
