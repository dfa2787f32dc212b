#pragma once
// Reads Prometheus's text format: not with the library that writes it.

#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace impresario::testing {

struct Sample {
    std::string name;
    std::map<std::string, std::string> labels;
    double value = 0;
};

/// Throws where a line is not one of the format.
inline std::vector<Sample> read_samples(const std::string& text) {
    std::vector<Sample> samples;
    std::size_t at = 0;
    const auto expect = [&](char wanted) {
        if (at >= text.size() || text[at] != wanted)
            throw std::runtime_error("expected " + std::string(1, wanted) + " at: " + text.substr(at, 60));
        ++at;
    };
    while (at < text.size()) {
        if (text[at] == '#') {
            at = text.find('\n', at) + 1;
            continue;
        }
        Sample sample;
        while (at < text.size() &&
               (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_' || text[at] == ':'))
            sample.name += text[at++];
        if (sample.name.empty()) throw std::runtime_error("no name at: " + text.substr(at, 60));
        if (at < text.size() && text[at] == '{') {
            ++at;
            while (text.at(at) != '}') {
                std::string label;
                while (text.at(at) != '=') label += text[at++];
                expect('=');
                expect('"');
                std::string value;
                for (; text.at(at) != '"'; ++at) {
                    if (text[at] == '\n') throw std::runtime_error("a line feed in a label's value");
                    if (text[at] != '\\') {
                        value += text[at];
                        continue;
                    }
                    const char escaped = text.at(++at);
                    if (escaped != 'n' && escaped != '\\' && escaped != '"') throw std::runtime_error("bad escape");
                    value += escaped == 'n' ? '\n' : escaped;
                }
                expect('"');
                if (!sample.labels.emplace(label, value).second) throw std::runtime_error("a label twice: " + label);
                if (text.at(at) == ',') ++at;
            }
            ++at;
        }
        expect(' ');
        const auto end = text.find('\n', at);
        if (end == std::string::npos) throw std::runtime_error("the last line has no end");
        std::size_t read = 0;
        const auto number = text.substr(at, end - at);
        sample.value = std::stod(number, &read);
        if (read != number.size()) throw std::runtime_error("not a number: " + number);
        at = end + 1;
        samples.push_back(std::move(sample));
    }
    return samples;
}

}
