-- What follows in this transaction may take longer than what a hub does otherwise.
select set_config('statement_timeout', '60000', true)
