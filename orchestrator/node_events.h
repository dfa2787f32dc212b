#pragma once
// Appends to a node's stream, under its row's lock.

#include <string>
#include <string_view>

#include "domain/id.h"
#include "platform/sql.h"

namespace impresario::orchestrator {

/// Does nothing where the node has been forgotten.
void append_node_event(platform::Tx& tx, const domain::NodeId& node, std::string_view type, std::string payload);

}
