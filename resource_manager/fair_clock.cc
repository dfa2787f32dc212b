#include "resource_manager/fair_clock.h"

#include <algorithm>
#include <vector>

namespace impresario::resource_manager {

double FairClock::least() const {
    double least = -1;
    for (const auto& [name, subject] : subjects_)
        if (subject.present && (least < 0 || subject.at < least)) least = subject.at;
    return std::max(least, 0.0);
}

void FairClock::attend(const std::set<std::string>& present) {
    // The least of those who stay is whose turn it is; where nobody stays, those who come begin even.
    double first = -1;
    double last = 0;
    for (const auto& [name, subject] : subjects_) {
        if (!present.contains(name)) continue;
        last = std::max(last, subject.at);
        if (subject.present && (first < 0 || subject.at < first)) first = subject.at;
    }
    if (first < 0) first = last;
    for (auto& [name, subject] : subjects_) {
        subject.present = present.contains(name);
        subject.at = std::max(0.0, subject.at - first);
    }
    for (const auto& name : present) subjects_[name].present = true;
    // Who would come back at whose turn it is has nothing to be remembered for.
    std::erase_if(subjects_, [](const auto& each) { return !each.second.present && each.second.at <= 0; });
    close_gaps();
}

void FairClock::close_gaps() {
    double widest = 0;
    std::vector<double> times;
    for (const auto& [name, subject] : subjects_) {
        if (!subject.present) continue;
        widest = std::max(widest, subject.largest);
        times.push_back(subject.at);
    }
    std::sort(times.begin(), times.end());
    // What lies within a gap beyond its widest moves to its end, what lies behind it moves along.
    std::vector<std::pair<double, double>> cuts;
    for (std::size_t i = 1; i < times.size(); ++i)
        if (const double excess = times[i] - times[i - 1] - widest; excess > 0)
            cuts.emplace_back(times[i - 1] + widest, excess);
    if (cuts.empty()) return;
    for (auto& [name, subject] : subjects_) {
        double cut = 0;
        for (const auto& [from, length] : cuts) cut += std::clamp(subject.at - from, 0.0, length);
        subject.at -= cut;
    }
}

void FairClock::charge(const std::string& name, double amount, double weight) {
    const double from = least();
    auto& subject = subjects_[name];
    if (!subject.present) subject.at = std::max(subject.at, from);
    const double moved = amount / weight;
    subject.at += moved;
    subject.largest = std::max(subject.largest, moved);
}

void FairClock::correct(const std::string& name, double more, double weight) {
    const double moved = more / weight;
    auto known = subjects_.find(name);
    if (known == subjects_.end()) {
        if (moved <= 0) return;
        known = subjects_.emplace(name, Subject{least(), 0, false}).first;
    }
    known->second.at += moved;
    known->second.largest = std::max(known->second.largest, moved);
    // Times count from 0.
    const double below = -known->second.at;
    if (below <= 0) return;
    for (auto& [each, subject] : subjects_) subject.at += below;
}

double FairClock::at(const std::string& name) const {
    const auto found = subjects_.find(name);
    return found == subjects_.end() ? least() : found->second.at;
}

bool FairClock::present(const std::string& name) const {
    const auto found = subjects_.find(name);
    return found != subjects_.end() && found->second.present;
}

std::set<std::string> FairClock::all_present() const {
    std::set<std::string> names;
    for (const auto& [name, subject] : subjects_)
        if (subject.present) names.insert(name);
    return names;
}

double FairClock::spread() const {
    double last = 0;
    for (const auto& [name, subject] : subjects_)
        if (subject.present) last = std::max(last, subject.at);
    return last - least();
}

}
