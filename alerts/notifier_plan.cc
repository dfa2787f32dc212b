#include "alerts/notifier_plan.h"

#include <algorithm>
#include <limits>

#include "platform/crypto.h"
#include "platform/json_text.h"

namespace impresario::alerts {

using domain::Duration;
using domain::TimePoint;
using Fingerprints = std::set<std::string>;

namespace {

constexpr std::size_t kLongestKey = 512;
constexpr Duration kLongestHold = std::chrono::hours{24};

std::string digest(const std::string& text) {
    return platform::hex(platform::view(platform::sha256(text))).substr(0, 32);
}

/// Readable where it is short; always short enough to be a key of an index.
std::string group_key(const Destination& destination, const Labels& labels) {
    const auto key = destination.receiver + ":" + destination.path + ":" + text(labels);
    if (key.size() <= kLongestKey) return key;
    return std::string(platform::utf8_prefix(key, kLongestKey - 33)) + "#" + digest(key);
}

std::vector<std::string> listed(const Fingerprints& all) { return {all.begin(), all.end()}; }

/// An alert, as far as telling is concerned.
struct Fact {
    const Alert* alert = nullptr;
    bool firing = false;
    bool muted = false;

    bool visible() const { return firing && !muted; }
    bool unacknowledged() const { return !alert->acknowledged; }
};

/// What somebody should be told, and when.
struct Wish {
    NotificationKind kind = NotificationKind::first;
    Fingerprints firing;
    Fingerprints resolved;
    TimePoint due{};
};

bool same(const Notification& notification, const Wish& wish) {
    return notification.kind == wish.kind && notification.firing == listed(wish.firing) &&
           notification.resolved == listed(wish.resolved);
}

bool knows_nothing(const Told& told) { return told.firing.empty() && told.perhaps.empty() && !told.delivery; }

bool all_know_nothing(const Group& group) {
    return std::all_of(group.told.begin(), group.told.end(),
                       [](const auto& each) { return knows_nothing(each.second); });
}

/// It may have been taken.
void suspect(Told& told, const Notification& notification) {
    for (const auto& each : notification.firing)
        if (!told.firing.contains(each)) told.perhaps.insert(each);
}

class Planner {
  public:
    Planner(const Situation& situation, const NotifierState& before, TimePoint now) : situation_(situation), now_(now) {
        result_.state = before;
    }

    NotifierPlan run() && {
        gather();
        join_groups();
        for (auto& [key, group] : result_.state.groups) look_after(key, group);
        send();
        std::erase_if(result_.state.groups, [&](const auto& each) { return over(each.first, each.second); });
        return std::move(result_);
    }

  private:
    /// Whom a group's message goes to.
    struct Role {
        bool main = false;
        /// Of an escalation.
        std::optional<Duration> after = std::nullopt;
    };
    struct Due {
        TimePoint at;
        std::string group;
        std::string receiver;
        Wish wish;
    };

    void gather() {
        const Inhibitor inhibitor(situation_.inhibitions, situation_.alerts, now_);
        for (const auto& alert : situation_.alerts) {
            Fact fact{&alert, alert.firing(now_), false};
            if (fact.firing && alert.ends_at) wake(*alert.ends_at);
            auto& known = facts_[alert.fingerprint()];
            // Of one that fires again the old end is of no interest.
            if (known.alert && (known.firing || !fact.firing)) continue;
            fact.muted =
                silenced_by(situation_.silences, alert.labels, now_) != nullptr || inhibitor.inhibits(alert.labels);
            known = fact;
        }
        if (const auto change = next_change(situation_.silences, now_)) wake(*change);
    }

    /// Every alert that is to be told into its groups; a new group is a new incident.
    void join_groups() {
        for (const auto& [fingerprint, fact] : facts_) {
            if (!fact.visible()) continue;
            for (auto& destination : destinations(situation_.route, fact.alert->labels)) {
                auto labels = group_labels(destination, fact.alert->labels);
                const auto key = group_key(destination, labels);
                const auto [place, is_new] = result_.state.groups.try_emplace(key);
                auto& group = place->second;
                if (is_new) {
                    group.labels = std::move(labels);
                    group.began = now_;
                    group.incident = digest(key + " " + std::to_string(domain::micros(now_)));
                }
                group.destination = std::move(destination);
                members_[key].insert(fingerprint);
            }
        }
    }

    const Fingerprints& members(const std::string& key) const {
        static const Fingerprints none;
        const auto found = members_.find(key);
        return found == members_.end() ? none : found->second;
    }

    void look_after(const std::string& key, Group& group) {
        const auto& all = members(key);
        const bool unacknowledged =
            std::any_of(all.begin(), all.end(), [&](const auto& each) { return facts_.at(each).unacknowledged(); });
        if (!unacknowledged) group.unacknowledged_since.reset();
        if (unacknowledged && !group.unacknowledged_since) group.unacknowledged_since = now_;

        std::map<std::string, Role> roles;
        // Who was told under other routes still hears how it ends.
        for (const auto& [receiver, told] : group.told) roles[receiver] = {};
        for (const auto& each : group.destination.escalations) roles[each.receiver] = {false, each.after};
        roles[group.destination.receiver] = {true};
        for (const auto& [receiver, role] : roles) look_after(key, group, receiver, role);
    }

