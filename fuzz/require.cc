#include <cstdio>
#include <cstdlib>

#include "fuzz/targets.h"

namespace impresario::fuzz {

void require(bool kept, std::string_view promise, std::string_view seen) {
    if (kept) return;
    std::fprintf(stderr, "broken: %.*s\n%.*s\n", static_cast<int>(promise.size()), promise.data(),
                 static_cast<int>(seen.size()), seen.data());
    std::abort();
}

}
