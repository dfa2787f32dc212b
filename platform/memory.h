#pragma once
// How much memory this process has.

#include <cstdint>

namespace impresario::platform {

/// Resident, in MB.
std::int64_t resident_mb();
/// Gives what was freed back to the system.
void give_back_memory();

}
