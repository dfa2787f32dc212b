#pragma once
// The catalogue in the database. Borrows a transaction, never opens one.

#include <optional>
#include <set>
#include <string>

#include "platform/crypto.h"
#include "platform/sql.h"
#include "subworkflows/catalogue.h"

namespace impresario::subworkflows {

class CatalogueStore {
  public:
    /// `keys` opens and seals the secrets; it must outlive the store. Any thread.
    explicit CatalogueStore(const platform::KeyRing& keys) : keys_(keys) {}

    std::int64_t version(platform::Tx& tx) const;
    Catalogue load(platform::Tx& tx) const;

    /// True when it was created, false when replaced.
    bool put(platform::Tx& tx, const WorkflowType& type) const;
    enum class Deleted { done, unknown, in_use };
    Deleted remove(platform::Tx& tx, const domain::Lane& lane) const;
    void set_signing(platform::Tx& tx, const domain::Lane& lane, const std::vector<domain::Secret>& secrets) const;

    void pause(platform::Tx& tx, const PauseRecord& pause) const;
    /// False when it was not paused.
    /// `since`: only the one that began then.
    bool resume(platform::Tx& tx, const PauseRecord& pause,
                std::optional<domain::TimePoint> since = std::nullopt) const;

    /// Locks lanes about which something is to be written down; those that somebody holds are left out.
    std::set<domain::Lane> lock_lanes(platform::Tx& tx, const std::set<domain::Lane>& lanes) const;
    /// False: somebody holds its row, or it is gone.
    bool hold_endpoint(platform::Tx& tx, const Endpoint& endpoint) const;
    /// Where a breaker has moved by itself. False: as above, or somebody has set it by hand meanwhile.
    bool move_breaker(platform::Tx& tx, const Endpoint& endpoint) const;
    /// Sets a breaker by hand; nullopt: the type has no such endpoint. The lane is locked by then.
    std::optional<Endpoint> set_breaker(platform::Tx& tx, const domain::Lane& lane, const domain::EndpointId& id,
                                        const domain::BreakerRecord& breaker) const;
    void learn_deduplicates(platform::Tx& tx, const domain::EndpointId& id) const;

    /// Takes the next number of a lane's stream; nullopt when the lane is gone.
    struct StreamPlace {
        domain::LaneId lane;
        int seq = 0;
    };
    std::optional<StreamPlace> next_lane_seq(platform::Tx& tx, const domain::Lane& lane) const;

  private:
    const platform::KeyRing& keys_;
};

}
