// Of the hub: how providers do, written down for the next scheduler and for people, beside the turns.
#include "journal/event_store.h"
#include "orchestrator/hub.h"
#include "orchestrator/lane_events.h"
#include "platform/log.h"
#include "resource_manager/weather_store.h"

namespace impresario::orchestrator {

using domain::TimePoint;
using platform::Task;
using platform::Tx;
using resource_manager::WeatherRecord;
using resource_manager::WeatherRecords;
namespace asio = platform::asio;
namespace log = platform::log;

namespace {
/// What is learnt with every request is written no more often.
constexpr domain::Duration kEvery = std::chrono::seconds{1};

/// What of a change is told as an event; empty: nothing.
std::string_view told(const WeatherRecord& before, const WeatherRecord& after) {
    if (after.cooling_until && after.cooling_until != before.cooling_until) return domain::event::provider_cooling;
    if (before.cooling_until && !after.cooling_until) return domain::event::provider_answers;
    if (before.since && !after.since) return domain::event::provider_recovered;
    return {};
}
}

void Hub::record_weather(TimePoint now) {
    for (auto& [provider, record] : board_->take_changed_weather(now)) changed_weather_[provider] = record;
    std::erase_if(changed_weather_, [&](const auto& each) { return recorded_weather_[each.first] == each.second; });
    if (recording_weather_ || changed_weather_.empty()) return;
    bool urgent = false;
    for (const auto& [provider, record] : changed_weather_)
        urgent = urgent || !told(recorded_weather_[provider], record).empty();
    if (!urgent && now < record_weather_at_) return;
    record_weather_at_ = now + kEvery;
    recording_weather_ = true;
    asio::co_spawn(node_.executor(), record_weather_now(changed_weather_, *lead_), asio::detached);
}

Task<void> Hub::record_weather_now(WeatherRecords records, std::int64_t epoch) {
    bool recorded = false;
    try {
        auto recording = node_.database().transact([this, epoch, &records, before = recorded_weather_](Tx& tx) {
            SchedulerStore().fence(tx, epoch, node_.id());
            const resource_manager::WeatherStore store;
            std::vector<domain::Event> events;
            for (const auto& [provider, record] : records) {
                const auto known = before.find(provider);
                const auto type = told(known == before.end() ? WeatherRecord{} : known->second, record);
                const auto place = store.record(tx, provider, record, !type.empty());
                if (place && !type.empty())
                    events.push_back(provider_event(type, place->stream, place->seq, provider, record));
            }
            journal::EventStore().append(tx, events, node_.id());
        });
        co_await std::move(recording);
        recorded = true;
    } catch (const platform::StatementRefused& refused) {
        log::warn("how providers do could not be written down", {{"error", refused.what()}, {"next", "trying again"}});
    } catch (const std::exception&) {
        // The next turn notices what is wrong.
    }
    recording_weather_ = false;
    if (lead_ != epoch || !board_ || !recorded) co_return;
    for (const auto& [provider, record] : records) {
        if (told(recorded_weather_[provider], record) == domain::event::provider_cooling)
            log::info(
                "provider cooling",
                {{"provider", provider}, {"until", domain::rfc3339(*record.cooling_until)}, {"reason", record.why}});
        recorded_weather_[provider] = record;
        const auto pending = changed_weather_.find(provider);
        if (pending != changed_weather_.end() && pending->second == record) changed_weather_.erase(pending);
    }
}

}
