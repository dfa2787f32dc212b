#include "journal/subscriber.h"

#include "domain/lane.h"
#include "platform/url.h"

namespace impresario::journal {

using domain::Duration;
using std::chrono::hours;
using std::chrono::seconds;

bool Subscriber::all_organizations() const { return organization_id == domain::kDefaultOrganization; }

domain::DefinitionFaults faults_of(const Subscriber& subscriber) {
    domain::DefinitionFaults faults = platform::check(subscriber.secrets);
    const auto wrong = [&](const char* pointer, std::string what) { faults.push_back({pointer, std::move(what)}); };
    const auto within = [&](const char* pointer, int value, int least, int most) {
        if (value < least || value > most)
            wrong(pointer, "must be from " + std::to_string(least) + " to " + std::to_string(most));
    };
    const auto seconds_within = [&](const char* pointer, Duration value, Duration least, Duration most) {
        const auto text = [](Duration length) {
            return std::to_string(std::chrono::duration_cast<seconds>(length).count());
        };
        if (value < least || value > most || value % seconds{1} != Duration{0})
            wrong(pointer, "must be a whole number from " + text(least) + " to " + text(most));
    };
    if (subscriber.url.empty()) {
        wrong("/url", "is missing: where events are sent to");
    } else if (const auto url = platform::parse_url(subscriber.url); !url) {
        wrong("/url", url.error().what);
    }
    within("/batch_size", subscriber.batch, 1, 500);
    within("/workers", subscriber.workers, 1, 16);
    within("/attempts", subscriber.attempts, 1, 100);
    seconds_within("/backoff_seconds", subscriber.backoff, seconds{1}, hours{1});
    seconds_within("/backoff_max_seconds", subscriber.backoff_longest, seconds{1}, hours{24});
    if (subscriber.backoff_longest < subscriber.backoff)
        wrong("/backoff_max_seconds", "must not be less than backoff_seconds");
    seconds_within("/timeout_seconds", subscriber.timeout, seconds{1}, seconds{60});
    if (subscriber.disable_after)
        seconds_within("/disable_after_seconds", *subscriber.disable_after, seconds{1}, hours{24 * 366});
    return faults;
}

}
