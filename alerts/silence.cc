#include "alerts/silence.h"

#include <algorithm>

namespace impresario::alerts {

using domain::TimePoint;

domain::DefinitionFaults faults_of(const Silence& silence, TimePoint now) {
    domain::DefinitionFaults faults;
    const auto wrong = [&](const char* pointer, const char* what) { faults.push_back({pointer, what}); };
    const auto& matchers = silence.matchers;
    if (matchers.empty()) {
        wrong("/matchers", "is missing: which alerts are silenced");
    } else if (matchers.size() > kMostMatchers) {
        wrong("/matchers", "are too many");
    } else if (all_match(matchers, {})) {
        wrong("/matchers", "must have one that asks for a value: these would silence what has none of these labels");
    }
    if (silence.ends_at <= silence.starts_at)
        wrong("/ends_at", "must be later than starts_at");
    else if (silence.ends_at <= now)
        wrong("/ends_at", "must be later than now");
    else if (silence.ends_at - silence.starts_at > kLongestSilence)
        wrong("/ends_at", "must be within a year");
    if (silence.by.empty()) wrong("/by", "is missing: who silences");
    if (silence.comment.empty()) wrong("/comment", "is missing: why");
    if (silence.comment.size() > kLongestLabelValue) wrong("/comment", "must have at most 1024 bytes");
    return faults;
}

const Silence* silenced_by(const std::vector<Silence>& silences, const Labels& labels, TimePoint now) {
    const auto found = std::find_if(silences.begin(), silences.end(), [&](const Silence& each) {
        return each.active(now) && all_match(each.matchers, labels);
    });
    return found == silences.end() ? nullptr : &*found;
}

std::optional<TimePoint> next_change(const std::vector<Silence>& silences, TimePoint now) {
    std::optional<TimePoint> next;
    for (const auto& silence : silences)
        for (const auto at : {silence.starts_at, silence.ends_at})
            if (at > now) next = domain::earlier(next, at);
    return next;
}

}
