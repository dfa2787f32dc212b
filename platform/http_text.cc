#include "platform/http_text.h"

namespace impresario::platform {

std::string response_text(const HttpResponse& response, bool head) {
    std::string text;
    text.reserve(256 + response.body.size());
    text += "HTTP/1.1 " + std::to_string(response.status) + " ";
    text += reason_phrase(response.status);
    text += "\r\n";
    for (const auto& [key, value] : response.headers) {
        text += key;
        text += ": ";
        for (const char c : value)
            if (c != '\r' && c != '\n') text += c;
        text += "\r\n";
    }
    const bool ends_with_connection = response.stream != nullptr;
    if (response.status != 204 && !ends_with_connection)
        text += "content-length: " + std::to_string(response.body.size()) + "\r\n";
    if (response.close || ends_with_connection) text += "connection: close\r\n";
    text += "\r\n";
    if (!head && response.status != 204) text += response.body;
    return text;
}

HttpResponse plain_problem(int status, std::string_view detail) {
    HttpResponse response;
    response.status = status;
    response.close = true;
    response.headers.emplace_back("content-type", "application/problem+json");
    if (status == 503) response.headers.emplace_back("retry-after", "2");
    const std::string_view type = status == 413   ? "body-too-large"
                                  : status == 431 ? "headers-too-large"
                                  : status == 417 ? "expectation-failed"
                                  : status == 500 ? "internal"
                                  : status == 503 ? "too-busy"
                                                  : "bad-request";
    response.body = R"({"type":"/problems/)" + std::string(type) + R"(","title":")" +
                    std::string(reason_phrase(status)) + R"(","status":)" + std::to_string(status) + R"(,"detail":")" +
                    std::string(detail) + "\"}";
    return response;
}

}
