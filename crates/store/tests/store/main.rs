//! Tests of the stores. `DATABASE_URL` must name a PostgreSQL database in which schemas may be
//! created; each test has one of its own and drops it at its end. Those of SQLite and
//! of files alone need nothing.

mod callers_pools;
mod child;
mod concurrency;
mod conformance;
mod database;
mod database_file;
mod differential;
mod faults;
mod faulty_stores;
mod file_crashes;
mod file_edits;
mod file_journals;
mod file_links;
mod file_processes;
mod file_refusals;
mod file_root;
mod interleavings;
mod kept_processes;
mod load;
mod messages;
mod metadata;
mod migrations;
mod plans;
mod proxy;
mod recalls;
mod restarts;
mod round_trips;
mod script;
mod sqlite_files;
mod sqlite_pages;
mod sqlite_processes;
mod sqlite_sharing;
mod ticker;
mod transcript_faults;
mod twins;
mod vectors;
