select version from catalogue_version
