#include "api/definition_versions.h"

#include "platform/json_writer.h"

namespace impresario::api {

std::string versions_json(const std::vector<resource_manager::DefinitionVersion>& versions, std::string_view member) {
    platform::JsonWriter json;
    json.open();
    json.open("versions", '[');
    for (const auto& each : versions) {
        json.open();
        json.field("version", each.version)
            .field("at", each.at)
            .field("by", each.by)
            .field("reason", each.reason)
            .raw(member, each.definition);
        json.close();
    }
    json.close(']');
    json.close();
    return std::move(json).text();
}

}
