delete from ledger_inbox where entry_id = any($1::bigint[])
