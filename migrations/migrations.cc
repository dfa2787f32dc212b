#include "migrations/migrations.h"

#include <charconv>
#include <map>
#include <stdexcept>

#include "migrations_files.h"

namespace impresario::migrations {

platform::Migrator all() {
    std::map<int, platform::Migration> found;
    for (const auto& file : embedded::files) {
        const std::string name(file.name);
        int version = 0;
        std::from_chars(name.data(), name.data() + 4, version);
        auto& migration = found[version];
        migration.version = version;
        const auto dot = name.find('.');
        migration.name = name.substr(5, dot - 5);
        (name.find(".up.") != std::string::npos ? migration.up : migration.down) = std::string(file.text);
        const auto min_hub = file.text.find("-- min_hub: ");
        if (min_hub != std::string_view::npos)
            std::from_chars(file.text.data() + min_hub + 12, file.text.data() + file.text.size(), migration.min_hub);
    }
    std::vector<platform::Migration> list;
    for (auto& [version, migration] : found) {
        if (version != static_cast<int>(list.size()) + 1 || migration.up.empty() || migration.down.empty())
            throw std::logic_error("migration " + std::to_string(version) +
                                   " lacks its predecessor, its up or its down");
        list.push_back(std::move(migration));
    }
    return platform::Migrator(std::move(list));
}

}
