#pragma once
// Which columns of an execution's row a change is about.

#include <bitset>

#include "domain/execution.h"

namespace impresario::priority_queue {

/// One bit for each column that may change after the row was made, in the order of columns.cc.
using Columns = std::bitset<36>;

/// For who does not know better.
inline Columns every_column() { return Columns().set(); }

/// The columns in which the two differ.
Columns changed_columns(const domain::Execution& before, const domain::Execution& after);

}
