#include "subworkflows/content_pipeline/pipeline.h"

#include "platform/log.h"
#include "subworkflows/content_pipeline/draft_store.h"
#include "subworkflows/content_pipeline/letters.h"
#include "subworkflows/content_pipeline/report.h"
#include "subworkflows/content_pipeline/slug.h"

namespace impresario::subworkflows::content_pipeline {

namespace log = platform::log;

namespace {

domain::Result<Source, ItemFault> source_of(kit::Run& run, const Document& document, std::int64_t& fetches) {
    if (!document.by_url) return given_source(document);
    const auto url = platform::parse_url(document.url);
    if (!url) return ItemFault{"has a url that " + url.error().what, false, std::nullopt};
    ++fetches;
    return fetched_source(document, run.fetch("GET", *url, fetch_headers(), ""));
}

domain::Result<Draft, ItemFault> draft_of(kit::Run& run, const Document& document, const Batch& batch,
                                          std::int64_t& fetches) {
    const auto source = source_of(run, document, fetches);
    if (!source) return source.error();
    return make_draft(run.trigger().execution_id, document, *source, batch);
}

/// Slugs and duplicates: what a draft is can only be said beside the others. Pure; the drafts are in the input's order.
void settle(std::vector<Draft>& drafts, Seen seen, std::set<std::string> taken) {
    for (auto& draft : drafts) {
        draft.slug = unique_slug(draft.slug, taken);
        draft.duplicate = seen.closest(draft.sketch);
        seen.add(draft.id, draft.key, draft.sketch);
    }
}

void store(kit::Run& run, DraftSession& session, std::vector<Draft>& drafts) {
    const Owner owner{run.trigger().organization_id, run.trigger().execution_id};
    const DraftStore store;
    std::vector<Draft> settled;
    session.transact(
        [&](platform::Tx& tx) {
            Seen seen;
            store.find_similar(tx, owner, drafts, seen);
            std::set<std::string> taken;
            // The part of a batch that is tried again must not take the slugs of the part that went well.
            if (!run.retry_items().empty()) taken = store.taken_slugs(tx, owner, drafts);
            // A copy, because this may run again.
            settled = drafts;
            settle(settled, std::move(seen), std::move(taken));
            store.save(tx, owner, settled);
        },
        [&] { return run.stopped(); });
    drafts = std::move(settled);
}

}

domain::Callback draft_batch(kit::Run& run, DraftSession* session) {
    const auto batch = parse_batch(run.trigger().input_data);
    if (!batch) return failure(batch.error().text(), false);
    Outcome outcome;
    for (const auto& document : batch->documents)
        if (run.wants(document.key)) outcome.keys.push_back(document.key);
    if (outcome.keys.empty()) return failure("context/retry_items names none of the input's documents", false);

    const auto total = static_cast<std::int64_t>(outcome.keys.size());
    std::int64_t done = 0;
    for (const auto& document : batch->documents) {
        if (!run.wants(document.key)) continue;
        if (run.stopped())
            return failure("stopped after " + std::to_string(done) + " of " + std::to_string(total) + " documents",
                           true);
        run.progress(done++, total, document.key);
        auto draft = draft_of(run, document, *batch, outcome.fetches);
        if (draft) {
            outcome.drafts.push_back(*std::move(draft));
        } else {
            outcome.failed.push_back({document.key, draft.error()});
        }
    }
    run.progress(done, total, "storing");
    if (session && !outcome.drafts.empty()) {
        try {
            store(run, *session, outcome.drafts);
        } catch (const platform::StatementRefused& e) {
            log::error("drafts refused", {{"workflow_type", run.trigger().workflow_type},
                                          {"execution_id", run.trigger().execution_id},
                                          {"attempts", run.trigger().attempt},
                                          {"error", tidy(e.what())}});
            return failure("the database refused the drafts: " + tidy(e.what()), !e.data());
        } catch (const std::runtime_error& e) {
            log::warn("drafts not stored", {{"workflow_type", run.trigger().workflow_type},
                                            {"execution_id", run.trigger().execution_id},
                                            {"attempts", run.trigger().attempt},
                                            {"error", tidy(e.what())}});
            return failure("the drafts could not be stored: " + tidy(e.what()), true);
        }
    } else {
        settle(outcome.drafts, {}, {});
    }
    log::info("batch done", {{"workflow_type", run.trigger().workflow_type},
                             {"execution_id", run.trigger().execution_id},
                             {"attempts", run.trigger().attempt},
                             {"drafts", outcome.drafts.size()},
                             {"failed", outcome.failed.size()},
                             {"fetches", outcome.fetches}});
    return report(outcome);
}

}
