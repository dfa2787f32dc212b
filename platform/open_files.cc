#include "platform/open_files.h"

#include <sys/resource.h>

#include <algorithm>

namespace impresario::platform {

std::size_t raise_open_file_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
    // "Unlimited" is not a number to divide; nobody here needs more.
    const rlim_t most = std::min<rlim_t>(limit.rlim_max, 1'000'000);
    if (limit.rlim_cur < most) {
        rlimit raised = limit;
        raised.rlim_cur = most;
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
    }
    return static_cast<std::size_t>(std::min<rlim_t>(limit.rlim_cur, most));
}

}