    void look_after(const std::string& key, Group& group, const std::string& receiver, const Role& role) {
        auto& told = group.told[receiver];
        if (told.delivery && told.delivery->in_flight) {
            if (now_ < told.delivery->due) return wake(told.delivery->due);
            lose(told, receiver);
        }
        if (!situation_.keepers.contains(receiver)) forget_muted(told);
        const auto wish = wish_of(key, group, told, role);
        if (!wish) return lapse(told);
        due_.push_back({std::max(wish->due, not_before(group, told, *wish)), key, receiver, *wish});
    }

    /// No answer came.
    void lose(Told& told, const std::string& receiver) {
        auto& delivery = *told.delivery;
        suspect(told, delivery.notification);
        ++told.failures;
        delivery.in_flight = false;
        delivery.due = now_;
        delivery.error = "nobody knows what became of it";
        auto& state = result_.state.receivers[receiver];
        ++state.failures;
        ++state.failed;
        if (!state.failing_since) state.failing_since = now_;
        state.last_error = delivery.error;
    }

    /// What resolves while it is silenced or inhibited says nothing, then or later.
    void forget_muted(Told& told) {
        const auto gone = [&](const std::string& fingerprint) {
            const auto fact = facts_.find(fingerprint);
            return fact != facts_.end() && !fact->second.firing && fact->second.muted;
        };
        std::erase_if(told.firing, gone);
        std::erase_if(told.perhaps, gone);
    }

    std::optional<Wish> wish_of(const std::string& key, const Group& group, const Told& told, const Role& role) {
        Fingerprints known = told.firing;
        known.insert(told.perhaps.begin(), told.perhaps.end());
        Wish wish;
        for (const auto& each : known) {
            const auto fact = facts_.find(each);
            if (fact == facts_.end() || !fact->second.firing) wish.resolved.insert(each);
        }
        const bool escalated = !role.main && escalates(group, role);
        bool fresh = false;
        bool unacknowledged = false;
        for (const auto& each : members(key)) {
            const bool open = facts_.at(each).unacknowledged();
            if (!role.main && !known.contains(each) && !(escalated && open)) continue;
            wish.firing.insert(each);
            fresh = fresh || !told.firing.contains(each);
            unacknowledged = unacknowledged || open;
        }
        if (wish.firing.empty() && wish.resolved.empty()) return std::nullopt;

        const auto& waits = group.destination;
        wish.due = told.at ? *told.at + waits.group_interval : now_;
        if (wish.firing.empty()) {
            wish.kind = NotificationKind::resolved;
        } else if (!role.main && fresh) {
            wish.kind = NotificationKind::escalation;
        } else if (!told.at) {
            wish.kind = NotificationKind::first;
            wish.due = group.began + waits.group_wait;
        } else if (fresh || !wish.resolved.empty()) {
            wish.kind = NotificationKind::update;
        } else {
            if (!unacknowledged) return std::nullopt;
            wish.kind = NotificationKind::repeat;
            wish.due = *told.at + waits.repeat_interval;
        }
        return wish;
    }

    bool escalates(const Group& group, const Role& role) {
        if (!group.unacknowledged_since || !role.after) return false;
        const auto at = *group.unacknowledged_since + *role.after;
        if (at > now_) wake(at);
        return at <= now_;
    }

    /// Because of what was tried before.
    TimePoint not_before(const Group& group, const Told& told, const Wish& wish) const {
        if (!told.delivery) return wish.due;
        const auto& delivery = *told.delivery;
        if (!delivery.refused_at || same(delivery.notification, wish)) return delivery.due;
        return std::min(delivery.due, *delivery.refused_at + group.destination.group_interval);
    }

    void lapse(Told& told) {
        if (!told.delivery) return;
        result_.lapsed.push_back({told.delivery->notification, told.delivery->error});
        told.delivery.reset();
    }

    /// What is due, the longest due first, as far as its receiver takes it now.
    void send() {
        std::stable_sort(due_.begin(), due_.end(), [](const Due& a, const Due& b) { return a.at < b.at; });
        for (auto& due : due_) {
            if (due.at > now_) {
                wake(due.at);
                continue;
            }
            auto& receiver = result_.state.receivers[due.receiver];
            if (receiver.not_before && *receiver.not_before > now_) {
                wake(*receiver.not_before);
                continue;
            }
            if (const auto pace = situation_.pace.find(due.receiver); pace != situation_.pace.end())
                receiver.not_before = now_ + pace->second;
            send(due);
        }
    }

