#pragma once
// openapi.yaml, embedded, as JSON.

#include <string>
#include <string_view>

namespace impresario::api {

std::string_view openapi_yaml();
const std::string& openapi_json();

}
