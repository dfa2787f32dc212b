#pragma once
// Subscribers in the database, their secrets sealed. Borrows a transaction; any thread.

#include <optional>
#include <string>
#include <vector>

#include "journal/subscriber.h"
#include "platform/crypto.h"
#include "platform/sql.h"

namespace impresario::journal {

/// The next number of its own stream of events; nullopt: it is gone.
std::optional<int> next_subscriber_seq(platform::Tx& tx, const SubscriberId& id);

/// From a row's columns in the order of the members.
SubscriberState read_subscriber_state(platform::RowReader& row);

class SubscriberStore {
  public:
    /// The key ring must outlive the store.
    explicit SubscriberStore(const platform::KeyRing& keys) : keys_(keys) {}

    struct Known {
        Subscriber subscriber;
        SubscriberState state;
    };
    /// "": of all organizations. One whose definition or secrets cannot be read any more is left out.
    std::vector<Known> list(platform::Tx& tx, const std::string& organization_id) const;
    std::optional<Known> find(platform::Tx& tx, const std::string& organization_id, const std::string& name) const;
    /// The same, locked: whoever tells it, or changes it, waits for this transaction.
    std::optional<Known> lock(platform::Tx& tx, const std::string& organization_id, const std::string& name) const;
    std::int64_t count(platform::Tx& tx, const std::string& organization_id) const;
    /// It hears of what happens from now on. False: there is one of that name already.
    bool create(platform::Tx& tx, const Subscriber& subscriber) const;
    // Of one that is locked.
    void change(platform::Tx& tx, const Subscriber& subscriber) const;
    /// It is gone; its rows go later.
    void remove(platform::Tx& tx, const SubscriberId& id) const;
    /// Nothing is sent until it is enabled; what happens meanwhile waits. False: there is none, or it is already.
    bool disable(platform::Tx& tx, const SubscriberId& id, const std::string& by, const std::string& reason) const;
    /// Whoever tells it looks at once for what there is to tell.
    void announce(platform::Tx& tx, const SubscriberId& id) const;
    /// Its failures are forgotten, and it is tried at once.
    void enable(platform::Tx& tx, const SubscriberId& id) const;

  private:
    std::optional<Known> read(const platform::Rows& rows, std::size_t i) const;
    std::string sealed(const Subscriber& subscriber) const;
    const platform::KeyRing& keys_;
};

}
