//! Tests of the stores. `DATABASE_URL` must name a PostgreSQL database in which schemas may be
//! created; each test has one of its own and drops it at its end.

mod concurrency;
mod conformance;
mod database;
mod database_file;
mod differential;
mod faults;
mod migrations;
mod plans;
mod proxy;
mod round_trips;
