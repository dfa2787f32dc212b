#pragma once
// The sentences that say most about the others: TextRank (Mihalcea and Tarau, 2004).

#include <string>
#include <vector>

#include "subworkflows/content_pipeline/clean_text.h"
#include "subworkflows/content_pipeline/language.h"

namespace impresario::subworkflows::content_pipeline {

/// Sentences beyond this number do not stand for election; time grows with its square.
inline constexpr std::size_t kMostSentences = 600;

/// The rank of each sentence, by the stems it shares with the others (damping 0.85, iterated until still). `stems`
/// holds those of each sentence, every one once. Ranks add up to 1; the same sentences give the same ranks, to the last
/// bit.
std::vector<double> text_rank(const std::vector<std::vector<std::string>>& stems);

/// At most `most` sentences of paragraphs and items, in the order of the text. Whole sentences of 5 to 60 words come
/// before fragments; one that repeats a chosen one is passed over. Longer than 500 bytes is shortened.
std::vector<std::string> summarise(const CleanText& text, Language language, std::size_t most);

}
