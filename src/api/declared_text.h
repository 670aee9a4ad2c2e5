#pragma once
/// What a language model of the user's own read in a text (`diagnose --reader`): facts of our
/// vocabulary, each with the words of the text that say it. A model may be mistaken, and a text may
/// talk it into anything; so nothing is taken but
///
///     said.<subject>.<predicate>       of the lexicon (knowledge/claims), as the claims that
///                                      prose/claims.h reads itself; `.value` and `.step` likewise
///     a setting of settings.yaml       that no configuration states
///
/// and of these only what stands on a quote that is in the text, with every number and word of the
/// value in that quote. What words say weighs as words do; verdict and weights are the engine's.

#include <aplomb/diagnose.h>

#include <string>
#include <string_view>

#include "record/run.h"

namespace aplomb::api {

/// The body of a request to /chat/completions: the vocabulary, what is asked, and the text.
std::string reader_request(std::string_view text, const std::string& model);

/// Takes what holds of the answer (the whole body that came back) into the run that the text is a
/// source of, and tells by a Defect how much that was. Nothing where the run has no such source.
void take_declared(record::Run& run, const DeclaredText& declared);

}  // namespace aplomb::api
