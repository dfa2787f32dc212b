select @execution_columns@, now()
from executions e where e.gate is not null
