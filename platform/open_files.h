#pragma once
// How many files and connections this process may have open.

#include <cstddef>

namespace impresario::platform {

/// Raises the limit as far as the system lets this process, and returns it.
std::size_t raise_open_file_limit();

}
