#pragma once
// What was learnt about costs, kept for the next scheduler. Borrows a transaction. Stateless; any thread.

#include <map>

#include "domain/lane.h"
#include "platform/sql.h"
#include "resource_manager/estimate.h"

namespace impresario::resource_manager {

class EstimateStore {
  public:
    std::map<domain::Lane, TypeEstimates> load(platform::Tx& tx) const;
    void keep(platform::Tx& tx, const std::map<domain::Lane, TypeEstimates>& estimates) const;
};

}
