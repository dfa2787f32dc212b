#include "alerts/route.h"

#include <algorithm>

namespace impresario::alerts {

using domain::DefinitionFaults;
using domain::Duration;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

constexpr std::string_view kAll = "...";
constexpr Duration kLongest = hours{24 * 31};

Destination inherited(const Route& route, const Destination& parent) {
    Destination destination = parent;
    if (!route.receiver.empty()) destination.receiver = route.receiver;
    destination.path += (destination.path.empty() ? "" : "/") + text(route.matchers);
    if (route.group_by) destination.group_by = *route.group_by;
    if (route.group_wait) destination.group_wait = *route.group_wait;
    if (route.group_interval) destination.group_interval = *route.group_interval;
    if (route.repeat_interval) destination.repeat_interval = *route.repeat_interval;
    if (route.escalations) destination.escalations = *route.escalations;
    return destination;
}

/// Whether somebody has taken it.
bool descend(const Route& route, const Destination& parent, const Labels& labels, std::vector<Destination>& found) {
    if (!all_match(route.matchers, labels)) return false;
    const auto destination = inherited(route, parent);
    bool taken = false;
    for (const auto& child : route.children) {
        if (!descend(child, destination, labels, found)) continue;
        taken = true;
        if (!child.goes_on) break;
    }
    if (!taken) found.push_back(destination);
    return true;
}

class Checker {
  public:
    Checker(const std::set<std::string>& receivers, DefinitionFaults& faults)
        : receivers_(receivers), faults_(faults) {}

    void check(const Route& route, const Destination& parent, const std::string& at, int depth) {
        if (++count_ > kMostRoutes || depth > kDeepestRoute) return wrong(at, "is one route too many, or too deep");
        if (depth == 0 && !route.matchers.empty()) wrong(at + "/matchers", "must not be there: the root takes all");
        if (depth == 0 && route.goes_on) wrong(at + "/continue", "must not be there: the root has no siblings");
        if (route.matchers.size() > kMostMatchers) wrong(at + "/matchers", "are too many");
        if (depth == 0 && route.receiver.empty())
            wrong(at + "/receiver", "is missing: who is told of what is left");
        else if (!route.receiver.empty())
            known(at + "/receiver", route.receiver);
        if (route.group_by) check_group_by(*route.group_by, at + "/group_by");
        within(at + "/group_wait", route.group_wait, Duration{0}, hours{1});
        within(at + "/group_interval", route.group_interval, seconds{1}, hours{24});
        within(at + "/repeat_interval", route.repeat_interval, minutes{1}, kLongest);
        const auto destination = inherited(route, parent);
        check_escalations(destination, at + "/escalations");
        if (!paths_.insert(destination.path + " " + destination.receiver).second)
            wrong(at, "is there twice: same matchers, same receiver");
        for (std::size_t i = 0; i < route.children.size(); ++i)
            check(route.children[i], destination, at + "/children/" + std::to_string(i), depth + 1);
    }

  private:
    void wrong(const std::string& at, std::string what) { faults_.push_back({at, std::move(what)}); }

    void known(const std::string& at, const std::string& receiver) {
        if (receivers_.contains(receiver)) return;
        std::string all;
        for (const auto& each : receivers_) all += (all.empty() ? "" : ", ") + each;
        wrong(at, "knows no receiver '" + receiver.substr(0, 100) + "'; there are " + all);
    }

    void within(const std::string& at, const std::optional<Duration>& value, Duration least, Duration most) {
        if (value && (*value < least || *value > most))
            wrong(at, "must be from " + domain::human(least) + " to " + domain::human(most));
    }

    void check_group_by(const std::vector<std::string>& names, const std::string& at) {
        if (names == std::vector<std::string>{std::string(kAll)}) return;
        if (names.size() > kMostLabels) wrong(at, "are too many");
        for (const auto& name : names)
            if (!good_label_name(name)) wrong(at, "must hold names of labels, or \"...\" alone");
    }

    void check_escalations(const Destination& destination, const std::string& at) {
        std::set<std::string> told{destination.receiver};
        Duration before{0};
        for (std::size_t i = 0; i < destination.escalations.size(); ++i) {
            const auto& each = destination.escalations[i];
            const auto here = at + "/" + std::to_string(i);
            within(here + "/after", each.after, minutes{1}, hours{24 * 7});
            if (each.after < before) wrong(here + "/after", "must not be earlier than the one before");
            before = each.after;
            known(here + "/receiver", each.receiver);
            if (!told.insert(each.receiver).second) wrong(here + "/receiver", "is told already");
        }
    }

    const std::set<std::string>& receivers_;
    DefinitionFaults& faults_;
    std::set<std::string> paths_;
    std::size_t count_ = 0;
};

Route to(std::string receiver, std::string_view matcher) {
    Route route;
    route.receiver = std::move(receiver);
    route.matchers = {*parse_matcher(matcher)};
    return route;
}

}

std::vector<Destination> destinations(const Route& root, const Labels& labels) {
    std::vector<Destination> found;
    descend(root, {}, labels, found);
    return found;
}

Labels group_labels(const Destination& destination, const Labels& labels) {
    if (destination.group_by == std::vector<std::string>{std::string(kAll)}) return labels;
    Labels group;
    for (const auto& name : destination.group_by)
        if (const auto value = value_of(labels, name); !value.empty()) group[name] = value;
    return group;
}

DefinitionFaults faults_of(const Route& root, const std::set<std::string>& receivers) {
    DefinitionFaults faults;
    Checker(receivers, faults).check(root, {}, "", 0);
    return faults;
}

Route default_route() {
    Route root;
    root.receiver = "slack";
    root.group_by = {"alertname", "organization"};
    auto page = to("page", "severity=critical");
    page.group_wait = seconds{0};
    page.repeat_interval = hours{1};
    auto slow = to("email", "alertname=execution_time_slow");
    auto info = to("email", "severity=info");
    info.repeat_interval = hours{24};
    root.children = {std::move(page), std::move(slow), std::move(info)};
    return root;
}

}
