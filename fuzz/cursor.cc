#include "api/request_reader.h"
#include "fuzz/targets.h"

namespace impresario::fuzz {

void cursor(std::string_view bytes) {
    const auto read = api::parse_cursor(bytes);
    if (!read) return;
    require(domain::parse_time(domain::rfc3339(read->at)) == read->at, "a cursor's time is one that can be asked for");
    const auto again = api::parse_cursor(api::cursor_text(*read));
    require(again && again->at == read->at && again->id == read->id, "a cursor goes there and back");
}

}
