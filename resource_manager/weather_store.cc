#include "resource_manager/weather_store.h"

#include "resource_manager_sql.h"

namespace impresario::resource_manager {

using platform::Params;
using platform::RowReader;
using platform::Tx;

namespace {
using StreamId = domain::Id<struct StreamTag>;

std::optional<WeatherStore::Place> place_in(const platform::Rows& rows) {
    if (rows.empty()) return std::nullopt;
    RowReader row(rows, 0);
    WeatherStore::Place place;
    place.stream = row.id<StreamId>().value;
    place.seq = row.small();
    return place;
}
}

WeatherRecords WeatherStore::load(Tx& tx) const {
    WeatherRecords records;
    const auto rows = tx.exec(sql::load_weather);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        const auto provider = row.text();
        WeatherRecord record;
        record.cooling_until = row.maybe_time();
        record.since = row.maybe_time();
        record.why = row.text();
        record.learnt = row.maybe_integer();
        record.grows_at = row.maybe_time();
        record.refused_at = row.maybe_time();
        const auto of = parse_measure(row.view());
        const auto left = row.maybe_integer();
        const auto said = row.maybe_time();
        const auto until = row.maybe_time();
        if (of && left && said && until) record.quota = {*of, *left, *said, *until};
        record.by = row.text();
        record.orders = row.small();
        records.emplace(provider, std::move(record));
    }
    return records;
}

std::optional<WeatherStore::Place> WeatherStore::record(Tx& tx, const std::string& provider,
                                                        const WeatherRecord& record, bool told) const {
    Params params;
    params.add(provider)
        .add(record.cooling_until)
        .add(record.since)
        .add(record.why)
        .add(record.learnt)
        .add(record.grows_at)
        .add(record.refused_at);
    if (const auto& quota = record.quota) {
        params.add(name(quota->of)).add(quota->left).add(quota->said).add(quota->until);
    } else {
        params.null().null().null().null();
    }
    params.add(record.by).add(record.orders).add(told ? 1 : 0);
    return place_in(tx.exec(sql::record_weather, params));
}

std::optional<WeatherStore::Place> WeatherStore::set(Tx& tx, const std::string& provider,
                                                     const std::optional<domain::TimePoint>& cooling_until,
                                                     const std::string& why, const std::string& by) const {
    return place_in(tx.exec(sql::set_weather, Params().add(provider).add(cooling_until).add(why).add(by)));
}

}
