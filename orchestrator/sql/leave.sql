delete from nodes where node = $1
