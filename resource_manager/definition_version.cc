#include "resource_manager/definition_version.h"

namespace impresario::resource_manager {

std::vector<DefinitionVersion> read_versions(const platform::Rows& rows) {
    std::vector<DefinitionVersion> versions;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        platform::RowReader row(rows, i);
        DefinitionVersion version;
        version.version = row.small();
        version.definition = row.text();
        version.at = row.time();
        version.by = row.text();
        version.reason = row.text();
        versions.push_back(std::move(version));
    }
    return versions;
}

}
