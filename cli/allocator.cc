// jemalloc reads this before main() (jemalloc(3), "TUNING"); MALLOC_CONF in the environment goes before it.

// Two arenas: more hold on to more memory, and most of the work is two threads'. What is free goes back to the system
// also while nothing is allocated.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "narenas:2,background_thread:true";
}
