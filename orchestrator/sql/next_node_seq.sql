-- The node row's lock keeps its stream without gaps.
update nodes set last_seq = last_seq + 1 where node = $1 returning last_seq
