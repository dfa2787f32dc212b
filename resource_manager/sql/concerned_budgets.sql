-- result: binary
-- Those that something of these organizations, types, providers and batches may fall on. What an attempt has money in
-- beside them is in its movements.
@concerned_budgets@
