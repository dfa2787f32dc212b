#pragma once
// The files of this folder, embedded.

#include "platform/migrator.h"

namespace impresario::migrations {

/// All of them, in order. A file `NNNN_name.up.sql` has its `.down.sql`; a line `-- min_hub: N` says that older hubs
/// than N cannot run once it is applied.
platform::Migrator all();

}
