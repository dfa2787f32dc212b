select from retention for update
