#pragma once
// A handful of executions that lead through every part of a hub, and the sub-workflow that they need.

#include "tests/campaign/hubs.h"

namespace impresario::campaign {

/// Answers by what the path says; calls back until it is taken.
testing::Behaviour answer(const testing::Asked& asked);

/// Sends them all and does with them what clients and operators do; resumes once that is asked, not once all has ended.
void tour(Hubs& hubs, const testing::Peer& peer);

}
