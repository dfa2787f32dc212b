#include "subworkflows/content_pipeline/draft_store.h"

#include <bit>
#include <charconv>

#include "content_pipeline_sql.h"

namespace impresario::subworkflows::content_pipeline {

namespace {

using platform::Params;
using platform::RowReader;
using platform::SqlArray;

/// PostgreSQL's bigint has a sign; the bits are the same.
template <class Hashes>
SqlArray bigints(const Hashes& hashes) {
    SqlArray array;
    for (const auto hash : hashes) array.add(std::bit_cast<std::int64_t>(hash));
    return array;
}

/// "{1,-2,3}"
Sketch sketch_from(std::string_view text) {
    Sketch sketch;
    const char* at = text.data() + 1;
    const char* const end = text.data() + text.size();
    while (at < end) {
        std::int64_t number = 0;
        const auto read = std::from_chars(at, end, number);
        if (read.ec != std::errc{}) break;
        sketch.push_back(std::bit_cast<std::uint64_t>(number));
        at = read.ptr + 1;
    }
    return sketch;
}

std::string decimal(double number) {
    char buffer[32];
    const auto written = std::to_chars(buffer, buffer + sizeof buffer, number);
    return {buffer, written.ptr};
}

}

bool DraftStore::prepare(platform::Tx& tx) const {
    const auto rows = tx.run(sql::has_schema.text);
    if (RowReader(rows, 0).flag()) return false;
    tx.run(sql::schema.text);
    return true;
}

void DraftStore::find_similar(platform::Tx& tx, const Owner& owner, const std::vector<Draft>& drafts,
                              Seen& seen) const {
    SqlArray probes;
    for (const auto& draft : drafts)
        for (const auto probe : probes_of(draft.sketch)) probes.add(std::bit_cast<std::int64_t>(probe));
    Params params;
    params.add(owner.organization_id).add(owner.execution).add(std::move(probes));
    const auto rows = tx.exec(sql::find_similar, params);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        const auto id = row.id<DraftId>();
        auto key = row.text();
        seen.add(id, std::move(key), sketch_from(row.view()));
    }
}

std::set<std::string> DraftStore::taken_slugs(platform::Tx& tx, const Owner& owner,
                                              const std::vector<Draft>& drafts) const {
    SqlArray wanted;
    for (const auto& draft : drafts) wanted.add(draft.slug);
    Params params;
    params.add(owner.organization_id).add(owner.execution).add(std::move(wanted));
    const auto rows = tx.exec(sql::find_slugs, params);
    std::set<std::string> taken;
    for (std::size_t i = 0; i < rows.size(); ++i) taken.insert(RowReader(rows, i).text());
    return taken;
}

void DraftStore::save(platform::Tx& tx, const Owner& owner, const std::vector<Draft>& drafts) const {
    for (const auto& draft : drafts) {
        Params params;
        params.add(draft.id)
            .add(owner.execution)
            .add(owner.organization_id)
            .add(draft.key)
            .add(draft.title)
            .add(draft.slug);
        params.add(SqlArray::of(draft.summary)).add(SqlArray::of(draft.keywords)).add(draft.body).add(code(draft.language));
        params.add(draft.words).add(draft.reading_minutes);
        if (draft.duplicate) {
            params.add(draft.duplicate->id).add(decimal(draft.duplicate->similarity));
        } else {
            params.null().null();
        }
        params.add_or_null(draft.source_url).add(bigints(draft.sketch)).add(bigints(probes_of(draft.sketch)));
        tx.exec(sql::save_draft, params);
    }
}

}
