// openapi.yaml says what the router does.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "api/openapi.h"

namespace {

/// "GET /v1/executions" … as add_routes registers them.
std::set<std::string> registered() {
    std::ifstream file(IMPRESARIO_SOURCE_DIR "/api/api.cc");
    std::stringstream stream;
    stream << file.rdbuf();
    const std::string text = stream.str();
    static const std::regex route("route\\(\"([A-Z]+)\", \"([^\"]+)\"");
    std::set<std::string> found;
    for (std::sregex_iterator at(text.begin(), text.end(), route), end; at != end; ++at)
        found.insert(std::string((*at)[1]) + " " + std::string((*at)[2]));
    return found;
}

TEST(OpenApi, HasEveryRouteAndNoOther) {
    const auto yaml = YAML::Load(std::string(impresario::api::openapi_yaml()));
    std::set<std::string> described;
    for (const auto& path : yaml["paths"])
        for (const auto& operation : path.second) {
            std::string method = operation.first.as<std::string>();
            if (method == "parameters") continue;
            std::transform(method.begin(), method.end(), method.begin(), ::toupper);
            described.insert(method + " " + path.first.as<std::string>());
            const auto& body = operation.second;
            EXPECT_TRUE(body["summary"]) << path.first << " " << method;
            EXPECT_TRUE(body["responses"]) << path.first << " " << method;
            EXPECT_TRUE(body["operationId"]) << path.first << " " << method;
        }
    EXPECT_EQ(described, registered());
    EXPECT_GT(described.size(), 25U);
}

TEST(OpenApi, ReferencesExist) {
    const std::string text(impresario::api::openapi_yaml());
    const auto yaml = YAML::Load(text);
    static const std::regex reference("#/components/([a-zA-Z]+)/([A-Za-z0-9_]+)");
    for (std::sregex_iterator at(text.begin(), text.end(), reference), end; at != end; ++at)
        EXPECT_TRUE(yaml["components"][std::string((*at)[1])][std::string((*at)[2])]) << (*at)[0];
}

/// An unquoted comma in braces makes two members of one text, of which the second is empty.
void expect_no_empty_member(const YAML::Node& node, const std::string& at) {
    if (node.IsNull()) ADD_FAILURE() << at << " has no value; quote a text with a comma in it";
    if (node.IsMap())
        for (const auto& each : node) expect_no_empty_member(each.second, at + "/" + each.first.as<std::string>());
    if (node.IsSequence())
        for (const auto& each : node) expect_no_empty_member(each, at + "/-");
}

TEST(OpenApi, EveryMemberHasAValue) {
    expect_no_empty_member(YAML::Load(std::string(impresario::api::openapi_yaml())), "");
}

TEST(OpenApi, IsServedAsJson) { EXPECT_TRUE(impresario::api::openapi_json().starts_with("{\"openapi\":\"3.1.0\"")); }

}
