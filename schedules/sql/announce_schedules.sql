-- The scheduler reads them again.
update catalogue_version set version = version + 1
