//! A PostgreSQL server in a container, through testcontainers.
