#include "subworkflows/content_pipeline/draft.h"

#include <algorithm>

#include "platform/crypto.h"
#include "subworkflows/content_pipeline/clean_text.h"
#include "subworkflows/content_pipeline/keywords.h"
#include "subworkflows/content_pipeline/letters.h"
#include "subworkflows/content_pipeline/sentences.h"
#include "subworkflows/content_pipeline/slug.h"
#include "subworkflows/content_pipeline/summary.h"

namespace impresario::subworkflows::content_pipeline {

namespace {

constexpr std::size_t kLongestTitle = 200;
/// A sentence in place of a title reads better short.
constexpr std::size_t kLongestSentenceTitle = 100;

/// The one given, the document's own, its first <h1>, its first heading, its first sentence.
std::string title_of(const Document& document, const CleanText& text) {
    if (auto given = tidy(document.title); !given.empty()) return shortened(given, kLongestTitle);
    if (!text.title.empty()) return shortened(text.title, kLongestTitle);
    const auto heading = [&](bool first_level) {
        return std::find_if(text.blocks.begin(), text.blocks.end(), [&](const Block& block) {
            return block.kind == Block::Kind::heading && (!first_level || block.level == 1);
        });
    };
    for (const bool first_level : {true, false})
        if (const auto found = heading(first_level); found != text.blocks.end())
            return shortened(found->text, kLongestTitle);
    for (const auto& block : text.blocks) {
        if (!block.prose()) continue;
        auto sentence = sentences_of(block.text).front();
        if (sentence.size() > 1 && sentence.back() == '.' && sentence[sentence.size() - 2] != '.') sentence.pop_back();
        return shortened(sentence, kLongestSentenceTitle);
    }
    return document.key;
}

std::vector<Word> prose_words(const CleanText& text) {
    std::vector<Word> words;
    for (const auto& block : text.blocks) {
        if (!block.prose()) continue;
        auto more = words_of(block.text);
        words.insert(words.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
    return words;
}

}

DraftId draft_id(const domain::ExecutionId& execution, std::string_view key) {
    const auto digest = platform::sha256(execution.text() + "\n" + std::string(key));
    DraftId id;
    std::copy_n(digest.begin(), id.value.size(), id.value.begin());
    // A UUID of version 8: its maker's own way to fill it.
    id.value[6] = static_cast<std::uint8_t>((id.value[6] & 0x0FU) | 0x80U);
    id.value[8] = static_cast<std::uint8_t>((id.value[8] & 0x3FU) | 0x80U);
    return id;
}

domain::Result<Draft, ItemFault> make_draft(const domain::ExecutionId& execution, const Document& document,
                                            const Source& source, const Batch& batch) {
    const auto text = clean(source.text, source.format);
    if (!text) return ItemFault{text.error().what, false, std::nullopt};
    const auto words = prose_words(*text);
    if (words.empty()) return ItemFault{"is empty once it is cleaned", false, std::nullopt};
    const auto count = static_cast<std::int64_t>(words.size());
    if (count < kFewestWords)
        return ItemFault{"is too short: " + std::to_string(count) + (count == 1 ? " word" : " words") + ", at least " +
                             std::to_string(kFewestWords) + " are needed",
                         false, std::nullopt};
    Draft draft;
    draft.id = draft_id(execution, document.key);
    draft.key = document.key;
    draft.title = title_of(document, *text);
    draft.slug = slug_of(draft.title);
    // A title in another script leaves nothing to write; the key may.
    if (draft.slug.empty()) draft.slug = slug_of("draft " + document.key);
    draft.language = language_of(words);
    draft.summary = summarise(*text, draft.language, static_cast<std::size_t>(batch.summary_sentences));
    draft.keywords = keywords_of(draft.title, *text, draft.language, static_cast<std::size_t>(batch.max_keywords));
    draft.body = text->text();
    draft.words = count;
    draft.reading_minutes = (count + kWordsPerMinute - 1) / kWordsPerMinute;
    if (document.by_url) draft.source_url = document.url;
    draft.sketch = sketch_of(words);
    return draft;
}

}
