#include "orchestrator/key_sleepers.h"

#include <iterator>

namespace impresario::orchestrator {

using domain::TimePoint;

void KeySleepers::sleep(const Group& group, Account account, TimePoint until) {
    wake(group);
    const auto at = sleeping_.emplace(group, Asleep{account, until}).first;
    by_time_.emplace(until, &at->first);
    by_account_[std::move(account)].insert(&at->first);
}

void KeySleepers::remove(Sleeping::iterator at) {
    const auto& [group, asleep] = *at;
    by_time_.erase({asleep.until, &group});
    const auto others = by_account_.find(asleep.account);
    others->second.erase(&group);
    if (others->second.empty()) by_account_.erase(others);
    sleeping_.erase(at);
}

bool KeySleepers::wake(const Group& group) {
    const auto at = sleeping_.find(group);
    if (at == sleeping_.end()) return false;
    remove(at);
    return true;
}

std::vector<KeySleepers::Group> KeySleepers::wake_due(TimePoint now) {
    std::vector<Group> due;
    while (!by_time_.empty() && by_time_.begin()->first <= now) {
        due.push_back(*by_time_.begin()->second);
        wake(due.back());
    }
    return due;
}

std::vector<KeySleepers::Group> KeySleepers::wake_all_of(const Account& account) {
    std::vector<Group> woken;
    const auto found = by_account_.find(account);
    if (found == by_account_.end()) return woken;
    for (const auto* group : found->second) woken.push_back(*group);
    for (const auto& group : woken) wake(group);
    return woken;
}

std::optional<TimePoint> KeySleepers::next_due() const {
    if (by_time_.empty() || by_time_.begin()->first == TimePoint::max()) return std::nullopt;
    return by_time_.begin()->first;
}

void KeySleepers::clear() {
    by_time_.clear();
    by_account_.clear();
    sleeping_.clear();
}

}
