select from retention for share
