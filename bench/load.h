#pragma once
// A load generator that costs little: one thread, keep-alive connections, requests as prepared bytes. On a machine
// with two cores a comfortable client would be measured instead of the hub.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace impresario::bench {

struct LoadSettings {
    std::uint16_t port = 0;
    int connections = 1;
    std::int64_t requests = 1;
    /// Requests a second; 0: as fast as answers come.
    double rate = 0;
    /// The whole request, head and body.
    std::function<std::string(std::int64_t)> request;
};

struct LoadResult {
    double seconds = 0;
    std::int64_t answered = 0;
    /// Answers outside 2xx, and connections that broke.
    std::int64_t failed = 0;
    /// From the first byte sent (from when it was due, with a rate) to the whole answer, in order of arrival.
    std::vector<double> milliseconds;
    /// One answer outside 2xx, for the reader.
    std::string sample_failure;
};

/// Sends them all to 127.0.0.1 and waits for the answers. Throws std::runtime_error when nobody listens there.
LoadResult run_load(const LoadSettings& settings);

/// A POST with a JSON body.
std::string post_request(const std::string& path, const std::string& bearer, const std::string& body);

/// The value below which `part` (0 to 1) of them lie.
double quantile(std::vector<double> values, double part);

}
