// Logs go into the trace of the world, and what should never be said is a broken promise.

#include "platform/log.h"

#include "simulation/world.h"

namespace impresario::platform::log {

void start(Level, Format, std::string_view) {}
void identify(std::string_view) {}

void write(Level level, std::string_view message, Fields fields) {
    auto& world = simulation::World::current();
    const bool wrong = message == "the hub's state machine refused a move";
    if (!world.traced() && !wrong) return;
    std::string line = level == Level::error ? "error: " : level == Level::warn ? "warning: " : "";
    line += message;
    for (const auto& [key, value] : fields) line += " " + std::string(key) + "=" + value.text();
    world.tell("  " + line);
    if (wrong) world.fail("states", line);
}

}
