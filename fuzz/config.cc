#include "cli/config.h"

#include "fuzz/targets.h"

namespace impresario::fuzz {

void config(std::string_view bytes) {
    const auto loaded = cli::read_config(std::string(bytes), "fuzz.toml");
    for (const auto& mistake : loaded.mistakes)
        require(mistake.find(": ") != std::string::npos, "a mistake names the setting and what is wrong", mistake);
    if (!loaded.mistakes.empty()) return;
    require(!loaded.config.database.url.empty() && !loaded.config.hub_keys.empty(), "a good configuration is whole");
}

}
