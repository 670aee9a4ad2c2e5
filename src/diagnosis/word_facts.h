#pragma once
/// What the words of all texts of a run say together, as facts `words.<cause>` (slug without its
/// family; `words.healthy`): the logarithm of its probability over its share of the reports
/// (knowledge/word_book.h). Unknown where the texts are thin.

#include "diagnosis/diagnosis.h"

namespace aplomb {

void add_word_facts(const Run& run, FactTable& facts);

}  // namespace aplomb
