#pragma once
// What is fuzzed. Each takes any bytes and ends the process where a promise is broken; libFuzzer drives it
// (libfuzzer.cc, scripts/fuzz), and corpus_test.cc repeats the inputs that are kept in corpus/.

#include <string_view>

namespace impresario::fuzz {

void alerts(std::string_view bytes);
void callback(std::string_view bytes);
void config(std::string_view bytes);
void cursor(std::string_view bytes);
void execution(std::string_view bytes);
void http(std::string_view bytes);
void retry_after(std::string_view bytes);
void signature(std::string_view bytes);
void time(std::string_view bytes);
void workflow_type(std::string_view bytes);

/// Says which promise is broken, shows what broke it, and aborts.
void require(bool kept, std::string_view promise, std::string_view seen = {});

}
