drop table ledger_entries;
drop function refuse_ledger_change();
drop table budget_balances;
drop table budget_versions;
drop table budgets;
