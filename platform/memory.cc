#include "platform/memory.h"

#include <malloc.h>
#include <unistd.h>

#include <fstream>

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
#else
void give_back_memory() { malloc_trim(0); }
#endif

}
