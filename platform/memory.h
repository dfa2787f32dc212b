#pragma once
// How much memory this process has.

#include <cstdint>

namespace impresario::platform {

/// Resident.
std::int64_t resident_bytes();
inline std::int64_t resident_mb() { return resident_bytes() / 1048576; }
/// Gives what was freed back to the system.
void give_back_memory();

}
