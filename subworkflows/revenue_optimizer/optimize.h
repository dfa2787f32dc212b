#pragma once
// One trigger from its input to its callback.

#include "domain/callback.h"
#include "subworkflows/kit/run.h"

namespace impresario::subworkflows::revenue_optimizer {

/// Answers each product and experiment that the run is about, one after the other: `completed` when all came out,
/// `partial` when some were refused, `failed` when all were or when the input has the wrong shape. What failed will
/// fail again with the same input, so a whole failure recommends no retry; only a run that was stopped does.
domain::Callback optimize(kit::Run& run);

}
