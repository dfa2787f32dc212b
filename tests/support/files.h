#pragma once
// The repository's own files, for tests about them.

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace impresario::testing {

inline const std::filesystem::path kRoot = IMPRESARIO_SOURCE_DIR;

/// "" where there is none.
inline std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

}
