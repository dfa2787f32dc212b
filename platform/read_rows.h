#pragma once
// What a statement returned, row by row, as values.

#include <type_traits>
#include <vector>

#include "platform/sql.h"

namespace impresario::platform {

/// What `read` makes of each row, in their order.
template <class Read>
auto read_rows(const Rows& rows, Read read) {
    std::vector<std::invoke_result_t<Read&, RowReader&>> all;
    all.reserve(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        RowReader row(rows, i);
        all.push_back(read(row));
    }
    return all;
}

}
