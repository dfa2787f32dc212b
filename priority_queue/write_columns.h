#pragma once
// The statement that writes some columns of many rows. Inside of priority_queue only.

#include <vector>

#include "platform/sql.h"
#include "priority_queue/columns.h"

namespace impresario::priority_queue {

struct ColumnsWrite {
    platform::Statement statement;
    /// What it writes: those asked for, and perhaps more.
    Columns columns;
};

/// Every change of an execution's row is one of these. Any thread.
ColumnsWrite write_columns(Columns columns);

/// Its parameters.
platform::Params column_values(const Columns& columns, const std::vector<const domain::Execution*>& rows);

}
