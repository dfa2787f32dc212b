#pragma once
// Whose transaction it is, for tables that tell their events themselves.

#include "domain/id.h"
#include "platform/sql.h"

namespace impresario::platform {

/// For the rest of the transaction events name this node as their writer, and nobody is woken by the tables.
inline void write_as(Tx& tx, const domain::NodeId& node) {
    tx.run("select set_config('impresario.writer', $1, true)", Params().add(node));
}

}
