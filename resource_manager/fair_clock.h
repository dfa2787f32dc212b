#pragma once
// Start-time fair queueing among those on one level. Each has a virtual time, which what it starts advances by
// amount / weight; who has the least goes next. Pure.
//
// Two that always have work and compete for the same are never further apart than the largest amount / weight of
// either. Who had none comes back at the least time of those who have: idleness is no credit. Those whose gates differ
// do not compete, and one of them may start any number while the other cannot: that makes no debt. A gap that is wider
// than the largest start of any of them cannot come from competing and is closed, which leaves the order of all as it
// was. What starts took more or less than was thought is put right when it is known, as if it had been so: a gap is
// never wider for it than the largest of those.

#include <map>
#include <set>
#include <string>

namespace impresario::resource_manager {

class FairClock {
  public:
    /// Who has work now that may go, or waits for what it shares with others.
    void attend(const std::set<std::string>& present);
    void charge(const std::string& name, double amount, double weight);
    /// What was charged for competing turns out to be more by so much, or less. Less is no credit of who is not there.
    void correct(const std::string& name, double more, double weight);
    /// From 0, which is whose turn it is. Who is not there is where it would come back.
    double at(const std::string& name) const;
    bool present(const std::string& name) const;
    std::set<std::string> all_present() const;
    /// The most that any of those there is ahead of the last.
    double spread() const;

  private:
    struct Subject {
        double at = 0;
        /// The largest amount / weight that has moved it.
        double largest = 0;
        bool present = false;
    };
    /// Of those who are there.
    double least() const;
    void close_gaps();

    std::map<std::string, Subject> subjects_;
};

}
