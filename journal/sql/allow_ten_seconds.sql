-- What follows in this transaction may take longer than what a hub does otherwise; others wait for it.
select set_config('statement_timeout', '10000', true)
