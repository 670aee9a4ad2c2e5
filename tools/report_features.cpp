/// What the program makes out of reports, for tools/train_report_classifier.py.
///
/// usage: report_features < PATHS
///
/// For each line of standard input, a file or a folder, one JSON object: {"path", "features":
/// [...]}: the words of its texts and the facts that hold (diagnosis/word_facts.h). What is learnt
/// is learnt from the same features, cut by the same code, that the program weighs later.

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "detection/detect.h"
#include "diagnosis/diagnosis.h"
#include "diagnosis/word_facts.h"
#include "discovery/collect.h"

int main() {
  for (std::string path; std::getline(std::cin, path);) {
    nlohmann::json features = nlohmann::json::array();
    for (const aplomb::record::Run& run : aplomb::discovery::collect({path}, {})) {
      const aplomb::diagnosis::FactTable facts =
          aplomb::diagnosis::gather_facts(run, aplomb::detection::detect(run));
      for (std::string& feature : aplomb::diagnosis::report_features(run, facts))
        features.push_back(std::move(feature));
    }
    const nlohmann::json report{{"path", path}, {"features", std::move(features)}};
    std::cout << report.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) << '\n';
  }
}
