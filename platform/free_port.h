#pragma once
// Ports of this machine, for programs that start others.

#include <cstdint>

namespace impresario::platform {

/// Whether nobody listens on that port of 127.0.0.1 at the moment.
bool port_is_free(std::uint16_t port);
/// The first free one above it.
std::uint16_t free_port_after(std::uint16_t port);

}
