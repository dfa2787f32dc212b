#pragma once
// The program under test: the tests that drive it from outside serve several builds of it.

#include <cstdlib>
#include <string>

namespace impresario::testing {

/// Its path: what IMPRESARIO_BINARY says, else the one built beside the tests. The services lie beside it.
inline std::string program() {
    const char* given = std::getenv("IMPRESARIO_BINARY");
    return given ? given : IMPRESARIO_BINARY;
}

/// Whether it was built with a sanitizer, which scripts/sanitize says. It is slower then, and larger.
inline bool sanitized() { return std::getenv("IMPRESARIO_SANITIZED") != nullptr; }

/// How many times as long as it usually may, the program may take now. A bound of how quick it is goes by this, unless
/// it asks by itself; what waits for something (eventually, await, wait_for) needs not.
inline double patience() { return sanitized() ? 4 : 1; }

}
