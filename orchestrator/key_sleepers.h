#pragma once
// Closed groups of a lane that need not be asked about in every turn: however many wait behind their keys, a turn costs
// what may have changed. Pure; one thread.

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "domain/time.h"
#include "priority_queue/order.h"

namespace impresario::orchestrator {

class KeySleepers {
  public:
    using Group = priority_queue::Order::Group;
    /// What closes a group: which of its lane's key shares, and the key there.
    using Account = std::pair<std::size_t, std::string>;

    /// Until then, or until its account is eased. One that sleeps already sleeps anew.
    void sleep(const Group& group, Account account, domain::TimePoint until);
    bool has(const Group& group) const { return sleeping_.contains(group); }
    /// True: it has slept.
    bool wake(const Group& group);
    /// Takes out those whose time has come.
    std::vector<Group> wake_due(domain::TimePoint now);
    /// Takes out those that this closes.
    std::vector<Group> wake_all_of(const Account& account);
    /// When the next one is due; nullopt: nobody is by the time alone.
    std::optional<domain::TimePoint> next_due() const;
    void clear();
    std::size_t size() const { return sleeping_.size(); }

  private:
    struct Asleep {
        Account account;
        domain::TimePoint until;
    };
    using Sleeping = std::map<Group, Asleep>;
    void remove(Sleeping::iterator at);

    Sleeping sleeping_;
    // The groups are those of sleeping_.
    std::set<std::pair<domain::TimePoint, const Group*>> by_time_;
    std::map<Account, std::set<const Group*>> by_account_;
};

}
