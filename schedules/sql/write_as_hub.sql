-- For the rest of the transaction: what is told of timers names its writer, and the scheduler is woken without the table's help.
select set_config('impresario.writer', $1, true)
