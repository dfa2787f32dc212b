#include "platform/memory.h"

#include <unistd.h>

#include <fstream>

#ifdef IMPRESARIO_JEMALLOC
#include <jemalloc/jemalloc.h>
#else
#include <malloc.h>
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IMPRESARIO_ADDRESS_SANITIZER
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define IMPRESARIO_ADDRESS_SANITIZER
#endif

#ifdef IMPRESARIO_ADDRESS_SANITIZER
// GCC 12 exports it without its header.
extern "C" void __sanitizer_purge_allocator();
#endif

#ifdef IMPRESARIO_JEMALLOC
// Read before main(); MALLOC_CONF in the environment overrides it. Each arena keeps what was freed for a while: few
// arenas and a second instead of ten, as the memory is shared with others. A thread of its own gives it back also while
// nothing is allocated.
const char* malloc_conf = "narenas:2,dirty_decay_ms:1000,background_thread:true";
#endif

namespace impresario::platform {

std::int64_t resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    std::int64_t pages = 0;
    std::int64_t resident = 0;
    statm >> pages >> resident;
    return resident * sysconf(_SC_PAGESIZE);
}

#ifdef IMPRESARIO_ADDRESS_SANITIZER
// AddressSanitizer keeps what was freed, up to 256 MB, to find who still uses it.
void give_back_memory() { __sanitizer_purge_allocator(); }
#elif defined(IMPRESARIO_JEMALLOC)
// Index 4096 are all arenas: MALLCTL_ARENAS_ALL.
static_assert(MALLCTL_ARENAS_ALL == 4096);
void give_back_memory() { mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0); }
#else
void give_back_memory() { malloc_trim(0); }
#endif

}
