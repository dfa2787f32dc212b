#pragma once
// Runs one hub node until it is told to stop.

#include "cli/config.h"

namespace impresario::cli {

/// Returns the exit code. Takes SIGTERM and SIGINT: the first drains, the second ends at once.
int serve(Config config);

}