    void send(const Due& due) {
        auto& group = result_.state.groups.at(due.group);
        auto& told = group.told[due.receiver];
        Notification notification;
        if (told.delivery && same(told.delivery->notification, due.wish)) {
            notification = told.delivery->notification;
            ++notification.tries;
        } else {
            ++told.made;
            notification.id = digest(group.incident + " " + due.receiver + " " + std::to_string(told.made));
            notification.kind = due.wish.kind;
            notification.receiver = due.receiver;
            notification.group = due.group;
            notification.group_labels = group.labels;
            notification.incident = group.incident;
            notification.firing = listed(due.wish.firing);
            notification.resolved = listed(due.wish.resolved);
        }
        told.delivery = Delivery{notification, true, now_ + kDeliveryLease};
        wake(told.delivery->due);
        result_.send.push_back(std::move(notification));
    }

    bool over(const std::string& key, const Group& group) const {
        return members(key).empty() && all_know_nothing(group);
    }

    void wake(TimePoint at) { result_.wake = domain::earlier(result_.wake, at); }

    const Situation& situation_;
    TimePoint now_;
    NotifierPlan result_;
    std::map<std::string, Fact> facts_;
    /// Of each group, those that fire and are to be told.
    std::map<std::string, Fingerprints> members_;
    std::vector<Due> due_;
};

void forget(Told& told, const std::vector<std::string>& fingerprints) {
    for (const auto& each : fingerprints) {
        told.firing.erase(each);
        told.perhaps.erase(each);
    }
}

void delivered(Told& told, const Notification& notification, TimePoint now) {
    forget(told, notification.resolved);
    forget(told, notification.firing);
    told.firing.insert(notification.firing.begin(), notification.firing.end());
    if (notification.kind == NotificationKind::resolved) {
        // For them it is over. What is silenced and fires still is told anew when its silence ends.
        told.firing.clear();
        told.perhaps.clear();
    }
    told.at = now;
    told.failures = 0;
    told.delivery.reset();
}

void refused(Group& group, Told& told, TimePoint now) {
    if (told.delivery->notification.kind == NotificationKind::resolved) {
        // It is over, and they do not want to hear it.
        forget(told, told.delivery->notification.resolved);
        told.delivery.reset();
        return;
    }
    told.delivery->refused_at = now;
    told.delivery->due = now + group.destination.repeat_interval;
}

}

const domain::RetryPolicy& delivery_retry() {
    static const domain::RetryPolicy policy{"alerts", std::numeric_limits<int>::max(), {},  std::chrono::seconds{5},
                                            2.0,      std::chrono::minutes{5},         0.1, 0.4};
    return policy;
}

NotifierPlan plan(const Situation& situation, const NotifierState& before, TimePoint now) {
    return Planner(situation, before, now).run();
}

bool settle(NotifierState& state, const Notification& notification, const DeliveryResult& result, TimePoint now,
            double unit) {
    const auto group = state.groups.find(notification.group);
    if (group == state.groups.end()) return false;
    const auto known = group->second.told.find(notification.receiver);
    if (known == group->second.told.end() || !known->second.delivery) return false;
    auto& told = known->second;
    auto& delivery = *told.delivery;
    if (delivery.notification.id != notification.id) return false;

    auto& receiver = state.receivers[notification.receiver];
    if (result.kind == DeliveryResult::Kind::delivered) {
        delivered(told, notification, now);
        receiver.failures = 0;
        receiver.failing_since.reset();
        receiver.last_delivered = now;
        receiver.last_error.clear();
        ++receiver.delivered;
        // Over; what fires after that is another incident.
        if (all_know_nothing(group->second)) state.groups.erase(group);
        return true;
    }
    ++receiver.failures;
    ++receiver.failed;
    if (!receiver.failing_since) receiver.failing_since = now;
    receiver.last_error = result.error;
    if (result.retry_after) {
        const auto until = now + std::clamp(*result.retry_after, Duration{0}, kLongestHold);
        receiver.not_before = std::max(receiver.not_before.value_or(until), until);
    }
    delivery.in_flight = false;
    delivery.error = result.error;
    delivery.due = now + domain::retry_wait(delivery_retry(), ++told.failures, unit);
    if (result.kind == DeliveryResult::Kind::unknown) suspect(told, notification);
    if (result.kind == DeliveryResult::Kind::refused) refused(group->second, told, now);
    return true;
}

std::set<std::string> still_needed(const NotifierState& state) {
    std::set<std::string> needed;
    for (const auto& [key, group] : state.groups)
        for (const auto& [receiver, told] : group.told) {
            needed.insert(told.firing.begin(), told.firing.end());
            needed.insert(told.perhaps.begin(), told.perhaps.end());
            if (!told.delivery) continue;
            const auto& notification = told.delivery->notification;
            needed.insert(notification.firing.begin(), notification.firing.end());
            needed.insert(notification.resolved.begin(), notification.resolved.end());
        }
    return needed;
}

}
