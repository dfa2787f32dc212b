-- Those that something of these organizations, types, providers and batches may fall on, and those that an attempt of $1
-- has money in.
@concerned_budgets@
