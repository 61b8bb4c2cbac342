//! Sources with something behind them: on memory, files, SQLite and PostgreSQL.

mod conditions;
mod facts;
mod file;
mod fixture;
mod hybrid;
mod identity;
mod journal;
mod notes;
mod odd_store;
mod queries;
mod scratchpad;
mod stores;
mod tenants;
mod tool;
mod transcript;
mod vectors;
mod writes;
