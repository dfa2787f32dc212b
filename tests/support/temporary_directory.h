#pragma once
// A folder for one test.

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace impresario::testing {

/// Makes an empty one, for its user alone, and leaves it to the caller. In /tmp whatever TMPDIR says: the path of a
/// socket in it may have 107 bytes, and other users that a test starts programs as can get there.
inline std::string temporary_directory(const std::string& purpose) {
    std::string name = "/tmp/impresario-" + purpose + "-XXXXXX";
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary directory");
    return name;
}

}
