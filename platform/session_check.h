#pragma once
// Whether a connection keeps its session: behind a pooler in transaction mode it does not, and whoever listens,
// prepares statements or makes settings there does it in sessions that are somebody else's a moment later.

#include "platform/database.h"

namespace impresario::platform {

/// True where the sessions behind this URL are shared from one transaction to the next. Leaves nothing behind in them.
/// Blocks; two connections for a moment. Throws DatabaseUnavailable.
bool shares_sessions(DatabaseSettings settings);

/// The same on a database thread.
Task<bool> shares_sessions(asio::any_io_executor executor, DatabaseSettings settings);

/// Whether both lead to the same database of the same running server. Throws DatabaseUnavailable, also where the server
/// was restarted in between.
Task<bool> same_database(asio::any_io_executor executor, DatabaseSettings one, DatabaseSettings other);

}
